//! Requests of whose responses only headers will be seen.

use super::super::*;
use super::{A, A_AGAIN, B, NOW, at, sent_to};

/// A ledger whose endpoints compute a token in each millisecond.
fn ledger() -> Ledger {
    let rate = core::num::NonZeroU32::new(1000).unwrap();
    Ledger::new(PrefillRate::new(rate))
}

fn unseen(endpoint: EndpointId, tokens: u64) -> Reservation {
    Reservation {
        observation: ObservationMode::HeadersOnly,
        ..sent_to(endpoint, tokens)
    }
}

fn load(requests: u32, before_first_token: u32, uncached_tokens: u64) -> OwnLoad {
    OwnLoad {
        requests,
        before_first_token,
        uncached_tokens: Tokens(uncached_tokens),
    }
}

#[test]
fn the_clock_takes_away_the_prompt_and_the_end_takes_away_the_request() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 10));
    ledger.reserve(at(0), RequestId(2), unseen(A, 10));
    assert_eq!(ledger.own(A, at(0)), load(2, 2, 20));
    assert_eq!(ledger.own(A, at(15)), load(2, 1, 5));
    assert_eq!(ledger.own(A, at(20)), load(2, 0, 0));
    ledger.release(at(60_000_000), RequestId(1));
    ledger.release(at(60_000_000), RequestId(2));
    assert_eq!(ledger.own(A, at(60_000_000)), load(0, 0, 0));
}

#[test]
fn only_requests_that_will_not_be_seen_are_clocked() {
    for observation in [ObservationMode::Sampled, ObservationMode::Full] {
        let mut ledger = ledger();
        let seen = Reservation {
            observation,
            ..unseen(A, 10)
        };
        ledger.reserve(at(0), RequestId(1), seen);
        ledger.reserve(at(0), RequestId(2), unseen(A, 3));
        assert_eq!(ledger.own(A, at(3)), load(2, 1, 10));
        assert!(ledger.advance(at(60_000), RequestId(1), Phase::Decode));
        assert_eq!(ledger.own(A, at(60_000)), load(2, 0, 0));
    }
}

#[test]
fn output_that_is_seen_all_the_same_counts_before_the_clock_does() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 10));
    ledger.reserve(at(0), RequestId(2), unseen(A, 10));
    assert!(ledger.advance(at(4), RequestId(1), Phase::Decode));
    assert_eq!(ledger.own(A, at(4)), load(2, 1, 10));
    assert!(ledger.advance(at(5), RequestId(2), Phase::Finished));
    assert_eq!(ledger.own(A, at(5)), load(1, 0, 0));
}

#[test]
fn an_end_before_the_clock_takes_away_only_what_is_left() {
    let mut ledger = ledger();
    for id in 0..3 {
        ledger.reserve(at(0), RequestId(id), unseen(A, 10));
    }
    ledger.release(at(5), RequestId(0));
    assert_eq!(ledger.own(A, at(5)), load(2, 2, 20));
    ledger.release(at(5), RequestId(2));
    assert_eq!(ledger.own(A, at(15)), load(1, 0, 0));
}

#[test]
fn a_request_that_moves_has_its_prompt_computed_at_the_end_of_the_other_line() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 10));
    ledger.reserve(at(0), RequestId(2), unseen(A, 10));
    ledger.reserve(at(0), RequestId(3), unseen(B, 10));
    ledger.relocate(at(5), RequestId(1), B);
    assert_eq!(ledger.own(A, at(5)), load(1, 1, 10));
    assert_eq!(ledger.own(B, at(5)), load(2, 2, 15));
    assert_eq!(ledger.own(B, at(10)), load(2, 1, 10));
    // To where it is already: it does not start again.
    ledger.relocate(at(15), RequestId(1), B);
    assert_eq!(ledger.own(B, at(15)), load(2, 1, 5));
    // The clock of the first endpoint was wrong about it, so it counts in full at the other one.
    ledger.relocate(at(60), RequestId(2), B);
    assert_eq!(ledger.own(B, at(60)), load(3, 1, 10));
}

#[test]
fn a_scrape_of_an_idle_engine_ends_the_prefill_of_what_was_sent_before_it_began() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 1000));
    ledger.reserve(at(0), RequestId(2), sent_to(A, 7));
    ledger.scrape_begun(A);
    ledger.reserve(at(1), RequestId(3), unseen(A, 100));
    ledger.scrape_shows_idle(at(2), A);
    ledger.scrape_done(A, 0);
    // Whose output will be seen is still waited for.
    assert_eq!(ledger.own(A, at(2)), load(3, 2, 107));
    assert_eq!(ledger.own(A, at(102)), load(3, 1, 7));
    // Nothing is on its way.
    ledger.scrape_shows_idle(at(3), A);
    assert_eq!(ledger.own(A, at(3)), load(3, 2, 106));
}

#[test]
fn a_scrape_of_an_earlier_life_ends_no_prefill() {
    let mut ledger = ledger();
    ledger.scrape_begun(A);
    ledger.reserve(at(0), RequestId(1), unseen(A_AGAIN, 10));
    ledger.scrape_shows_idle(at(1), A);
    assert_eq!(ledger.own(A_AGAIN, at(1)), load(1, 1, 9));
    assert_eq!(ledger.own(A, at(1)), load(0, 0, 0));
}

#[test]
fn the_line_of_an_earlier_life_is_gone_with_it() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 10));
    ledger.reserve(at(0), RequestId(2), unseen(A_AGAIN, 10));
    ledger.advance(at(1), RequestId(1), Phase::Decode);
    ledger.release(at(2), RequestId(1));
    assert_eq!(ledger.own(A_AGAIN, at(2)), load(1, 1, 8));
}

#[test]
fn another_rate_counts_for_every_endpoint_from_then_on() {
    let mut ledger = ledger();
    ledger.reserve(at(0), RequestId(1), unseen(A, 100));
    let rate = core::num::NonZeroU32::new(10_000).unwrap();
    ledger.set_prefill_rate(at(10), PrefillRate::new(rate));
    ledger.reserve(at(10), RequestId(2), unseen(B, 100));
    assert_eq!(ledger.own(A, at(15)), load(1, 1, 40));
    assert_eq!(ledger.own(B, at(15)), load(1, 1, 50));
}

#[test]
fn by_default_an_endpoint_computes_what_llm_d_takes_for_its_best() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), unseen(A, 15_928));
    assert_eq!(ledger.own(A, at(999)).before_first_token, 1);
    assert_eq!(ledger.own(A, at(1000)).before_first_token, 0);
}
