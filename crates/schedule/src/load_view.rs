//! Load views: how many requests an endpoint is taken to have.
//!
//! What a view reads of a [`Candidate`]:
//!
//! | sign | meaning | when |
//! |---|---|---|
//! | `own` | our own requests in flight there | now, exact |
//! | `report` | requests waiting or running there, of all pickers | when the engine was last read |
//! | `own'` | our own requests in flight there | when that read began |
//! | `foreign` | what of the report was not ours, 0 or more | when the engine was last read |
//! | `sent` | requests that we sent there, ended ones included | since that read began |
//! | `N` | pickers that serve the pool, this one included | now |
//!
//! An endpoint without a fresh report counts as a typical one. The pool gives it the medians of
//! `report`, `foreign` and `own'` over the endpoints that have a fresh report, keeps `own`, and takes
//! `max(0, own - own')` for `sent`. So `outstanding`, `own` and `scaled` stay exact in our own
//! requests there; `reportedAndDispatched` takes it to have at least as many of ours as a typical one,
//! and one more for each that we send beyond those; `reported` takes it as typical whatever we send.
//! Where no endpoint has a fresh report, all views but `reported` follow `own`.

use core::num::NonZeroU32;

use crate::candidate::Candidate;

/// A load view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadView {
    /// `own + foreign`. Follows our own requests exactly and those of others by the last report.
    #[default]
    Outstanding,
    /// `report`, and nothing that happened since. All pickers send to the same endpoint until the
    /// next report: this view is for comparison only.
    Reported,
    /// `report + sent`. Follows our own dispatches, and no request's end before the next report.
    ReportedAndDispatched,
    /// `own`. Needs no report, and does not see other pickers.
    Own,
    /// `max(0, report + N * (own - own'))`. What we did since the report, as often as there are
    /// pickers, which all get a like share of the requests.
    Scaled,
}

impl LoadView {
    /// Requests that `candidate` is taken to have, in a pool that so many pickers serve.
    pub fn requests(self, candidate: &Candidate, pickers: NonZeroU32) -> u32 {
        let own = candidate.own.requests;
        let reported = candidate.reported_requests;
        match self {
            Self::Outstanding => candidate.requests(),
            Self::Reported => reported,
            Self::ReportedAndDispatched => {
                reported.saturating_add(candidate.dispatched_since_report)
            }
            Self::Own => own,
            Self::Scaled => {
                let change = i64::from(own) - i64::from(candidate.own_at_report);
                let change = change.saturating_mul(i64::from(pickers.get()));
                let requests = i64::from(reported).saturating_add(change).max(0);
                u32::try_from(requests).unwrap_or(u32::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests;
