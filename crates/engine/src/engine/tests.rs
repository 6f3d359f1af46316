use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::{BlockKey, BlockSize};

use crate::config::{
    AdapterSlots, Article, CacheReports, Continuous, Reports, Role, Speed, TickOrder, TokenReports,
    Transfer,
};
use crate::job::{Content, Piece};

use super::*;

mod model;
mod pacing;

/// 4 slots, 32 blocks of 4 tokens, 10 ms a step and 1 ms a prefill token, 40 of these in a step.
pub(crate) fn continuous() -> EngineConfig {
    EngineConfig {
        slots: count(4),
        blocks: count(32),
        block_size: BlockSize::new(4).unwrap(),
        batching: Batching::Continuous(Continuous {
            prefill_tokens_per_second: count(1000),
            prefill_tokens_per_step_max: count(40),
            decode_step: Duration::from_millis(10),
        }),
        adapters: None,
        role: Role::Both,
        speed: Speed::ONE,
        waiting_max: 8,
        reports: Reports {
            tokens: TokenReports::Every,
            cache: CacheReports::Nothing,
        },
    }
}

/// 4 slots, 32 blocks of 4 tokens, ticks of 1 ms and 10 prompt tokens, one prompt at a time, and 60
/// tokens of cache.
pub(crate) fn article() -> EngineConfig {
    with_order(TickOrder::PrefillFirst, 1)
}

/// As [`article`], but for this.
pub(crate) fn with_order(order: TickOrder, prefills_max: u32) -> EngineConfig {
    EngineConfig {
        batching: Batching::Article(Article {
            tick: Duration::from_millis(1),
            prefill_tokens_per_tick: count(10),
            prefills_max: count(prefills_max),
            order,
            cache_tokens_max: 60,
        }),
        ..continuous()
    }
}

/// A decode engine: a prompt of so many tokens is on its way for 5 ms and as many again.
pub(crate) fn decode_role() -> Role {
    Role::Decode(Transfer {
        latency: Duration::from_millis(5),
        tokens_per_second: count(1000),
    })
}

