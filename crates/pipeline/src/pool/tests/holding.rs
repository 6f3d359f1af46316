//! Requests that wait while the pool is empty, and what wakes them.

use super::super::*;
use super::builders::*;

#[test]
fn failure_an_empty_pool_refuses_at_once_when_holding_is_off() {
    let outputs = pool_of(0).offer(1, chat(&[1]));
    let refused = Decision::Refused(Refusal::NoEndpoints);
    assert_eq!(decisions(&outputs), [(RequestId(1), refused)]);
}

#[test]
fn failure_held_requests_are_decided_in_their_order_when_an_endpoint_appears() {
    let mut pool = pool_with(holding(), 0);
    assert!(decisions(&pool.offer(1, chat(&[1]))).is_empty());
    assert!(decisions(&pool.offer(2, chat(&[2]))).is_empty());
    assert_eq!(pool.pool.sizes().held, 2);
    pool.at_millis(3);
    let outputs = pool.input(Input::Endpoints(vec![endpoint(0)]));
    let decided: Vec<_> = decisions(&outputs)
        .into_iter()
        .map(|(id, _)| id.0)
        .collect();
    assert_eq!(decided, [1, 2]);
    assert_eq!(pool.pool.sizes().held, 0);
    assert_eq!(pool.pool.sizes().in_flight, 2);
    let waited = events(&outputs).into_iter().find_map(|event| match event {
        Event::Picked(picked) => Some(picked.waited),
        _ => None,
    });
    assert_eq!(waited, Some(Duration::from_millis(3)));
}

#[test]
fn failure_a_held_request_is_refused_at_its_deadline() {
    let mut pool = pool_with(holding(), 0);
    pool.offer(1, chat(&[1]));
    assert_eq!(pool.pool.next_deadline(), Some(Timestamp::from_millis(10)));
    pool.at_millis(9);
    assert!(pool.input(Input::Expire).is_empty());
    pool.at_millis(10);
    let outputs = pool.input(Input::Expire);
    let refused = Decision::Refused(Refusal::NoEndpointsInTime);
    assert_eq!(decisions(&outputs), [(RequestId(1), refused)]);
    assert_eq!(pool.pool.next_deadline(), None);
}

#[test]
fn failure_a_client_that_leaves_while_held_takes_its_place_along() {
    let mut pool = pool_with(holding(), 0);
    pool.offer(1, chat(&[1]));
    pool.input(Input::Ended {
        id: RequestId(1),
        cause: EndCause::Cut,
    });
    assert_eq!(pool.pool.sizes().held, 0);
    assert_eq!(pool.pool.sizes().held_bytes, 0);
    let outputs = pool.input(Input::Endpoints(vec![endpoint(0)]));
    assert!(decisions(&outputs).is_empty());
}

#[test]
fn at_shutdown_nobody_waits_any_more() {
    let mut pool = pool_with(holding(), 0);
    pool.offer(1, chat(&[1]));
    let refused = Decision::Refused(Refusal::ShuttingDown);
    let outputs = pool.input(Input::ShutDown);
    assert_eq!(decisions(&outputs), [(RequestId(1), refused.clone())]);
    let outputs = pool.offer(2, chat(&[1]));
    assert_eq!(decisions(&outputs), [(RequestId(2), refused)]);
}

#[test]
fn failure_more_than_the_limits_is_refused_as_full() {
    let mut pool = pool_with(holding(), 0);
    for id in 0..10 {
        assert!(decisions(&pool.offer(id, chat(&[id]))).is_empty());
    }
    let outputs = pool.offer(10, chat(&[1]));
    let refused = Decision::Refused(Refusal::HoldFull);
    assert_eq!(decisions(&outputs), [(RequestId(10), refused)]);
}
