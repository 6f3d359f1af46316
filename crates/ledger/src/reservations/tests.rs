use super::*;

mod clocked;
mod model;
mod reports;

const A: EndpointId = EndpointId {
    slot: 0,
    generation: 1,
};
const A_AGAIN: EndpointId = EndpointId {
    slot: 0,
    generation: 2,
};
const B: EndpointId = EndpointId {
    slot: 3,
    generation: 1,
};

fn sent_to(endpoint: EndpointId, tokens: u64) -> Reservation {
    Reservation {
        endpoint,
        uncached_tokens: Tokens(tokens),
        phase: Phase::Prefill,
        observation: ObservationMode::Full,
    }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// For tests in which no time passes.
const NOW: Timestamp = Timestamp::ZERO;

#[test]
fn a_dispatch_counts_at_once_and_until_its_end() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 100));
    let busy = OwnLoad {
        requests: 1,
        before_first_token: 1,
        uncached_tokens: Tokens(100),
    };
    assert_eq!(ledger.own(A, NOW), busy);
    assert!(ledger.release(NOW, RequestId(1)).is_some());
    assert!(ledger.release(NOW, RequestId(1)).is_none());
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
}

#[test]
fn the_first_output_takes_away_the_prefill_but_not_the_request() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 100));
    assert!(ledger.advance(NOW, RequestId(1), Phase::Decode));
    assert!(!ledger.advance(NOW, RequestId(1), Phase::Decode));
    assert_eq!(
        ledger.own(A, NOW),
        OwnLoad {
            requests: 1,
            ..OwnLoad::default()
        }
    );
    assert!(!ledger.advance(NOW, RequestId(2), Phase::Decode));
}

#[test]
fn the_end_of_the_output_takes_away_the_load_but_not_the_entry() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 100));
    ledger.reserve(NOW, RequestId(2), sent_to(A, 7));
    ledger.advance(NOW, RequestId(2), Phase::Decode);
    for id in [1, 2] {
        assert!(ledger.advance(NOW, RequestId(id), Phase::Finished));
    }
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert_eq!(ledger.len(), 2);
    assert!(ledger.release(NOW, RequestId(1)).is_some());
    assert!(ledger.release(NOW, RequestId(2)).is_some());
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert!(ledger.is_empty());
}

#[test]
fn a_request_never_goes_back() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 100));
    assert!(ledger.advance(NOW, RequestId(1), Phase::Finished));
    for phase in [Phase::Finished, Phase::Decode, Phase::Prefill] {
        assert!(!ledger.advance(NOW, RequestId(1), phase));
    }
    ledger.relocate(NOW, RequestId(1), B);
    ledger.reserve(NOW, RequestId(1), sent_to(A, 100));
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert_eq!(ledger.own(B, NOW), OwnLoad::default());
}

#[test]
fn prompts_of_any_length_leave_nothing_behind() {
    let mut ledger = Ledger::default();
    for id in 0..3 {
        ledger.reserve(NOW, RequestId(id), sent_to(A, u64::MAX - id));
    }
    assert_eq!(ledger.own(A, NOW).uncached_tokens, Tokens(u64::MAX));
    ledger.release(NOW, RequestId(0));
    ledger.release(NOW, RequestId(1));
    assert_eq!(ledger.own(A, NOW).uncached_tokens, Tokens(u64::MAX - 2));
    ledger.release(NOW, RequestId(2));
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
}

#[test]
fn a_request_served_elsewhere_takes_its_load_along() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 7));
    ledger.relocate(NOW, RequestId(1), B);
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert_eq!(ledger.own(B, NOW).uncached_tokens, Tokens(7));
}

#[test]
fn the_end_of_a_request_of_an_earlier_life_leaves_the_present_one_alone() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 7));
    ledger.reserve(NOW, RequestId(2), sent_to(A_AGAIN, 9));
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert!(ledger.release(NOW, RequestId(1)).is_some());
    assert_eq!(ledger.own(A_AGAIN, NOW).requests, 1);
    assert_eq!(ledger.own(A_AGAIN, NOW).uncached_tokens, Tokens(9));
}

#[test]
fn a_request_sent_to_an_earlier_life_is_nobodys_load_and_ends_once() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A_AGAIN, 9));
    let present = (ledger.own(A_AGAIN, NOW), ledger.report_context(A_AGAIN));
    ledger.reserve(NOW, RequestId(2), sent_to(A, 7));
    assert!(ledger.advance(NOW, RequestId(2), Phase::Decode));
    ledger.settle(A, NOW);
    ledger.scrape_begun(A);
    ledger.scrape_failed(A);
    assert_eq!(ledger.own(A, NOW), OwnLoad::default());
    assert_eq!(ledger.len(), 2);
    assert!(ledger.release(NOW, RequestId(2)).is_some());
    assert!(ledger.release(NOW, RequestId(2)).is_none());
    assert_eq!(
        (ledger.own(A_AGAIN, NOW), ledger.report_context(A_AGAIN)),
        present
    );
}

