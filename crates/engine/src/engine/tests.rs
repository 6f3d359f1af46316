use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;

use pointsman_domain::block::BlockSize;

use super::*;

mod model;

/// 4 slots, 32 blocks of 4 tokens, 10 ms a step and 1 ms a prefill token, 40 of these in a step.
fn config() -> EngineConfig {
    EngineConfig {
        slots: count(4),
        blocks: count(32),
        block_size: BlockSize::new(4).unwrap(),
        prefill_tokens_per_second: count(1000),
        prefill_tokens_per_step_max: count(40),
        decode_step: Duration::from_millis(10),
        waiting_max: 8,
    }
}

fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// A request whose blocks all have keys; the same `content` gives the same keys.
fn job(content: u64, prompt_tokens: u32, output_tokens: u32) -> Job {
    let blocks = u64::from(prompt_tokens + output_tokens) / 4;
    Job {
        keys: (0..blocks).map(|b| BlockKey(content * 1000 + b)).collect(),
        prompt_tokens: count(prompt_tokens),
        output_tokens: count(output_tokens),
    }
}

/// Runs the engine from `now` until it is idle; returns the events and when it became idle.
fn drain(engine: &mut Engine, mut now: Timestamp) -> (Vec<EngineEvent>, Timestamp) {
    let mut events = Vec::new();
    while let Some(end) = engine.advance(now, &mut events) {
        assert!(end > now, "a step takes time");
        now = end;
    }
    (events, now)
}

fn cached_tokens(events: &[EngineEvent], wanted: JobId) -> Option<u32> {
    events.iter().find_map(|event| match *event {
        EngineEvent::Admitted {
            id, cached_tokens, ..
        } if id == wanted => Some(cached_tokens),
        _ => None,
    })
}

/// When each token of `wanted` came, in milliseconds.
fn token_millis(events: &[EngineEvent], wanted: JobId) -> Vec<u64> {
    let at = |event: &EngineEvent| match *event {
        EngineEvent::Token { id, at, .. } if id == wanted => Some(at.as_nanos() / 1_000_000),
        _ => None,
    };
    events.iter().filter_map(at).collect()
}

#[test]
fn a_lone_request_pays_its_prefill_once_and_then_a_step_per_token() {
    let mut engine = Engine::new(config());
    let id = engine.submit(job(1, 20, 3)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, id), [30, 40, 50]);
    assert_eq!(
        events.last(),
        Some(&EngineEvent::Finished {
            id,
            at: Timestamp::from_millis(50)
        })
    );
    assert_eq!(engine.stats().kv_usage, Unit::ZERO);
}

#[test]
fn a_prompt_longer_than_the_budget_is_prefilled_in_chunks() {
    let mut engine = Engine::new(config());
    let id = engine.submit(job(1, 100, 1)).unwrap();
    let (events, end) = drain(&mut engine, Timestamp::ZERO);
    // Chunks of 40, 40 and 20 tokens.
    assert_eq!(token_millis(&events, id), [50 + 50 + 30]);
    assert_eq!(end, Timestamp::from_millis(130));
}

#[test]
fn a_running_request_decodes_beside_the_prefill_of_another() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let short = engine.submit(job(1, 8, 4)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    let long = engine.submit(job(2, 80, 1)).unwrap();
    events.extend(drain(&mut engine, end).0);
    assert_eq!(token_millis(&events, short), [18, 68, 118, 128]);
    assert_eq!(token_millis(&events, long), [118]);
}

#[test]
fn a_repeated_prompt_is_cached_but_for_its_last_token() {
    let mut engine = Engine::new(config());
    engine.submit(job(1, 20, 1)).unwrap();
    let (_, now) = drain(&mut engine, Timestamp::ZERO);
    let again = engine.submit(job(1, 20, 1)).unwrap();
    let longer = engine.submit(job(1, 23, 1)).unwrap();
    let (events, _) = drain(&mut engine, now);
    assert_eq!(cached_tokens(&events, again), Some(16));
    assert_eq!(cached_tokens(&events, longer), Some(20));
    let totals = engine.stats().totals;
    assert_eq!(totals.prefix_query_tokens, 20 + 20 + 23);
    assert_eq!(totals.prefix_hit_tokens, 16 + 20);
    assert_eq!(totals.prompt_tokens, 20 + 20 + 23);
}

#[test]
fn the_next_turn_finds_the_answer_in_the_cache() {
    let mut engine = Engine::new(config());
    engine.submit(job(1, 10, 11)).unwrap();
    let (_, now) = drain(&mut engine, Timestamp::ZERO);
    // 10 + 11 tokens were known, of which the last one was never computed: 5 full blocks.
    let next = engine.submit(job(1, 30, 1)).unwrap();
    let (events, _) = drain(&mut engine, now);
    assert_eq!(cached_tokens(&events, next), Some(20));
}

#[test]
fn a_prefix_that_is_being_computed_is_shared_by_a_request_of_the_same_step() {
    let mut engine = Engine::new(config());
    engine.submit(job(1, 20, 1)).unwrap();
    let second = engine.submit(job(1, 22, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, second), Some(20));
}

