//! What is seen in responses, and what it does to the load of endpoints.

use pointsman_domain::event::Late;
use pointsman_domain::load::{LoadSample, PrefillRate};
use pointsman_domain::observation::{ObservationMode, Usage};
use pointsman_domain::units::{Tokens, Unit};

use super::super::*;
use super::builders::*;

fn own(pool: &TestPool, number: usize) -> OwnLoad {
    pool.pool.endpoints(pool.now)[number].own
}

/// A chat of whose response only headers will be seen.
fn unseen(blocks: &[u64]) -> RequestFacts {
    RequestFacts {
        observation: ObservationMode::HeadersOnly,
        ..chat(blocks)
    }
}

/// A pool whose endpoints compute a token in each millisecond, and whose answers list two of them.
fn slow_pool(endpoints: u32) -> TestPool {
    let prefill_rate = PrefillRate::new(NonZeroU32::new(1000).unwrap());
    let config = RuntimeConfig {
        prefill_rate,
        destinations_max: 2,
        ..config()
    };
    pool_with(config, endpoints)
}

fn dropped(what: Late) -> Event {
    Event::Dropped { what }
}

#[test]
fn the_first_output_is_told_once_and_takes_the_prefill_away() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1, 2]));
    assert_eq!(own(&pool, 0).uncached_tokens, Tokens(128));
    let outputs = pool.observe(1, Observation::FirstOutput);
    assert!(matches!(events(&outputs)[..], [Event::FirstOutput { .. }]));
    assert!(pool.observe(1, Observation::FirstOutput).is_empty());
    assert_eq!(
        own(&pool, 0),
        OwnLoad {
            requests: 1,
            ..OwnLoad::default()
        }
    );
}

#[test]
fn load_moves_to_who_served_in_the_end() {
    let mut pool = pool_with(
        RuntimeConfig {
            destinations_max: 2,
            ..config()
        },
        2,
    );
    let picked = pool.pick(1, chat(&[1]));
    let other = 1 - picked.slot;
    let outputs = pool.observe(1, Observation::Served(address(other)));
    assert!(matches!(
        events(&outputs)[..],
        [Event::ServedElsewhere { .. }]
    ));
    let states = pool.pool.endpoints(pool.now);
    assert_eq!(states[picked.index()].own.requests, 0);
    assert_eq!(states[other as usize].own.requests, 1);
}

#[test]
fn an_observation_after_the_end_or_before_the_decision_is_dropped_and_counted() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    pool.end(1);
    let mut empty = pool_with(holding(), 0);
    empty.offer(1, chat(&[1]));
    for observation in [
        Observation::FirstOutput,
        Observation::Finished,
        Observation::Usage(Usage::default()),
        Observation::Load(sample(9, 9)),
        Observation::Served(address(0)),
        Observation::Answered { status: 503 },
    ] {
        for pool in [&mut pool, &mut empty] {
            let outputs = pool.observe(1, observation);
            assert_eq!(events(&outputs), [&dropped(Late::Observation)]);
        }
    }
    assert_eq!(
        pool.pool.endpoints(pool.now)[0].load,
        EndpointLoad::default()
    );
}

#[test]
fn the_end_of_the_output_frees_the_load_and_the_end_of_the_stream_the_request() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    assert!(pool.observe(1, Observation::Finished).is_empty());
    assert_eq!(own(&pool, 0), OwnLoad::default());
    assert_eq!(pool.pool.sizes().in_flight, 1);
    assert!(matches!(events(&pool.end(1))[..], [Event::Completed(_)]));
    assert_eq!(own(&pool, 0), OwnLoad::default());
    assert_eq!(pool.pool.sizes().in_flight, 0);
}

#[test]
fn usage_alone_ends_nothing() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    pool.observe(1, Observation::Usage(Usage::default()));
    assert_eq!(own(&pool, 0).requests, 1);
}

#[test]
fn where_only_headers_are_seen_the_clock_ends_prefills() {
    let mut pool = slow_pool(1);
    pool.pick(1, unseen(&[1]));
    pool.pick(2, unseen(&[2]));
    pool.pick(3, chat(&[3]));
    assert_eq!(own(&pool, 0).before_first_token, 3);
    pool.at_millis(64);
    assert_eq!(own(&pool, 0).before_first_token, 2);
    assert_eq!(own(&pool, 0).uncached_tokens, Tokens(64 + 64));
    pool.at_millis(128);
    let waits_to_be_seen = OwnLoad {
        requests: 3,
        before_first_token: 1,
        uncached_tokens: Tokens(64),
    };
    assert_eq!(own(&pool, 0), waits_to_be_seen);
}

#[test]
fn a_scrape_of_an_idle_engine_ends_prefills_before_the_clock() {
    let mut pool = slow_pool(1);
    pool.pick(1, unseen(&[1]));
    pool.at_millis(10);
    for busy in [
        sample(1, 0),
        sample(0, 1),
        LoadSample {
            running: None,
            ..sample(0, 0)
        },
    ] {
        pool.scrape(first_life(0), busy);
        assert_eq!(own(&pool, 0).before_first_token, 1, "{busy:?}");
    }
    pool.scrape(first_life(0), sample(0, 0));
    let decoding = OwnLoad {
        requests: 1,
        ..OwnLoad::default()
    };
    assert_eq!(own(&pool, 0), decoding);
}

