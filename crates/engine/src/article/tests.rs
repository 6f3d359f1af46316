use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;

use crate::config::{CacheReports, Reports};
use crate::engine::Engine;
use crate::engine::tests::{
    adapted, admitted_millis, article, cache_changes, cached_tokens, count, decode_role, drain,
    job, job_of_pieces, loads, token_millis, with_order,
};
use crate::event::EngineEvent;

use super::*;

mod adapters;
mod exercise;
mod lab;

#[test]
fn a_request_pays_a_tick_for_each_part_of_its_prompt_and_for_each_token_after_the_first() {
    let mut engine = Engine::new(article());
    let id = engine.submit(job(1, 25, 3)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, id), [3, 4, 5]);
    let at = Timestamp::from_millis(5);
    assert_eq!(events.last(), Some(&EngineEvent::Finished { id, at }));
    let totals = engine.stats().totals;
    assert_eq!((totals.steps, totals.steps_with_prefill), (5, 3));
    assert_eq!((totals.prompt_tokens, totals.generation_tokens), (25, 3));
}

#[test]
fn a_single_token_comes_with_the_end_of_prefill_and_finishes() {
    let mut engine = Engine::new(article());
    engine.submit(job(1, 10, 1)).unwrap();
    let (_, end) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(end, Timestamp::from_millis(1));
    assert_eq!(engine.stats().totals.finished, 1);
    assert_eq!(engine.stats().kv_usage, Unit::ZERO);
}

#[test]
fn while_one_is_in_prefill_nobody_decodes_and_nobody_is_admitted() {
    let mut engine = Engine::new(article());
    let first = engine.submit(job(1, 10, 4)).unwrap();
    let second = engine.submit(job(2, 20, 2)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(admitted_millis(&events, second), Some(1));
    assert_eq!(token_millis(&events, first), [1, 4, 5, 6]);
    assert_eq!(token_millis(&events, second), [3, 4]);
    assert_eq!(engine.stats().totals.steps_without_decode, 3);
}

#[test]
fn in_chunks_both_go_on_in_one_tick() {
    let mut engine = Engine::new(with_order(TickOrder::Chunked, 1));
    let first = engine.submit(job(1, 10, 4)).unwrap();
    let second = engine.submit(job(2, 20, 2)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, first), [1, 2, 3, 4]);
    assert_eq!(token_millis(&events, second), [3, 4]);
}

#[test]
fn a_static_batch_ends_before_another_one_begins() {
    let mut engine = Engine::new(with_order(TickOrder::Static, 2));
    let ids = [1, 2, 3].map(|content| engine.submit(job(content, 10, 3)).unwrap());
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    let admitted = ids.map(|id| admitted_millis(&events, id));
    assert_eq!(admitted, [Some(0), Some(0), Some(3)]);
}

