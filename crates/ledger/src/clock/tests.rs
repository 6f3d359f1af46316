use core::num::NonZeroU32;

use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// A clock that computes a token in each millisecond.
fn clock() -> Clock {
    Clock::new(a_token_in(1))
}

fn a_token_in(millis: u32) -> PrefillRate {
    PrefillRate::new(NonZeroU32::new(1000 / millis).unwrap())
}

fn backlog(requests: u32, tokens: u64) -> Backlog {
    Backlog {
        requests,
        tokens: Tokens(tokens),
    }
}

#[test]
fn prompts_are_computed_one_after_the_other_at_the_rate() {
    let mut clock = clock();
    clock.join(at(0), Tokens(10));
    clock.join(at(0), Tokens(0));
    clock.join(at(5), Tokens(5));
    assert_eq!(clock.backlog(at(5)), backlog(3, 10));
    assert_eq!(clock.backlog(at(9)), backlog(3, 6));
    assert_eq!(clock.backlog(at(10)), backlog(1, 5));
    assert_eq!(clock.backlog(at(14)), backlog(1, 1));
    assert_eq!(clock.backlog(at(15)), backlog(0, 0));
    assert_eq!(clock.backlog(at(1_000_000)), backlog(0, 0));
}

#[test]
fn a_part_of_a_token_counts_as_a_token() {
    let mut clock = clock();
    clock.join(at(0), Tokens(1));
    let almost = Timestamp::from_nanos(999_999);
    assert_eq!(clock.backlog(almost), backlog(1, 1));
    assert_eq!(clock.backlog(at(1)), backlog(0, 0));
}

#[test]
fn an_idle_endpoint_computes_nothing_ahead() {
    let mut clock = clock();
    clock.join(at(0), Tokens(1));
    clock.join(at(500), Tokens(3));
    assert_eq!(clock.backlog(at(500)), backlog(1, 3));
    assert_eq!(clock.backlog(at(502)), backlog(1, 1));
}

#[test]
fn who_leaves_takes_along_what_is_left_of_it_and_no_more() {
    let mut clock = clock();
    let first = clock.join(at(0), Tokens(10));
    let second = clock.join(at(0), Tokens(10));
    clock.join(at(0), Tokens(10));
    clock.leave(at(4), first);
    assert_eq!(clock.backlog(at(4)), backlog(2, 20));
    clock.leave(at(6), second);
    assert_eq!(clock.backlog(at(6)), backlog(1, 10));
    // It was computed long ago, and that some other one began meanwhile is not its business.
    clock.leave(at(7), first);
    assert_eq!(clock.backlog(at(7)), backlog(1, 9));
}

#[test]
fn what_others_saw_computed_leaves_and_the_next_one_begins_then() {
    let mut clock = clock();
    clock.join(at(0), Tokens(100));
    clock.join(at(0), Tokens(100));
    let mark = clock.next_place();
    clock.join(at(0), Tokens(5));
    clock.retire_before(at(50), mark);
    assert_eq!(clock.backlog(at(50)), backlog(1, 5));
    clock.retire_before(at(52), mark);
    assert_eq!(clock.backlog(at(52)), backlog(1, 3));
}

#[test]
fn another_rate_counts_from_then_on() {
    let mut clock = clock();
    clock.join(at(0), Tokens(20));
    clock.set_rate(at(10), a_token_in(2));
    assert_eq!(clock.backlog(at(10)), backlog(1, 10));
    assert_eq!(clock.backlog(at(20)), backlog(1, 5));
}

#[test]
fn a_time_before_the_last_one_computes_nothing() {
    let mut clock = clock();
    clock.join(at(10), Tokens(20));
    clock.settle(at(15));
    assert_eq!(clock.backlog(at(3)), backlog(1, 15));
    clock.settle(at(3));
    assert_eq!(clock.backlog(at(16)), backlog(1, 14));
}

#[test]
fn prompts_and_times_of_any_size_are_counted_without_overflow() {
    let mut clock = Clock::new(PrefillRate::new(NonZeroU32::MAX));
    for _ in 0..3 {
        clock.join(at(0), Tokens(u64::MAX));
    }
    assert_eq!(clock.backlog(at(0)), backlog(3, u64::MAX));
    let end = Timestamp::from_nanos(u64::MAX);
    assert_eq!(clock.backlog(end), backlog(0, 0));
    clock.settle(end);
    assert_eq!(clock.backlog(end), backlog(0, 0));
}