#[test]
fn a_full_memory_evicts_the_prompt_that_was_not_used_for_longest() {
    let mut engine = Engine::new(config());
    let mut now = Timestamp::ZERO;
    for content in [1, 2, 1, 3] {
        engine.submit(job(content, 40, 1)).unwrap();
        now = drain(&mut engine, now).1;
    }
    // 3 prompts of 10 blocks are cached; the next one needs 11 blocks, and 2 are free.
    engine.submit(job(4, 41, 1)).unwrap();
    now = drain(&mut engine, now).1;
    let mut found = Vec::new();
    for content in [1, 3, 2] {
        let id = engine.submit(job(content, 41, 1)).unwrap();
        let (events, end) = drain(&mut engine, now);
        now = end;
        found.push(cached_tokens(&events, id).unwrap());
    }
    // Prompt 2 lost its last 9 blocks and kept its first one.
    assert_eq!(found, [40, 40, 4]);
}

#[test]
fn when_memory_runs_out_the_youngest_is_preempted_and_loses_no_token() {
    let mut engine = Engine::new(EngineConfig {
        blocks: count(10),
        ..config()
    });
    let old = engine.submit(job(1, 16, 20)).unwrap();
    let young = engine.submit(job(2, 16, 20)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    let preempted: Vec<_> = events
        .iter()
        .filter_map(|event| match *event {
            EngineEvent::Preempted { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(preempted, [young]);
    let resumed = events
        .iter()
        .any(|event| matches!(*event, EngineEvent::Resumed { id, .. } if id == young));
    assert!(resumed);
    assert_eq!(token_millis(&events, old).len(), 20);
    assert_eq!(token_millis(&events, young).len(), 20);
    let totals = engine.stats().totals;
    assert_eq!(totals.preemptions, 1);
    assert_eq!(totals.prompt_tokens, 32, "a recompute is not a new prompt");
    assert_eq!(totals.prefix_query_tokens, 32);
}

#[test]
fn a_request_that_does_not_fit_yet_lets_nobody_pass() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    engine.submit(job(1, 40, 10)).unwrap();
    engine.submit(job(2, 100, 1)).unwrap();
    let small = engine.submit(job(3, 4, 1)).unwrap();
    let mut now = Timestamp::ZERO;
    for _ in 0..10 {
        now = engine.advance(now, &mut events).unwrap();
        assert_eq!((engine.stats().running, engine.stats().waiting), (1, 2));
    }
    let (events, _) = drain(&mut engine, now);
    assert_eq!(token_millis(&events, small).len(), 1);
}

#[test]
fn no_more_requests_run_than_there_are_slots() {
    let mut engine = Engine::new(config());
    for content in 0..6 {
        engine.submit(job(content, 4, 2)).unwrap();
    }
    engine.advance(Timestamp::ZERO, &mut Vec::new());
    assert_eq!((engine.stats().running, engine.stats().waiting), (4, 2));
    drain(&mut engine, Timestamp::ZERO);
    assert_eq!((engine.stats().running, engine.stats().waiting), (0, 0));
}

#[test]
fn a_request_cancelled_in_mid_step_frees_its_slot_at_once_and_says_no_more() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let running = engine.submit(job(1, 20, 3)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events);
    let waiting = engine.submit(job(2, 20, 3)).unwrap();
    assert!(engine.cancel(running));
    assert!(engine.cancel(waiting));
    assert!(!engine.cancel(running), "there is nothing left to cancel");
    assert_eq!((engine.stats().running, engine.stats().waiting), (0, 0));
    assert_eq!(engine.stats().kv_usage, Unit::ZERO);
    assert_eq!(engine.advance(Timestamp::ZERO, &mut events), end);
    assert_eq!(engine.advance(end.unwrap(), &mut events), None);
    assert_eq!(events.len(), 1, "only the admission");
}

#[test]
fn a_late_call_ends_all_steps_that_were_due_each_at_its_own_time() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let id = engine.submit(job(1, 20, 3)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    assert_eq!(
        engine.advance(Timestamp::from_millis(45), &mut events),
        Some(Timestamp::from_millis(50))
    );
    assert_eq!(token_millis(&events, id), [30, 40]);
}

#[test]
fn a_request_longer_than_the_memory_or_the_queue_is_refused() {
    let mut engine = Engine::new(config());
    assert_eq!(
        engine.submit(job(1, 120, 9)),
        Err(Refusal::Oversized {
            tokens: 129,
            tokens_max: 128
        })
    );
    for content in 0..8 {
        engine.submit(job(content, 120, 8)).unwrap();
    }
    assert_eq!(
        engine.submit(job(9, 4, 1)),
        Err(Refusal::QueueFull { waiting_max: 8 })
    );
}

impl Engine {
    /// Panics unless memory, slots and requests agree.
    fn assert_consistent(&self) {
        let mut private = 0;
        let mut holders = BTreeMap::<u64, u32>::new();
        for running in &self.running {
            private += running.private;
            let held = running.request.keys(running.published);
            assert_eq!(held.len(), running.published);
            for key in held {
                *holders.entry(key.0).or_default() += 1;
            }
            assert!(running.computed <= running.request.known_tokens());
        }
        self.memory.assert_agrees(private, &holders);
        let slots = self.config.slots.get() as usize;
        assert!(self.running.len() <= slots);
        // Preempted requests may exceed the queue's limit, as they were accepted before.
        assert!(self.waiting.len() + self.running.len() <= self.config.waiting_max + slots);
    }
}
