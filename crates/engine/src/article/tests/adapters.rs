//! Adapters as the founding article counts them.

use crate::config::AdapterSlots;

use super::*;

/// Two adapters at once; one takes 30 ticks to load.
fn config() -> EngineConfig {
    EngineConfig {
        adapters: Some(AdapterSlots {
            slots: count(2),
            load: Duration::from_millis(30),
        }),
        ..article()
    }
}

#[test]
fn the_engine_stands_still_while_an_adapter_is_loaded() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let other = engine.submit(job(1, 10, 4)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    let first = engine.submit(adapted(job(2, 20, 2), 7)).unwrap();
    events.extend(drain(&mut engine, end).0);
    assert_eq!(loads(&events), [(7, 1)]);
    assert_eq!(token_millis(&events, first), [33, 34]);
    assert_eq!(token_millis(&events, other), [1, 34, 35, 36]);
    let totals = engine.stats().totals;
    assert_eq!(totals.busy, Duration::from_millis(36));
    assert_eq!(totals.steps, 7, "the load is one step");
    assert_eq!(totals.steps_without_decode, 4);
}

#[test]
fn the_adapter_admitted_longest_ago_leaves_even_if_it_is_in_use() {
    let mut engine = Engine::new(config());
    let ids = [1, 2, 3, 1].map(|adapter| {
        let job = adapted(job(1, 10, 10), adapter);
        engine.submit(job).unwrap()
    });
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(loads(&events), [(1, 0), (2, 31), (3, 62), (1, 93)]);
    // None of them decodes before the last prefill has ended.
    let second_tokens = ids.map(|id| token_millis(&events, id)[1]);
    assert_eq!(second_tokens, [125; 4]);
}

#[test]
fn a_load_that_takes_no_time_costs_no_step() {
    let mut engine = Engine::new(EngineConfig {
        adapters: Some(AdapterSlots {
            slots: count(1),
            load: Duration::ZERO,
        }),
        ..article()
    });
    let id = engine.submit(adapted(job(1, 10, 2), 7)).unwrap();
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(token_millis(&events, id), [1, 2]);
    assert_eq!(engine.stats().totals.adapter_loads, 1);
}

#[test]
fn a_request_cancelled_while_its_adapter_loads_leaves_the_engine_standing_still() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let id = engine.submit(adapted(job(1, 10, 2), 7)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events);
    assert!(engine.cancel(id));
    let next = engine.submit(adapted(job(2, 10, 1), 7)).unwrap();
    assert_eq!(engine.advance(Timestamp::ZERO, &mut events), end);
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    assert_eq!(token_millis(&events, next), [31]);
    assert_eq!(loads(&events), [(7, 0)]);
}
