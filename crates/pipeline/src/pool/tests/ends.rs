//! From the pick to the end: each request ends once, and its load follows it.

use pointsman_domain::event::Late;
use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;

use super::super::*;
use super::builders::*;

#[test]
fn a_request_ends_once_however_often_it_is_told() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    assert_eq!(pool.pool.sizes().in_flight, 1);
    let outputs = pool.end(1);
    assert!(matches!(events(&outputs)[..], [Event::Completed(_)]));
    assert_eq!(pool.pool.sizes().in_flight, 0);
    assert!(pool.end(1).is_empty());
    assert!(pool.end(77).is_empty());
}

#[test]
fn an_end_before_the_decision_is_delivered_gives_the_load_back() {
    let mut pool = pool_of(1);
    pool.offer(1, chat(&[1]));
    pool.input(Input::Ended {
        id: RequestId(1),
        cause: EndCause::Cut,
    });
    assert_eq!(pool.pool.endpoints(pool.now)[0].own, OwnLoad::default());
}

#[test]
fn the_completion_tells_duration_place_and_usage() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    let usage = Usage {
        prompt: Tokens(64),
        output: Tokens(5),
        cached: Some(Tokens(0)),
    };
    pool.observe(1, Observation::Usage(usage));
    pool.at_millis(7);
    let outputs = pool.end(1);
    let [Event::Completed(completed)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(completed.duration, Duration::from_millis(7));
    assert_eq!(completed.endpoint, Some(first_life(0)));
    assert_eq!(completed.usage, Some(usage));
}

#[test]
fn the_first_output_is_told_once_and_takes_the_prefill_away() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1, 2]));
    let own = |pool: &TestPool| pool.pool.endpoints(pool.now)[0].own;
    assert_eq!(own(&pool).uncached_tokens, Tokens(128));
    let outputs = pool.observe(1, Observation::FirstOutput);
    assert!(matches!(events(&outputs)[..], [Event::FirstOutput { .. }]));
    assert!(pool.observe(1, Observation::FirstOutput).is_empty());
    assert_eq!(
        own(&pool),
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
    assert!(
        pool.observe(1, Observation::Served("9.9.9.9:9".parse().unwrap()))
            .is_empty()
    );
}

#[test]
fn an_observation_after_the_end_is_dropped_and_counted() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    pool.end(1);
    let outputs = pool.observe(1, Observation::FirstOutput);
    assert_eq!(
        events(&outputs),
        [&Event::Dropped {
            what: Late::Observation
        }]
    );
}

#[test]
fn load_that_is_not_ours_counts_beside_our_own() {
    let mut pool = pool_of(2);
    pool.scrape(first_life(0), sample(0, 6));
    pool.scrape(first_life(1), sample(0, 0));
    assert_eq!(pool.pool.endpoints(pool.now)[0].foreign_requests, 6);
    for id in 0..5 {
        assert_eq!(pool.pick(id, chat(&[id])), first_life(1));
    }
}

#[test]
fn another_configuration_takes_effect_with_the_next_request() {
    let mut pool = pool_of(3);
    let mut next = config();
    next.profile.scorers.clear();
    next.profile.picker = pointsman_schedule::picker::Picker::RoundRobin(Default::default());
    pool.input(Input::Configure(Box::new(next)));
    let slots: Vec<_> = (0..4).map(|id| pool.pick(id, chat(&[1])).slot).collect();
    assert_eq!(slots, [0, 1, 2, 0]);
}

#[test]
fn after_a_panic_open_requests_still_count_and_the_lost_offer_goes_by_load() {
    let mut pool = pool_of(2);
    let busy = pool.pick(1, chat(&[1]));
    let outputs = pool.recover(Some(2));
    let decided = decisions(&outputs);
    let [(RequestId(2), Decision::Picked(pick))] = &decided[..] else {
        panic!("{outputs:?}")
    };
    assert_ne!(pick.destinations[0].endpoint, busy);
    assert_eq!(pool.pool.sizes().in_flight, 2);
    assert_eq!(pool.pool.endpoints(pool.now)[busy.index()].own.requests, 1);
    assert!(matches!(events(&pool.end(1))[..], [Event::Completed(_)]));
    assert!(matches!(events(&pool.end(2))[..], [Event::Completed(_)]));
    assert_eq!(pool.pool.sizes().in_flight, 0);
}
