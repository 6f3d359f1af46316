//! Lives of endpoints: what belongs to one never counts for another.

use pointsman_domain::event::Late;
use pointsman_domain::load::LoadSample;

use super::super::*;
use super::builders::*;

fn lives(outputs: &[Output]) -> (Vec<EndpointId>, Vec<EndpointId>) {
    let mut began = Vec::new();
    let mut over = Vec::new();
    for output in outputs {
        if let Output::Endpoints { added, removed } = output {
            began.extend(added.iter().map(|(id, _)| *id));
            over.extend(removed);
        }
    }
    (began, over)
}

#[test]
fn an_endpoint_whose_identity_is_unchanged_keeps_its_life() {
    let mut pool = pool_of(2);
    let mut relabelled = endpoint(0);
    relabelled.labels.insert("a".to_owned(), "b".to_owned());
    let outputs = pool.input(Input::Endpoints(vec![relabelled, endpoint(1)]));
    assert!(outputs.is_empty(), "{outputs:?}");
}

#[test]
fn another_address_is_another_life_in_any_slot() {
    let mut pool = pool_of(1);
    let mut moved = endpoint(0);
    moved.address = address(99);
    let outputs = pool.input(Input::Endpoints(vec![moved]));
    let again = EndpointId {
        slot: 0,
        generation: 2,
    };
    assert_eq!(lives(&outputs), (vec![again], vec![first_life(0)]));
}

#[test]
fn a_restart_seen_in_the_metrics_starts_a_new_life_without_the_old_cache() {
    let mut pool = pool_of(2);
    let started = |seconds| LoadSample {
        process_start_seconds: Some(seconds),
        ..sample(0, 0)
    };
    let conversation: Vec<u64> = (0..50).collect();
    let home = pool.pick(1, chat(&conversation));
    pool.scrape(home, started(1000.0));
    let outputs = pool.scrape(home, started(5000.0));
    let again = EndpointId {
        slot: home.slot,
        generation: 2,
    };
    assert_eq!(lives(&outputs), (vec![again], vec![home]));
    assert_eq!(pool.pool.sizes().prefix_blocks, 0);
    // The request of the old life ends without touching the new one's account.
    pool.end(1);
    assert!(
        pool.pool
            .endpoints(pool.now)
            .iter()
            .all(|endpoint| endpoint.own.requests == 0)
    );
}

#[test]
fn a_late_scrape_of_an_earlier_life_is_dropped_and_counted() {
    let mut pool = pool_of(1);
    pool.input(Input::Endpoints(Vec::new()));
    pool.input(Input::Endpoints(vec![endpoint(0)]));
    let outputs = pool.scrape(first_life(0), sample(500, 500));
    assert_eq!(events(&outputs), [&Event::Dropped { what: Late::Scrape }]);
    assert_eq!(pool.pool.endpoints(pool.now)[0].load.waiting, 0);
}

#[test]
fn failure_an_endpoint_that_refuses_scrapes_is_not_picked_until_it_answers_again() {
    let mut pool = pool_of(2);
    pool.scrape(first_life(0), sample(0, 0));
    let outputs = pool.input(Input::ScrapeFailed(first_life(0), ScrapeFault::Unreachable));
    assert_eq!(
        events(&outputs),
        [&Event::Ejected {
            endpoint: first_life(0),
            out: true
        }]
    );
    for id in 0..10 {
        assert_eq!(pool.pick(id, chat(&[id])), first_life(1));
    }
    pool.scrape(first_life(0), sample(0, 0));
    assert_eq!(pool.pick(10, chat(&[10])), first_life(0));
}

#[test]
fn an_endpoint_without_metrics_is_not_taken_for_dead() {
    let mut pool = pool_of(2);
    for number in 0..2 {
        pool.input(Input::ScrapeFailed(
            first_life(number),
            ScrapeFault::Unreachable,
        ));
    }
    assert!(
        pool.pool
            .endpoints(pool.now)
            .iter()
            .all(|endpoint| !endpoint.ejected)
    );
}

#[test]
fn failure_never_more_than_half_the_pool_is_ejected() {
    let mut pool = pool_of(5);
    for number in 0..5 {
        pool.scrape(first_life(number), sample(0, 0));
        pool.input(Input::ScrapeFailed(
            first_life(number),
            ScrapeFault::Unreachable,
        ));
    }
    let ejected = pool
        .pool
        .endpoints(pool.now)
        .iter()
        .filter(|e| e.ejected)
        .count();
    assert_eq!(ejected, 2);
}

#[test]
fn failure_three_failed_requests_in_a_row_eject_for_a_while_and_one_good_answer_forgives() {
    let mut pool = pool_with(
        RuntimeConfig {
            destinations_max: 2,
            ..config()
        },
        2,
    );
    pool.scrape(first_life(0), sample(0, 0));
    pool.scrape(first_life(1), sample(30, 30));
    for id in 0..3 {
        assert_eq!(pool.pick(id, chat(&[id])), first_life(0));
        pool.observe(id, Observation::Served(address(1)));
        pool.end(id);
    }
    assert!(pool.pool.endpoints(pool.now)[0].ejected);
    assert_eq!(pool.pick(3, chat(&[3])), first_life(1));
    pool.at_millis(1001);
    pool.scrape(first_life(1), sample(30, 30));
    assert_eq!(pool.pick(4, chat(&[4])), first_life(0));
    let outputs = pool.observe(4, Observation::Answered { status: 200 });
    assert_eq!(
        events(&outputs),
        [&Event::Ejected {
            endpoint: first_life(0),
            out: false
        }]
    );
}

#[test]
fn failures_of_one_incident_eject_once_however_many_they_are() {
    let mut pool = pool_with(
        RuntimeConfig {
            destinations_max: 2,
            ..config()
        },
        2,
    );
    for id in 0..40 {
        pool.pick(id, chat(&[id]));
    }
    for id in 0..40 {
        pool.observe(id, Observation::Served(address(1)));
    }
    assert!(pool.pool.endpoints(pool.now)[0].ejected);
    pool.at_millis(1001);
    assert!(!pool.pool.endpoints(pool.now)[0].ejected);
}

#[test]
fn metrics_at_a_port_of_their_own_do_not_take_an_endpoint_out() {
    let mut pool = pool_of(0);
    let elsewhere = EndpointSpec {
        metrics_address: address(200),
        ..endpoint(0)
    };
    pool.input(Input::Endpoints(vec![elsewhere, endpoint(1)]));
    pool.scrape(first_life(0), sample(0, 0));
    pool.input(Input::ScrapeFailed(first_life(0), ScrapeFault::Unreachable));
    assert!(!pool.pool.endpoints(pool.now)[0].ejected);
}
