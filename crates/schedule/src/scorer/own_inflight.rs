//! `own-inflight-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers endpoints with fewer requests in flight, on a scale that does not depend on the others:
/// `h / (h + requests)`, so 1.0 when idle and 0.5 at `half_score_requests`.
///
/// Counts our own requests, which no report can be late about, and those of others by the last
/// report. The curve is steep where one more request matters and flat where an endpoint is busy
/// anyway, so cache affinity holds while the holder is lightly loaded and gives way when it is not;
/// `active-request-scorer`, being relative, sends the second request away from any holder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnInflight {
    /// Requests in flight at which the score is 0.5; above zero.
    pub half_score_requests: f64,
}

impl Default for OwnInflight {
    fn default() -> Self {
        Self {
            half_score_requests: 4.0,
        }
    }
}

impl Score for OwnInflight {
    fn score(&self, _: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        let half = self.half_score_requests;
        each(candidates, scores, |candidate| {
            Unit::ratio(half, half + f64::from(candidate.requests()))
        });
    }
}
