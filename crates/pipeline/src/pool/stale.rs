//! What stands in for a report that is missing or too old.

use core::time::Duration;

use pointsman_domain::load::EndpointLoad;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;
use pointsman_schedule::candidate::Candidate;

/// Space for the medians, used again by every decision.
#[derive(Debug, Default)]
pub(super) struct Medians {
    counts: Vec<u32>,
    shares: Vec<f64>,
}

impl Medians {
    /// Gives candidates without a fresh report the medians of those that have one, so that an unknown
    /// load is neither the best nor the worst. Where nobody has one, all count as idle alike, and own
    /// requests and prefixes decide.
    ///
    /// What stands in is a whole report of a typical endpoint. What we have there beyond the part of
    /// it that would be ours then counts as sent since, so that an endpoint which stays silent does
    /// not take a whole burst.
    pub(super) fn replace_stale_loads(&mut self, now: Timestamp, candidates: &mut [Candidate]) {
        let is_fresh = |candidate: &Candidate| !candidate.load.is_stale(now, LOAD_AGE_MAX);
        if candidates.iter().all(is_fresh) {
            return;
        }
        let fresh = || candidates.iter().filter(|candidate| is_fresh(candidate));
        let mut of_requests = |value: fn(&Candidate) -> u32| {
            self.counts.clear();
            self.counts.extend(fresh().map(value));
            median(&mut self.counts, u32::cmp)
        };
        let requests = of_requests(|candidate| candidate.reported_requests);
        let waiting = of_requests(|candidate| candidate.load.waiting).min(requests);
        // So that the two make the median of the sums, which is not the sum of the medians.
        let running = requests - waiting;
        let foreign_requests = of_requests(|candidate| candidate.foreign_requests);
        let own_at_report = of_requests(|candidate| candidate.own_at_report);
        self.shares.clear();
        self.shares
            .extend(fresh().map(|candidate| candidate.load.kv_usage.value()));
        let kv_usage = Unit::clamped(median(&mut self.shares, f64::total_cmp));
        for candidate in candidates
            .iter_mut()
            .filter(|candidate| !is_fresh(candidate))
        {
            candidate.load = EndpointLoad {
                waiting,
                running,
                kv_usage,
                ..candidate.load
            };
            candidate.reported_requests = requests;
            candidate.foreign_requests = foreign_requests;
            candidate.own_at_report = own_at_report;
            candidate.dispatched_since_report =
                candidate.own.requests.saturating_sub(own_at_report);
        }
    }
}

/// The upper median; the default value of an empty set.
fn median<T: Copy + Default>(
    values: &mut [T],
    compare: impl FnMut(&T, &T) -> core::cmp::Ordering,
) -> T {
    if values.is_empty() {
        return T::default();
    }
    *values.select_nth_unstable_by(values.len() / 2, compare).1
}

/// A report older than this says nothing about now.
const LOAD_AGE_MAX: Duration = Duration::from_secs(2);
