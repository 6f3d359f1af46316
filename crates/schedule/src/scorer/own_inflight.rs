//! `own-inflight-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers endpoints with fewer requests in flight: `(h + least) / (h + requests)`, where `least` is
/// the fewest that any candidate has. So 1.0 for the least loaded candidate, and 0.5 at
/// `half_score_requests` while another one is idle.
///
/// Counts our own requests, which no report can be late about, and those of others by the last
/// report. While load is low one more request costs little, so cache affinity holds as long as the
/// holder is lightly loaded; `active-request-scorer` sends the second request away from any holder.
/// While load is high only the ratio counts, so whatever another scorer is worth, it buys a bounded
/// imbalance: at weight 4, a prefix worth 3 holds up to `4 * least + 3 * h` requests, not more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OwnInflight {
    /// `h`: requests in flight at which the score is 0.5 while another candidate is idle; above zero.
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
        let least = candidates
            .iter()
            .map(Candidate::requests)
            .min()
            .unwrap_or(0);
        let half = self.half_score_requests;
        each(candidates, scores, |candidate| {
            Unit::ratio(
                half + f64::from(least),
                half + f64::from(candidate.requests()),
            )
        });
    }
}
