use proptest::prelude::*;

use super::*;

const LIMITS: HoldLimits = HoldLimits {
    requests_max: 2,
    bytes_max: 100,
    wait_max: Some(Duration::from_millis(10)),
};

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn nothing_is_held_when_holding_is_off() {
    let mut hold = Hold::new(HoldLimits::OFF);
    assert_eq!(
        hold.offer(RequestId(1), 0, at(0)),
        Verdict::Shed(Refusal::NoEndpoints)
    );
    assert!(hold.is_empty());
}

#[test]
fn requests_leave_in_the_order_they_came() {
    let mut hold = Hold::new(LIMITS);
    assert_eq!(hold.offer(RequestId(9), 1, at(0)), Verdict::Hold);
    assert_eq!(hold.offer(RequestId(3), 1, at(0)), Verdict::Hold);
    assert_eq!(hold.release(), Some(RequestId(9)));
    assert_eq!(hold.release(), Some(RequestId(3)));
    assert_eq!(hold.release(), None);
}

#[test]
fn one_more_than_the_limit_is_refused() {
    let mut hold = Hold::new(LIMITS);
    assert_eq!(hold.offer(RequestId(1), 60, at(0)), Verdict::Hold);
    assert_eq!(
        hold.offer(RequestId(2), 60, at(0)),
        Verdict::Shed(Refusal::HoldFull)
    );
    assert_eq!(hold.offer(RequestId(3), 40, at(0)), Verdict::Hold);
    assert_eq!(
        hold.offer(RequestId(4), 0, at(0)),
        Verdict::Shed(Refusal::HoldFull)
    );
}

#[test]
fn a_wait_ends_at_its_deadline_and_not_before() {
    let mut hold = Hold::new(LIMITS);
    hold.offer(RequestId(1), 1, at(0));
    hold.offer(RequestId(2), 1, at(5));
    assert_eq!(hold.next_deadline(), Some(at(10)));
    assert_eq!(hold.expire(at(9)), None);
    assert_eq!(hold.expire(at(10)), Some(RequestId(1)));
    assert_eq!(hold.expire(at(10)), None);
    assert_eq!(hold.next_deadline(), Some(at(15)));
}

#[derive(Clone, Debug)]
enum Step {
    Offer(u64),
    Release,
    Withdraw(usize),
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..50).prop_map(Step::Offer),
        Just(Step::Release),
        (0usize..40).prop_map(Step::Withdraw),
        Just(Step::Expire),
    ]
}

proptest! {
    #[test]
    fn every_held_request_leaves_once_and_the_limits_hold(
        steps in proptest::collection::vec(step(), 0..200),
    ) {
        let limits = HoldLimits { requests_max: 5, ..LIMITS };
        let mut hold = Hold::new(limits);
        let mut inside: Vec<(RequestId, u64)> = Vec::new();
        for (index, step) in steps.into_iter().enumerate() {
            let now = at(index as u64 * 3);
            let left = match step {
                Step::Offer(bytes) => {
                    let request = RequestId(index as u64);
                    if hold.offer(request, bytes, now) == Verdict::Hold {
                        inside.push((request, bytes));
                    }
                    None
                }
                Step::Release => {
                    let first = inside.first().map(|&(request, _)| request);
                    let released = hold.release();
                    prop_assert_eq!(released, first);
                    released
                }
                Step::Withdraw(place) => {
                    let request = inside.get(place).map_or(RequestId(u64::MAX), |&(r, _)| r);
                    hold.withdraw(request).then_some(request)
                }
                Step::Expire => hold.expire(now),
            };
            if let Some(left) = left {
                let place = inside.iter().position(|&(request, _)| request == left);
                prop_assert!(place.is_some(), "left twice");
                inside.remove(place.unwrap());
            }
            prop_assert_eq!(hold.len(), inside.len());
            prop_assert_eq!(hold.bytes(), inside.iter().map(|&(_, bytes)| bytes).sum::<u64>());
            prop_assert!(hold.len() <= limits.requests_max && hold.bytes() <= limits.bytes_max);
        }
    }
}
