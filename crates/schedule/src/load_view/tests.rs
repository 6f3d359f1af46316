use core::num::NonZeroU32;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::Tokens;
use proptest::prelude::*;

use super::*;

const VIEWS: [LoadView; 5] = [
    LoadView::Outstanding,
    LoadView::Reported,
    LoadView::ReportedAndDispatched,
    LoadView::Own,
    LoadView::Scaled,
];

/// An endpoint that reported 10 requests, 4 of them ours; since then we sent 3 and 5 of ours ended.
fn candidate() -> Candidate {
    Candidate {
        id: EndpointId {
            slot: 0,
            generation: 0,
        },
        address: "10.0.0.1:8000".parse().unwrap(),
        load: EndpointLoad::default(),
        own: OwnLoad {
            requests: 2,
            ..OwnLoad::default()
        },
        reported_requests: 10,
        foreign_requests: 6,
        own_at_report: 4,
        dispatched_since_report: 3,
        cached_tokens: Tokens::ZERO,
    }
}

fn pickers(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap()
}

#[test]
fn each_view_is_its_formula() {
    let of = |view: LoadView, count| view.requests(&candidate(), pickers(count));
    assert_eq!(of(LoadView::Outstanding, 1), 2 + 6);
    assert_eq!(of(LoadView::Reported, 1), 10);
    assert_eq!(of(LoadView::ReportedAndDispatched, 1), 10 + 3);
    assert_eq!(of(LoadView::Own, 1), 2);
    assert_eq!(of(LoadView::Scaled, 1), 10 - 2);
    assert_eq!(of(LoadView::Scaled, 4), 10 - 4 * 2);
    assert_eq!(of(LoadView::Scaled, 6), 0);
}

#[test]
fn only_the_reported_view_is_blind_to_a_dispatch() {
    for view in VIEWS {
        let before = candidate();
        let mut after = candidate();
        after.own.requests += 1;
        after.dispatched_since_report += 1;
        let [before, after] = [before, after].map(|state| view.requests(&state, pickers(1)));
        let seen = u32::from(view != LoadView::Reported);
        assert_eq!(after - before, seen, "{view:?}");
    }
}

proptest! {
    /// One picker that serves alone knows the load, whatever the report's age.
    #[test]
    fn a_picker_that_serves_alone_knows_the_load(at_report in 0u32..99, sent in 0u32..99, ended in 0u32..99) {
        let now = (at_report + sent).saturating_sub(ended);
        let mut state = candidate();
        state.reported_requests = at_report;
        state.own.requests = now;
        state.own_at_report = at_report;
        state.foreign_requests = 0;
        state.dispatched_since_report = sent;
        for view in [LoadView::Outstanding, LoadView::Own, LoadView::Scaled] {
            prop_assert_eq!(view.requests(&state, pickers(1)), now);
        }
        prop_assert!(LoadView::ReportedAndDispatched.requests(&state, pickers(1)) >= now);
    }

    /// Nothing that an engine reports or a picker counts overflows.
    #[test]
    fn no_state_overflows(numbers: [u32; 5], count in 1u32..) {
        let [reported, own, foreign, at_report, sent] = numbers;
        let mut state = candidate();
        state.reported_requests = reported;
        state.own.requests = own;
        state.foreign_requests = foreign;
        state.own_at_report = at_report;
        state.dispatched_since_report = sent;
        for view in VIEWS {
            let requests = view.requests(&state, pickers(count));
            if view == LoadView::Scaled {
                let change = i128::from(count) * (i128::from(own) - i128::from(at_report));
                let exact = (i128::from(reported) + change).clamp(0, i128::from(u32::MAX));
                prop_assert_eq!(i128::from(requests), exact);
            }
        }
    }
}