#[test]
fn in_each_mode_load_moves_to_who_served_and_the_one_that_failed_is_marked() {
    for observation in [
        ObservationMode::HeadersOnly,
        ObservationMode::Sampled,
        ObservationMode::Full,
    ] {
        let mut pool = slow_pool(2);
        pool.scrape(first_life(0), sample(0, 0));
        pool.scrape(first_life(1), sample(50, 0));
        for id in 0..3 {
            let facts = RequestFacts {
                observation,
                ..chat(&[id])
            };
            assert_eq!(pool.pick(id, facts), first_life(0));
            pool.observe(id, Observation::Served(address(1)));
        }
        assert_eq!(own(&pool, 0), OwnLoad::default());
        let moved = OwnLoad {
            requests: 3,
            before_first_token: 3,
            uncached_tokens: Tokens(192),
        };
        assert_eq!(own(&pool, 1), moved, "{observation:?}");
        let states = pool.pool.endpoints(pool.now);
        assert!(states[0].ejected && !states[1].ejected);
        (0..3).for_each(|id| drop(pool.end(id)));
        assert_eq!(own(&pool, 1), OwnLoad::default());
    }
}

#[test]
fn who_failed_is_marked_once_however_often_it_is_told() {
    let mut pool = slow_pool(2);
    let first = pool.pick(1, chat(&[1]));
    let other = address(1 - first.slot);
    for served in [other, other, address(first.slot), other, other] {
        pool.observe(1, Observation::Served(served));
    }
    let states = pool.pool.endpoints(pool.now);
    assert!(states.iter().all(|state| !state.ejected));
    assert_eq!(own(&pool, 1 - first.index()).requests, 1);
}

#[test]
fn word_of_a_server_that_nobody_knows_changes_nothing_and_is_counted() {
    let mut pool = slow_pool(2);
    let picked = pool.pick(1, chat(&[1]));
    for _ in 0..9 {
        let outputs = pool.observe(1, Observation::Served("9.9.9.9:9".parse().unwrap()));
        assert_eq!(events(&outputs), [&dropped(Late::Served)]);
    }
    assert_eq!(own(&pool, picked.index()).requests, 1);
    assert!(!pool.pool.endpoints(pool.now)[picked.index()].ejected);
    assert_eq!(own(&pool, 1 - picked.index()).requests, 0);
}

#[test]
fn who_served_is_known_by_the_table_of_the_pick_also_when_it_has_gone() {
    let mut pool = slow_pool(2);
    let picked = pool.pick(1, chat(&[1]));
    let other = 1 - picked.slot;
    pool.input(Input::Endpoints(vec![endpoint(picked.slot)]));
    let outputs = pool.observe(1, Observation::Served(address(other)));
    let served = first_life(other);
    let expected = Event::ServedElsewhere {
        request: RequestId(1),
        picked,
        served,
    };
    assert_eq!(events(&outputs), [&expected]);
    let states = pool.pool.endpoints(pool.now);
    assert_eq!(states[0].own, OwnLoad::default());
}

#[test]
fn a_load_told_beside_an_answer_is_that_of_where_it_runs_from_now_on() {
    let mut pool = slow_pool(2);
    let picked = pool.pick(1, chat(&[1]));
    let other = 1 - picked.slot;
    pool.observe(1, Observation::Served(address(other)));
    pool.scrape(first_life(other), sample(3, 4));
    pool.at_millis(5);
    let told = LoadSample {
        kv_usage: Some(Unit::clamped(0.5)),
        waiting: Some(7),
        // Nothing of a restart is believed from here.
        process_start_seconds: Some(1e9),
        ..LoadSample::default()
    };
    assert!(pool.observe(1, Observation::Load(told)).is_empty());
    let states = pool.pool.endpoints(pool.now);
    let load = states[other as usize].load;
    assert_eq!((load.waiting, load.running), (7, 4));
    assert_eq!(load.kv_usage, Unit::clamped(0.5));
    // As old as the oldest of what it is made of.
    assert_eq!(load.sampled_at, Some(Timestamp::ZERO));
    assert_eq!(states[picked.index()].load, EndpointLoad::default());
}

#[test]
fn a_load_told_by_an_earlier_life_is_dropped_and_counted() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    pool.input(Input::Endpoints(Vec::new()));
    pool.input(Input::Endpoints(vec![endpoint(0)]));
    let outputs = pool.observe(1, Observation::Load(sample(9, 9)));
    assert_eq!(events(&outputs), [&dropped(Late::Observation)]);
    assert_eq!(
        pool.pool.endpoints(pool.now)[0].load,
        EndpointLoad::default()
    );
}

#[test]
fn a_load_told_beside_an_answer_leaves_what_is_known_beside_the_last_report() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    pool.scrape(first_life(0), sample(1, 4));
    pool.pick(2, chat(&[2]));
    let known = |pool: &TestPool| pool.pool.ledger.report_context(first_life(0));
    let before = known(&pool);
    assert_eq!((before.requests, before.foreign), (5, 4));
    pool.observe(1, Observation::Load(sample(90, 90)));
    assert_eq!(known(&pool), before);
    pool.pool.gather(pool.now, &chat(&[]));
    let candidate = pool.pool.scratch.candidates[0];
    assert_eq!(candidate.load.waiting, 90);
    assert_eq!(candidate.reported_requests, 5);
    assert_eq!(candidate.requests(), 2 + 4);
}

#[test]
fn another_prefill_rate_counts_from_the_configuration_on() {
    let mut pool = slow_pool(1);
    pool.pick(1, unseen(&[1, 2]));
    pool.at_millis(28);
    let prefill_rate = PrefillRate::new(NonZeroU32::new(10_000).unwrap());
    let faster = RuntimeConfig {
        prefill_rate,
        ..config()
    };
    pool.input(Input::Configure(Box::new(faster)));
    assert_eq!(own(&pool, 0).uncached_tokens, Tokens(100));
    pool.at_millis(38);
    assert_eq!(
        own(&pool, 0),
        OwnLoad {
            requests: 1,
            ..OwnLoad::default()
        }
    );
}
