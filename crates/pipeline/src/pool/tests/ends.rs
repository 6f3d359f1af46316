//! From the pick to the end: each request ends once, and its load follows it.

use pointsman_domain::event::Timings;
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
fn failure_a_client_that_leaves_before_the_decision_is_delivered_gives_the_load_back() {
    let mut pool = pool_of(1);
    pool.offer(1, chat(&[1]));
    pool.input(Input::Ended {
        id: RequestId(1),
        cause: EndCause::Cut,
    });
    assert_eq!(pool.pool.endpoints(pool.now)[0].own, OwnLoad::default());
}

#[test]
fn the_completion_tells_duration_place_usage_and_the_first_time_of_each_moment() {
    let mut pool = pool_of(1);
    pool.pick(1, chat(&[1]));
    let usage = Usage {
        prompt: Tokens(64),
        output: Tokens(5),
        cached: Some(Tokens(0)),
        reasoning: None,
    };
    let millis = Duration::from_millis;
    for (at, observation) in [
        (2, Observation::FirstOutput),
        (3, Observation::FirstOutput),
        (3, Observation::FirstVisible),
        (4, Observation::FirstVisible),
        (4, Observation::Usage(usage)),
        (5, Observation::Finished),
        (6, Observation::Finished),
    ] {
        pool.at_millis(at).observe(1, observation);
    }
    pool.at_millis(7);
    let outputs = pool.end(1);
    let [Event::Completed(completed)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(completed.duration, Duration::from_millis(7));
    assert_eq!(completed.endpoint, Some(first_life(0)));
    assert_eq!(completed.usage, Some(usage));
    let timings = Timings {
        first_output: Some(millis(2)),
        first_visible: Some(millis(3)),
        finished: Some(millis(5)),
    };
    assert_eq!(completed.timings, timings);
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