#[test]
fn prompt_and_output_take_their_memory_at_admission_and_the_head_lets_nobody_pass() {
    let mut engine = Engine::new(article());
    let mut events = Vec::new();
    // 20, 13 and 2 of 32 blocks.
    let first = engine.submit(job(1, 10, 70)).unwrap();
    let second = engine.submit(job(2, 10, 42)).unwrap();
    let third = engine.submit(job(3, 4, 4)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    assert_eq!(engine.stats().kv_usage, Unit::ratio(20.0, 32.0));
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    let end = token_millis(&events, first).last().copied();
    assert_eq!(admitted_millis(&events, second), end);
    assert_eq!(admitted_millis(&events, third), end.map(|end| end + 1));
}

#[test]
fn a_request_larger_than_the_memory_runs_alone() {
    let mut engine = Engine::new(article());
    let mut events = Vec::new();
    let small = engine.submit(job(1, 10, 5)).unwrap();
    let large = engine.submit(job(2, 100, 50)).unwrap();
    let last = engine.submit(job(3, 10, 5)).unwrap();
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    let end = |id| token_millis(&events, id).last().copied();
    assert_eq!(admitted_millis(&events, large), end(small));
    assert_eq!(admitted_millis(&events, last), end(large));
}

#[test]
fn whole_blocks_of_a_cached_prefix_are_not_computed_again() {
    let mut engine = Engine::new(article());
    let first = engine.submit(job_of_pieces(&[(1, 30)], 35, 1)).unwrap();
    let second = engine.submit(job_of_pieces(&[(1, 30)], 35, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, first), Some(0));
    assert_eq!(cached_tokens(&events, second), Some(28));
    assert_eq!(token_millis(&events, first), [4]);
    assert_eq!(token_millis(&events, second), [5]);
    let totals = engine.stats().totals;
    assert_eq!(totals.prefix_query_tokens, 70);
    assert_eq!(totals.prefix_hit_tokens, 28);
}

#[test]
fn a_prompt_that_is_cached_as_a_whole_still_costs_a_tick() {
    let mut engine = Engine::new(article());
    engine.submit(job_of_pieces(&[(1, 40)], 40, 1)).unwrap();
    let again = engine.submit(job_of_pieces(&[(1, 40)], 40, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, again), Some(40));
    assert_eq!(token_millis(&events, again), [5]);
}

#[test]
fn a_piece_that_goes_beyond_the_prompt_is_used_up_to_its_end() {
    let mut engine = Engine::new(article());
    engine.submit(job_of_pieces(&[(1, 80)], 80, 1)).unwrap();
    let short = engine.submit(job_of_pieces(&[(1, 80)], 30, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, short), Some(28));
}

#[test]
fn blocks_of_the_prompt_are_pieces_and_those_of_the_output_are_not_cached() {
    let mut engine = Engine::new(article());
    engine.submit(job(1, 10, 11)).unwrap();
    let next = engine.submit(job(1, 30, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, next), Some(8));
}

#[test]
fn pieces_share_their_beginning_and_the_least_recently_used_one_leaves() {
    let mut engine = Engine::new(EngineConfig {
        reports: Reports {
            tokens: TokenReports::First,
            cache: CacheReports::Changes,
        },
        ..article()
    });
    let mut now = Timestamp::ZERO;
    let mut seen = Vec::new();
    let prompts: [&[(u64, u32)]; 4] = [
        &[(1, 20), (12, 40)],
        &[(1, 20), (13, 36)],
        &[(1, 20), (12, 40)],
        // 56 tokens are cached; with these it would be 66.
        &[(2, 10)],
    ];
    for pieces in prompts {
        let id = engine.submit(job_of_pieces(pieces, 40, 1)).unwrap();
        let (events, end) = drain(&mut engine, now);
        now = end;
        seen.push((cached_tokens(&events, id).unwrap(), cache_changes(&events)));
    }
    let expected = [
        (0, vec![(true, 1), (true, 12)]),
        (20, vec![(true, 13)]),
        (40, vec![]),
        (0, vec![(true, 2), (false, 13)]),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_last_piece_stays_however_large_it_is() {
    let mut engine = Engine::new(article());
    let mut events = Vec::new();
    engine.submit(job_of_pieces(&[(1, 30)], 80, 1)).unwrap();
    engine.submit(job_of_pieces(&[(2, 80)], 80, 1)).unwrap();
    let first = engine.submit(job_of_pieces(&[(1, 30)], 80, 1)).unwrap();
    let large = engine.submit(job_of_pieces(&[(2, 80)], 80, 1)).unwrap();
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    assert_eq!(cached_tokens(&events, first), Some(0));
    assert_eq!(
        cached_tokens(&events, large),
        Some(0),
        "it left for piece 1"
    );
    let large = engine.submit(job_of_pieces(&[(2, 80)], 80, 1)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(cached_tokens(&events, large), Some(80));
}

#[test]
fn a_prefill_engine_finishes_a_request_with_its_first_token() {
    let mut engine = Engine::new(EngineConfig {
        role: Role::Prefill,
        ..article()
    });
    let id = engine.submit(job(1, 20, 30)).unwrap();
    let (events, end) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, id), [2]);
    assert_eq!(end, Timestamp::from_millis(2));
    assert_eq!(engine.stats().totals.finished, 1);
    assert_eq!(engine.stats().kv_usage, Unit::ZERO);
}

#[test]
fn a_decode_engine_computes_no_prompt_and_gives_a_token_in_its_first_tick() {
    for tokens in [TokenReports::Every, TokenReports::First] {
        let mut engine = Engine::new(EngineConfig {
            role: decode_role(),
            reports: Reports {
                tokens,
                cache: CacheReports::Nothing,
            },
            ..article()
        });
        let mut events = Vec::new();
        let id = engine.submit(job(1, 60, 3)).unwrap();
        engine.advance(Timestamp::ZERO, &mut events);
        assert_eq!(engine.stats().kv_usage, Unit::ZERO, "it has no memory yet");
        let (more, end) = drain(&mut engine, Timestamp::ZERO);
        events.extend(more);
        assert_eq!(token_millis(&events, id).first(), Some(&66));
        assert_eq!(end, Timestamp::from_millis(68));
        let totals = engine.stats().totals;
        assert_eq!(totals.steps_with_prefill, 0);
        assert_eq!((totals.prompt_tokens, totals.generation_tokens), (60, 3));
    }
}

#[test]
fn a_transferred_request_that_is_cancelled_before_its_first_token_never_gives_it() {
    let mut engine = Engine::new(EngineConfig {
        role: decode_role(),
        reports: Reports {
            tokens: TokenReports::First,
            cache: CacheReports::Nothing,
        },
        ..article()
    });
    let mut events = Vec::new();
    let id = engine.submit(job(1, 60, 3)).unwrap();
    let arrival = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    engine.advance(arrival, &mut events);
    assert!(engine.cancel(id));
    drain(&mut engine, arrival);
    assert_eq!(token_millis(&events, id), []);
    assert_eq!(engine.stats().totals.generation_tokens, 0);
}

impl Batch {
    /// Panics unless memory and requests agree.
    pub(crate) fn assert_consistent(&self, config: &EngineConfig) {
        let prefilling = self.prefilling.iter().map(|p| p.blocks);
        let decoding = self.decoding.iter().map(|d| d.blocks);
        assert_eq!(self.held_blocks, prefilling.chain(decoding).sum::<u64>());
        assert!(self.held_blocks <= u64::from(config.blocks.get()) || self.running() == 1);
        assert!(self.prefilling.len() <= self.rules.prefills_max.get() as usize);
        assert!(self.transferred.len() <= self.decoding.len());
        assert!(self.decoding.is_sorted_by(|a, b| a.finish >= b.finish));
        self.cache.assert_consistent();
    }
}
