use std::collections::BTreeMap;

use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;

use crate::config::{CacheReports, Reports, TokenReports};
use crate::engine::Engine;
use crate::engine::tests::{
    cache_changes, cached_tokens, continuous, count, decode_role, drain, job, job_of_pieces,
    token_millis,
};
use crate::job::Refusal;

use super::*;

mod adapters;

#[test]
fn a_lone_request_pays_its_prefill_once_and_then_a_step_per_token() {
    let mut engine = Engine::new(continuous());
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
    let mut engine = Engine::new(continuous());
    let id = engine.submit(job(1, 100, 1)).unwrap();
    let (events, end) = drain(&mut engine, Timestamp::ZERO);
    // Chunks of 40, 40 and 20 tokens.
    assert_eq!(token_millis(&events, id), [50 + 50 + 30]);
    assert_eq!(end, Timestamp::from_millis(130));
}

#[test]
fn a_running_request_decodes_beside_the_prefill_of_another() {
    let mut engine = Engine::new(continuous());
    let mut events = Vec::new();
    let short = engine.submit(job(1, 8, 4)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    let long = engine.submit(job(2, 80, 1)).unwrap();
    events.extend(drain(&mut engine, end).0);
    assert_eq!(token_millis(&events, short), [18, 68, 118, 128]);
    assert_eq!(token_millis(&events, long), [118]);
    let totals = engine.stats().totals;
    assert_eq!(totals.steps, 4);
    assert_eq!(totals.busy, Duration::from_millis(128));
    assert_eq!(totals.steps_with_prefill, 3);
    assert_eq!(totals.steps_without_decode, 1, "the first one");
    assert_eq!(totals.slot_steps, 1 + 2 + 2 + 1);
}

#[test]
fn a_repeated_prompt_is_cached_but_for_its_last_token() {
    let mut engine = Engine::new(continuous());
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
    let mut engine = Engine::new(continuous());
    engine.submit(job(1, 10, 11)).unwrap();
    let (_, now) = drain(&mut engine, Timestamp::ZERO);
    // 10 + 11 tokens were known, of which the last one was never computed: 5 full blocks.
    let next = engine.submit(job(1, 30, 1)).unwrap();
    let (events, _) = drain(&mut engine, now);
    assert_eq!(cached_tokens(&events, next), Some(20));
}

#[test]
fn a_prefix_that_is_being_computed_is_shared_by_a_request_of_the_same_step() {
    let mut engine = Engine::new(continuous());
    engine.submit(job(1, 20, 1)).unwrap();
    let second = engine.submit(job(1, 22, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, second), Some(20));
}

#[test]
fn pieces_are_not_cached() {
    let mut engine = Engine::new(continuous());
    let mut events = Vec::new();
    for _ in 0..2 {
        let id = engine.submit(job_of_pieces(&[(1, 16)], 20, 1)).unwrap();
        events.extend(drain(&mut engine, Timestamp::ZERO).0);
        assert_eq!(cached_tokens(&events, id), Some(0));
    }
}

#[test]
fn a_full_memory_evicts_the_prompt_that_was_not_used_for_longest() {
    let mut engine = Engine::new(continuous());
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
fn each_block_is_reported_when_it_enters_the_cache_and_when_it_leaves() {
    let mut engine = Engine::new(EngineConfig {
        blocks: count(4),
        reports: Reports {
            tokens: TokenReports::First,
            cache: CacheReports::Changes,
        },
        ..continuous()
    });
    let mut now = Timestamp::ZERO;
    let mut changes = Vec::new();
    for (content, tokens) in [(1, 11), (1, 11), (2, 12)] {
        engine.submit(job(content, tokens, 1)).unwrap();
        let (events, end) = drain(&mut engine, now);
        now = end;
        changes.push(cache_changes(&events));
    }
    let first = [(true, 1000), (true, 1001)];
    let third = [(false, 1001), (true, 2000), (true, 2001), (true, 2002)];
    assert_eq!(changes, [&first[..], &[], &third]);
}

#[test]
fn when_memory_runs_out_the_youngest_is_preempted_and_loses_no_token() {
    let mut engine = Engine::new(EngineConfig {
        blocks: count(10),
        ..continuous()
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
fn a_preempted_request_can_be_cancelled_where_it_waits() {
    let mut engine = Engine::new(EngineConfig {
        blocks: count(10),
        ..continuous()
    });
    engine.submit(job(1, 16, 20)).unwrap();
    let young = engine.submit(job(2, 16, 20)).unwrap();
    let mut events = Vec::new();
    let mut now = Timestamp::ZERO;
    while engine.stats().totals.preemptions == 0 {
        now = engine.advance(now, &mut events).unwrap();
    }
    assert!(engine.cancel(young));
    assert_eq!((engine.stats().running, engine.stats().waiting), (1, 0));
    drain(&mut engine, now);
    assert_eq!(engine.stats().totals.finished, 1);
    assert_eq!(engine.stats().kv_usage, Unit::ZERO);
}

#[test]
fn a_request_that_does_not_fit_yet_lets_nobody_pass() {
    let mut engine = Engine::new(continuous());
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
fn a_request_longer_than_the_memory_is_refused() {
    let mut engine = Engine::new(continuous());
    assert_eq!(
        engine.submit(job(1, 120, 9)),
        Err(Refusal::Oversized {
            tokens: 129,
            tokens_max: 128
        })
    );
    assert!(engine.submit(job(1, 120, 8)).is_ok());
    let endless = EngineConfig {
        blocks: count(u32::MAX),
        ..continuous()
    };
    assert!(endless.check(count(u32::MAX - 1), count(1)).is_ok());
    assert!(endless.check(count(u32::MAX), count(1)).is_err());
}

#[test]
fn a_prefill_engine_finishes_a_request_with_its_first_token() {
    let mut engine = Engine::new(EngineConfig {
        role: Role::Prefill,
        ..continuous()
    });
    let id = engine.submit(job(1, 20, 30)).unwrap();
    let (events, end) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, id), [30]);
    assert_eq!(end, Timestamp::from_millis(30));
    assert_eq!(engine.stats().totals.finished, 1);
}

#[test]
fn a_decode_engine_computes_no_prompt_and_gives_a_token_in_its_first_step() {
    let mut engine = Engine::new(EngineConfig {
        role: decode_role(),
        ..continuous()
    });
    let mut events = Vec::new();
    let id = engine.submit(job(1, 60, 3)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    assert_eq!(engine.stats().kv_usage, Unit::ZERO, "it has no memory yet");
    engine.advance(Timestamp::from_millis(65), &mut events);
    assert_eq!(engine.stats().kv_usage, Unit::ratio(15.0, 32.0));
    events.extend(drain(&mut engine, Timestamp::from_millis(65)).0);
    assert_eq!(token_millis(&events, id), [75, 85, 95]);
    let totals = engine.stats().totals;
    assert_eq!(totals.steps_with_prefill, 0);
    assert_eq!((totals.prompt_tokens, totals.generation_tokens), (60, 3));
}

#[test]
fn a_decode_engine_computes_the_prompt_of_a_request_that_it_has_preempted() {
    let mut engine = Engine::new(EngineConfig {
        blocks: count(10),
        role: decode_role(),
        ..continuous()
    });
    let mut young = job(2, 16, 20);
    young.content = crate::job::Content::Blocks(Vec::new());
    engine.submit(job(1, 16, 20)).unwrap();
    let young = engine.submit(young).unwrap();
    engine.advance(Timestamp::ZERO, &mut Vec::new());
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(engine.stats().totals.preemptions, 1);
    assert!(engine.stats().totals.steps_with_prefill > 0);
    assert_eq!(token_millis(&events, young).len(), 20);
}

#[test]
fn a_request_can_be_cancelled_while_its_prompt_is_on_its_way() {
    let mut engine = Engine::new(EngineConfig {
        role: decode_role(),
        ..continuous()
    });
    let mut events = Vec::new();
    let told = engine.submit(job(1, 20, 3)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    let untold = engine.submit(job(2, 20, 3)).unwrap();
    assert_eq!(engine.stats().waiting, 2);
    assert!(engine.cancel(told));
    assert!(engine.cancel(untold));
    assert!(!engine.cancel(told));
    assert_eq!(engine.stats().waiting, 0);
    assert_eq!(engine.advance(Timestamp::ZERO, &mut events), None);
    assert_eq!(events, []);
}

impl Batch {
    /// Panics unless memory, adapters and requests agree.
    pub(crate) fn assert_consistent(&self, config: &EngineConfig) {
        let mut private = 0;
        let mut holders = BTreeMap::<u64, u32>::new();
        let mut adapters = BTreeMap::<AdapterId, u32>::new();
        for running in &self.running {
            private += running.private;
            let held = running.request.keys(running.published);
            assert_eq!(held.len(), running.published);
            for key in held {
                *holders.entry(key.0).or_default() += 1;
            }
            assert!(running.computed <= running.request.known_tokens());
            if let Some(adapter) = running.request.job.adapter {
                *adapters.entry(adapter).or_default() += 1;
            }
        }
        self.memory.assert_agrees(private, &holders);
        if let Some(residents) = &self.adapters {
            residents.assert_agrees(&adapters);
        }
        assert!(self.running.len() <= config.slots());
    }
}
