//! Adapters by the rules of vLLM.

use crate::config::AdapterSlots;
use crate::engine::tests::{adapted, admitted_millis, loads, millis};

use super::*;

/// Two adapters at once; one takes 100 ms to load.
fn config() -> EngineConfig {
    EngineConfig {
        adapters: Some(AdapterSlots {
            slots: count(2),
            load: Duration::from_millis(100),
        }),
        ..continuous()
    }
}

#[test]
fn a_load_lengthens_the_step_for_all_that_run() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let other = engine.submit(job(1, 10, 4)).unwrap();
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    let first = engine.submit(adapted(job(2, 10, 2), 7)).unwrap();
    events.extend(drain(&mut engine, end).0);
    assert_eq!(token_millis(&events, other), [20, 140, 150, 160]);
    assert_eq!(token_millis(&events, first), [140, 150]);
    assert_eq!(loads(&events), [(7, 20)]);
}

#[test]
fn an_adapter_that_is_resident_costs_nothing() {
    let mut engine = Engine::new(config());
    let mut now = Timestamp::ZERO;
    for adapter in [7, 8, 7, 8] {
        engine.submit(adapted(job(1, 10, 1), adapter)).unwrap();
        now = drain(&mut engine, now).1;
    }
    assert_eq!(engine.stats().totals.adapter_loads, 2);
}

#[test]
fn two_loads_in_one_step_cost_both() {
    let mut engine = Engine::new(config());
    for adapter in [7, 8, 7] {
        engine.submit(adapted(job(1, 3, 1), adapter)).unwrap();
    }
    let (events, end) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(loads(&events), [(7, 0), (8, 0)]);
    assert_eq!(end, Timestamp::from_millis(200 + 10 + 9));
}

#[test]
fn a_request_whose_adapter_finds_no_place_is_passed_over_until_one_is_free() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let short = engine.submit(adapted(job(1, 4, 2), 1)).unwrap();
    let long = engine.submit(adapted(job(2, 4, 9), 2)).unwrap();
    let blocked = engine.submit(adapted(job(3, 4, 1), 3)).unwrap();
    let same = engine.submit(adapted(job(4, 4, 9), 2)).unwrap();
    let plain = engine.submit(job(5, 4, 9)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    for id in [short, long, same, plain] {
        assert_eq!(admitted_millis(&events, id), Some(0));
    }
    assert_eq!((engine.stats().waiting, engine.stats().deferred), (1, 1));
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    assert_eq!(engine.stats().deferred, 0);
    // Adapter 1 leaves with its only request.
    let end = token_millis(&events, short).last().copied();
    assert_eq!(admitted_millis(&events, blocked), end);
    assert_eq!(loads(&events).last(), end.map(|end| (3, end)).as_ref());
}

#[test]
fn a_request_that_was_passed_over_keeps_its_place_in_the_queue() {
    let mut engine = Engine::new(EngineConfig {
        slots: count(2),
        adapters: Some(AdapterSlots {
            slots: count(1),
            load: Duration::ZERO,
        }),
        ..continuous()
    });
    let mut events = Vec::new();
    let first = engine.submit(adapted(job(1, 4, 3), 1)).unwrap();
    let passed = engine.submit(adapted(job(2, 4, 1), 2)).unwrap();
    let bypassing = engine.submit(adapted(job(3, 4, 2), 1)).unwrap();
    let last = engine.submit(job(4, 4, 1)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    assert_eq!(admitted_millis(&events, bypassing), Some(0));
    // The last one waits for a slot.
    assert_eq!((engine.stats().waiting, engine.stats().deferred), (2, 1));
    events.extend(drain(&mut engine, Timestamp::ZERO).0);
    let ends = |id| token_millis(&events, id).last().copied();
    // The slot that the third one leaves first goes to the last one, as adapter 1 is still in use.
    assert_eq!(admitted_millis(&events, last), ends(bypassing));
    assert_eq!(admitted_millis(&events, passed), ends(first));
}

#[test]
fn a_cancel_makes_room_for_another_adapter_and_may_hit_one_that_is_passed_over() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let ids = [1, 2, 3, 4, 5].map(|adapter| {
        let job = adapted(job(1, 4, 5), adapter);
        engine.submit(job).unwrap()
    });
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    assert_eq!((engine.stats().running, engine.stats().waiting), (2, 3));
    assert!(engine.cancel(ids[2]), "it waits and is passed over");
    assert!(engine.cancel(ids[0]), "it runs");
    engine.advance(end, &mut events);
    assert_eq!(admitted_millis(&events, ids[3]), Some(millis(end)));
    assert_eq!(admitted_millis(&events, ids[4]), None);
}

#[test]
fn a_cancel_of_one_that_is_passed_over_hides_nobody_behind_it() {
    let mut engine = Engine::new(config());
    let mut events = Vec::new();
    let ids = [1, 2, 3].map(|adapter| {
        let job = adapted(job(1, 4, 5), adapter);
        engine.submit(job).unwrap()
    });
    let end = engine.advance(Timestamp::ZERO, &mut events).unwrap();
    assert!(engine.cancel(ids[2]));
    let plain = engine.submit(job(2, 4, 5)).unwrap();
    engine.advance(end, &mut events);
    assert_eq!(admitted_millis(&events, plain), Some(millis(end)));
}

#[test]
fn the_adapter_that_ran_longest_ago_leaves_first() {
    let mut engine = Engine::new(EngineConfig {
        adapters: Some(AdapterSlots {
            slots: count(2),
            load: Duration::from_millis(100),
        }),
        ..continuous()
    });
    let mut events = Vec::new();
    // Adapter 1 is taken first and runs longest.
    engine.submit(adapted(job(1, 4, 9), 1)).unwrap();
    engine.submit(adapted(job(2, 4, 2), 2)).unwrap();
    let mut now = Timestamp::ZERO;
    for adapter in [3, 1] {
        let (more, end) = drain(&mut engine, now);
        events.extend(more);
        now = end;
        engine.submit(adapted(job(3, 4, 1), adapter)).unwrap();
    }
    events.extend(drain(&mut engine, now).0);
    let loaded: Vec<u32> = loads(&events).iter().map(|&(adapter, _)| adapter).collect();
    assert_eq!(loaded, [1, 2, 3], "adapter 1 has stayed");
}

#[test]
fn without_adapter_slots_adapters_cost_nothing() {
    let mut engine = Engine::new(continuous());
    for adapter in 0..4 {
        engine.submit(adapted(job(1, 4, 1), adapter)).unwrap();
    }
    engine.advance(Timestamp::ZERO, &mut Vec::new());
    assert_eq!(engine.stats().running, 4);
    let (events, _) = drain(&mut engine, Timestamp::ZERO);
    assert_eq!(loads(&events), []);
}