#[test]
fn a_reservation_is_told_as_it_stands_and_only_while_it_does() {
    let mut ledger = Ledger::default();
    assert_eq!(ledger.reservation(RequestId(1)), None);
    ledger.reserve(NOW, RequestId(1), sent_to(A, 7));
    assert_eq!(ledger.reservation(RequestId(1)), Some(&sent_to(A, 7)));
    ledger.advance(NOW, RequestId(1), Phase::Decode);
    ledger.relocate(NOW, RequestId(1), B);
    let moved = Reservation {
        phase: Phase::Decode,
        ..sent_to(B, 7)
    };
    assert_eq!(ledger.reservation(RequestId(1)), Some(&moved));
    assert_eq!(ledger.release(NOW, RequestId(1)), Some(moved));
    assert_eq!(ledger.reservation(RequestId(1)), None);
}

#[test]
fn what_a_report_shows_beyond_our_own_is_foreign() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 0));
    ledger.scrape_begun(A);
    ledger.reserve(NOW, RequestId(2), sent_to(A, 0));
    ledger.release(NOW, RequestId(1));
    ledger.scrape_done(A, 5);
    assert_eq!(ledger.foreign(A), 3);
    ledger.scrape_begun(A);
    ledger.scrape_done(A, 1);
    assert_eq!(ledger.foreign(A), 0);
}

#[test]
fn a_report_whose_beginning_was_not_seen_is_not_used() {
    let mut ledger = Ledger::default();
    ledger.scrape_done(A, 5);
    assert_eq!(ledger.foreign(A), 0);
}

fn context(
    requests: u32,
    foreign: u32,
    own_at_report: u32,
    dispatched_since_report: u32,
) -> ReportContext {
    ReportContext {
        requests,
        foreign,
        own_at_report,
        dispatched_since_report,
    }
}

#[test]
fn what_was_ours_when_the_scrape_began_belongs_to_the_report_that_it_brings() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 0));
    assert_eq!(ledger.report_context(A), context(0, 0, 0, 1));
    ledger.scrape_begun(A);
    ledger.reserve(NOW, RequestId(2), sent_to(A, 0));
    // Not before the scrape is done.
    assert_eq!(ledger.report_context(A), context(0, 0, 0, 2));
    ledger.scrape_done(A, 9);
    assert_eq!(ledger.report_context(A), context(9, 7, 1, 1));
    ledger.reserve(NOW, RequestId(3), sent_to(A, 0));
    ledger.release(NOW, RequestId(2));
    assert_eq!(ledger.report_context(A), context(9, 7, 1, 2));
}

#[test]
fn a_scrape_that_fails_leaves_the_report_before_it_in_force() {
    let mut ledger = Ledger::default();
    ledger.reserve(NOW, RequestId(1), sent_to(A, 0));
    ledger.scrape_begun(A);
    ledger.scrape_done(A, 4);
    ledger.scrape_begun(A);
    ledger.reserve(NOW, RequestId(2), sent_to(A, 0));
    ledger.scrape_failed(A);
    assert_eq!(ledger.report_context(A), context(4, 3, 1, 1));
    ledger.scrape_done(A, 99);
    assert_eq!(ledger.report_context(A), context(4, 3, 1, 1));
}

#[test]
fn progress_of_a_request_is_no_dispatch_and_a_move_is_one_at_the_new_place() {
    let mut ledger = Ledger::default();
    for endpoint in [A, B] {
        ledger.scrape_begun(endpoint);
        ledger.scrape_done(endpoint, 0);
    }
    ledger.reserve(NOW, RequestId(1), sent_to(A, 0));
    ledger.advance(NOW, RequestId(1), Phase::Decode);
    ledger.relocate(NOW, RequestId(1), A);
    assert_eq!(ledger.report_context(A), context(0, 0, 0, 1));
    ledger.relocate(NOW, RequestId(1), B);
    assert_eq!(ledger.report_context(A), context(0, 0, 0, 1));
    assert_eq!(ledger.report_context(B), context(0, 0, 0, 1));
}

#[test]
fn a_scrape_of_an_earlier_life_says_nothing_of_the_present_one() {
    let mut ledger = Ledger::default();
    ledger.scrape_begun(A);
    ledger.reserve(NOW, RequestId(1), sent_to(A_AGAIN, 0));
    ledger.scrape_done(A, 9);
    ledger.scrape_begun(A);
    ledger.scrape_done(A_AGAIN, 9);
    assert_eq!(ledger.report_context(A), ReportContext::default());
    assert_eq!(ledger.report_context(A_AGAIN), context(0, 0, 0, 1));
}