pub(crate) fn count(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// A request whose blocks all have keys; the same `content` gives the same keys.
pub(crate) fn job(content: u64, prompt_tokens: u32, output_tokens: u32) -> Job {
    let blocks = u64::from(prompt_tokens + output_tokens) / 4;
    let keys = (0..blocks).map(|b| BlockKey(content * 1000 + b));
    Job {
        content: Content::Blocks(keys.collect()),
        prompt_tokens: count(prompt_tokens),
        output_tokens: count(output_tokens),
        adapter: None,
    }
}

/// A request whose prompt has these pieces, each a key and where it ends.
pub(crate) fn job_of_pieces(pieces: &[(u64, u32)], prompt_tokens: u32, output_tokens: u32) -> Job {
    let piece = |&(key, end_tokens)| Piece {
        key: BlockKey(key),
        end_tokens,
    };
    Job {
        content: Content::Pieces(pieces.iter().map(piece).collect()),
        ..job(0, prompt_tokens, output_tokens)
    }
}

/// `job` with an adapter.
pub(crate) fn adapted(job: Job, adapter: u32) -> Job {
    Job {
        adapter: Some(AdapterId(adapter)),
        ..job
    }
}

/// Runs the engine from `now` until it is idle; returns the events and when it became idle.
pub(crate) fn drain(engine: &mut Engine, mut now: Timestamp) -> (Vec<EngineEvent>, Timestamp) {
    let mut events = Vec::new();
    while let Some(end) = engine.advance(now, &mut events) {
        assert!(end > now, "a step takes time");
        now = end;
    }
    (events, now)
}

pub(crate) fn cached_tokens(events: &[EngineEvent], wanted: JobId) -> Option<u32> {
    events.iter().find_map(|event| match *event {
        EngineEvent::Admitted {
            id, cached_tokens, ..
        } if id == wanted => Some(cached_tokens),
        _ => None,
    })
}

/// When `wanted` got its slot, in milliseconds.
pub(crate) fn admitted_millis(events: &[EngineEvent], wanted: JobId) -> Option<u64> {
    events.iter().find_map(|event| match *event {
        EngineEvent::Admitted { id, at, .. } if id == wanted => Some(millis(at)),
        _ => None,
    })
}

/// When each token of `wanted` came, in milliseconds.
pub(crate) fn token_millis(events: &[EngineEvent], wanted: JobId) -> Vec<u64> {
    let at = |event: &EngineEvent| match *event {
        EngineEvent::Token { id, at, .. } if id == wanted => Some(millis(at)),
        _ => None,
    };
    events.iter().filter_map(at).collect()
}

/// When each adapter was loaded, in milliseconds.
pub(crate) fn loads(events: &[EngineEvent]) -> Vec<(u32, u64)> {
    let load = |event: &EngineEvent| match *event {
        EngineEvent::AdapterLoaded { adapter, at } => Some((adapter.0, millis(at))),
        _ => None,
    };
    events.iter().filter_map(load).collect()
}

/// What entered the cache (true) and what left it, in order.
pub(crate) fn cache_changes(events: &[EngineEvent]) -> Vec<(bool, u64)> {
    let change = |event: &EngineEvent| match *event {
        EngineEvent::Cached { key, .. } => Some((true, key.0)),
        EngineEvent::Evicted { key, .. } => Some((false, key.0)),
        _ => None,
    };
    events.iter().filter_map(change).collect()
}

pub(crate) fn millis(at: Timestamp) -> u64 {
    at.as_nanos() / 1_000_000
}

#[test]
fn no_more_requests_run_than_there_are_slots() {
    for config in [continuous(), with_order(TickOrder::Chunked, 4)] {
        let mut engine = Engine::new(config);
        for content in 0..6 {
            engine.submit(job(content, 4, 2)).unwrap();
        }
        engine.advance(Timestamp::ZERO, &mut Vec::new());
        assert_eq!((engine.stats().running, engine.stats().waiting), (4, 2));
        drain(&mut engine, Timestamp::ZERO);
        assert_eq!((engine.stats().running, engine.stats().waiting), (0, 0));
        assert_eq!(engine.stats().totals.finished, 6);
    }
}

#[test]
fn a_request_cancelled_in_mid_step_frees_its_slot_at_once_and_says_no_more() {
    for config in [continuous(), article()] {
        let mut engine = Engine::new(config);
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
        assert_eq!(engine.stats().totals.steps, 1, "the step took its time");
    }
}

#[test]
fn a_request_that_decodes_can_be_cancelled_and_the_others_go_on() {
    for config in [continuous(), with_order(TickOrder::PrefillFirst, 2)] {
        let mut engine = Engine::new(config);
        let mut events = Vec::new();
        let gone = engine.submit(job(1, 8, 9)).unwrap();
        let stays = engine.submit(job(2, 8, 9)).unwrap();
        let mut now = Timestamp::ZERO;
        while token_millis(&events, gone).len() < 3 {
            now = engine.advance(now, &mut events).unwrap();
        }
        assert!(engine.cancel(gone));
        assert_eq!(engine.stats().running, 1);
        events.extend(drain(&mut engine, now).0);
        assert_eq!(token_millis(&events, gone).len(), 3);
        assert_eq!(token_millis(&events, stays).len(), 9);
        assert_eq!(engine.stats().kv_usage, Unit::ZERO);
    }
}

#[test]
fn of_first_tokens_alone_the_others_are_counted_all_the_same() {
    for config in [continuous(), article()] {
        let mut engine = Engine::new(EngineConfig {
            reports: Reports {
                tokens: TokenReports::First,
                cache: CacheReports::Nothing,
            },
            ..config
        });
        let id = engine.submit(job(1, 8, 5)).unwrap();
        let (events, _) = drain(&mut engine, Timestamp::ZERO);
        assert_eq!(token_millis(&events, id).len(), 1);
        assert_eq!(engine.stats().totals.generation_tokens, 5);
        assert_eq!(engine.stats().totals.prompt_tokens, 8);
    }
}

#[test]
fn an_engine_of_double_speed_takes_half_the_time_for_everything() {
    let prefill = EngineConfig {
        role: Role::Prefill,
        ..article()
    };
    let decode = EngineConfig {
        role: decode_role(),
        ..continuous()
    };
    for config in [continuous(), article(), prefill, decode] {
        let config = EngineConfig {
            adapters: Some(AdapterSlots {
                slots: count(1),
                load: Duration::from_millis(6),
            }),
            ..config
        };
        let ends = [1.0, 2.0].map(|factor| {
            let mut engine = Engine::new(EngineConfig {
                speed: Speed::new(factor).unwrap(),
                ..config
            });
            let mut events = Vec::new();
            engine.submit(adapted(job(1, 20, 3), 1)).unwrap();
            engine.advance(Timestamp::ZERO, &mut events);
            let (_, end) = drain(&mut engine, Timestamp::ZERO);
            end.as_nanos()
        });
        assert_eq!(ends[0], 2 * ends[1], "{:?}", config.batching);
    }
}

#[test]
fn more_requests_than_may_wait_are_refused() {
    for role in [Role::Both, decode_role()] {
        let mut engine = Engine::new(EngineConfig {
            role,
            ..continuous()
        });
        for content in 0..8 {
            engine.submit(job(content, 120, 8)).unwrap();
        }
        assert_eq!(
            engine.submit(job(9, 4, 1)),
            Err(Refusal::QueueFull { waiting_max: 8 })
        );
    }
}

#[test]
fn the_adapters_of_running_and_of_waiting_requests_are_told_once_each_in_order() {
    for config in [continuous(), with_order(TickOrder::Chunked, 4)] {
        let mut engine = Engine::new(EngineConfig {
            slots: count(3),
            ..config
        });
        for adapter in [7, 3, 7, 9, 3] {
            engine.submit(adapted(job(1, 4, 2), adapter)).unwrap();
        }
        engine.submit(job(1, 4, 2)).unwrap();
        engine.advance(Timestamp::ZERO, &mut Vec::new());
        assert_eq!(
            engine.adapters(),
            Adapters {
                running: vec![AdapterId(3), AdapterId(7)],
                waiting: vec![AdapterId(3), AdapterId(9)],
            }
        );
    }
}
