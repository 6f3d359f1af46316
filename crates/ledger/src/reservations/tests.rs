use proptest::prelude::*;

use super::*;

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
    }
}

#[test]
fn a_dispatch_counts_at_once_and_until_its_end() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 100));
    let busy = OwnLoad {
        requests: 1,
        before_first_token: 1,
        uncached_tokens: Tokens(100),
    };
    assert_eq!(ledger.own(A), busy);
    assert!(ledger.release(RequestId(1)).is_some());
    assert!(ledger.release(RequestId(1)).is_none());
    assert_eq!(ledger.own(A), OwnLoad::default());
}

#[test]
fn the_first_output_takes_away_the_prefill_but_not_the_request() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 100));
    assert!(ledger.advance(RequestId(1), Phase::Decode));
    assert!(!ledger.advance(RequestId(1), Phase::Decode));
    assert_eq!(
        ledger.own(A),
        OwnLoad {
            requests: 1,
            ..OwnLoad::default()
        }
    );
    assert!(!ledger.advance(RequestId(2), Phase::Decode));
}

#[test]
fn a_request_served_elsewhere_takes_its_load_along() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 7));
    ledger.relocate(RequestId(1), B);
    assert_eq!(ledger.own(A), OwnLoad::default());
    assert_eq!(ledger.own(B).uncached_tokens, Tokens(7));
}

#[test]
fn the_end_of_a_request_of_an_earlier_life_leaves_the_present_one_alone() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 7));
    ledger.reserve(RequestId(2), sent_to(A_AGAIN, 9));
    assert_eq!(ledger.own(A), OwnLoad::default());
    assert!(ledger.release(RequestId(1)).is_some());
    assert_eq!(ledger.own(A_AGAIN).requests, 1);
    assert_eq!(ledger.own(A_AGAIN).uncached_tokens, Tokens(9));
}

#[test]
fn what_a_report_shows_beyond_our_own_is_foreign() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 0));
    ledger.scrape_begun(A);
    ledger.reserve(RequestId(2), sent_to(A, 0));
    ledger.release(RequestId(1));
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

fn context(foreign: u32, own_at_report: u32, dispatched_since_report: u32) -> ReportContext {
    ReportContext {
        foreign,
        own_at_report,
        dispatched_since_report,
    }
}

#[test]
fn what_was_ours_when_the_scrape_began_belongs_to_the_report_that_it_brings() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 0));
    assert_eq!(ledger.report_context(A), context(0, 0, 1));
    ledger.scrape_begun(A);
    ledger.reserve(RequestId(2), sent_to(A, 0));
    // Not before the scrape is done.
    assert_eq!(ledger.report_context(A), context(0, 0, 2));
    ledger.scrape_done(A, 9);
    assert_eq!(ledger.report_context(A), context(7, 1, 1));
    ledger.reserve(RequestId(3), sent_to(A, 0));
    ledger.release(RequestId(2));
    assert_eq!(ledger.report_context(A), context(7, 1, 2));
}

#[test]
fn a_scrape_that_fails_leaves_the_report_before_it_in_force() {
    let mut ledger = Ledger::default();
    ledger.reserve(RequestId(1), sent_to(A, 0));
    ledger.scrape_begun(A);
    ledger.scrape_done(A, 4);
    ledger.scrape_begun(A);
    ledger.reserve(RequestId(2), sent_to(A, 0));
    ledger.scrape_failed(A);
    assert_eq!(ledger.report_context(A), context(3, 1, 1));
    ledger.scrape_done(A, 99);
    assert_eq!(ledger.report_context(A), context(3, 1, 1));
}

#[test]
fn progress_of_a_request_is_no_dispatch_and_a_move_is_one_at_the_new_place() {
    let mut ledger = Ledger::default();
    for endpoint in [A, B] {
        ledger.scrape_begun(endpoint);
        ledger.scrape_done(endpoint, 0);
    }
    ledger.reserve(RequestId(1), sent_to(A, 0));
    ledger.advance(RequestId(1), Phase::Decode);
    ledger.relocate(RequestId(1), A);
    assert_eq!(ledger.report_context(A), context(0, 0, 1));
    ledger.relocate(RequestId(1), B);
    assert_eq!(ledger.report_context(A), context(0, 0, 1));
    assert_eq!(ledger.report_context(B), context(0, 0, 1));
}

#[test]
fn a_scrape_of_an_earlier_life_says_nothing_of_the_present_one() {
    let mut ledger = Ledger::default();
    ledger.scrape_begun(A);
    ledger.reserve(RequestId(1), sent_to(A_AGAIN, 0));
    ledger.scrape_done(A, 9);
    ledger.scrape_begun(A);
    ledger.scrape_done(A_AGAIN, 9);
    assert_eq!(ledger.report_context(A), ReportContext::default());
    assert_eq!(ledger.report_context(A_AGAIN), context(0, 0, 1));
}

#[derive(Clone, Debug)]
enum Step {
    Reserve(u64, u32, u32, u64),
    Advance(u64),
    Relocate(u64, u32, u32),
    Release(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (id, slot, generation) = (0u64..12, 0u32..3, 0u32..3);
    prop_oneof![
        (id.clone(), slot.clone(), generation.clone(), 0u64..99)
            .prop_map(|(id, slot, generation, n)| Step::Reserve(id, slot, generation, n)),
        id.clone().prop_map(Step::Advance),
        (id.clone(), slot, generation)
            .prop_map(|(id, slot, generation)| Step::Relocate(id, slot, generation)),
        id.prop_map(Step::Release),
    ]
}

proptest! {
    /// Within one life of a slot the own load is always the sum of its reservations.
    #[test]
    fn own_load_is_the_sum_of_the_reservations(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let mut ledger = Ledger::default();
        let mut newest = [0_u32; 3];
        for step in steps {
            match step {
                Step::Reserve(id, slot, generation, tokens) => {
                    let generation = generation.max(newest[slot as usize]);
                    newest[slot as usize] = generation;
                    let endpoint = EndpointId { slot, generation };
                    ledger.reserve(RequestId(id), sent_to(endpoint, tokens));
                }
                Step::Advance(id) => {
                    ledger.advance(RequestId(id), Phase::Decode);
                }
                Step::Relocate(id, slot, generation) => {
                    let generation = generation.max(newest[slot as usize]);
                    if ledger.reservation(RequestId(id)).is_some() {
                        newest[slot as usize] = generation;
                    }
                    ledger.relocate(RequestId(id), EndpointId { slot, generation });
                }
                Step::Release(id) => {
                    ledger.release(RequestId(id));
                }
            }
            for (slot, &generation) in newest.iter().enumerate() {
                let endpoint = EndpointId { slot: slot as u32, generation };
                let mut sum = OwnLoad::default();
                for reservation in ledger.reservations.values() {
                    if reservation.endpoint == endpoint {
                        sum.requests += 1;
                        if reservation.phase == Phase::Prefill {
                            sum.before_first_token += 1;
                            sum.uncached_tokens += reservation.uncached_tokens;
                        }
                    }
                }
                prop_assert_eq!(ledger.own(endpoint), sum);
            }
        }
    }
}
