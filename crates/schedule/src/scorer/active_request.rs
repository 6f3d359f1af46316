//! `active-request-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers endpoints with fewer of our own requests in flight, relative to the busiest candidate:
/// 1.0 up to `idle_threshold`, else `(most - own) / most * busy_score_max` (llm-d's formula).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActiveRequest {
    /// Requests up to which an endpoint counts as idle.
    pub idle_threshold: u32,
    /// The best score of an endpoint that is not idle.
    pub busy_score_max: Unit,
}

impl Default for ActiveRequest {
    fn default() -> Self {
        Self {
            idle_threshold: 0,
            busy_score_max: Unit::ONE,
        }
    }
}

impl Score for ActiveRequest {
    fn score(&self, _: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        let most = candidates
            .iter()
            .map(|candidate| candidate.own.requests)
            .max()
            .unwrap_or(0);
        each(candidates, scores, |candidate| {
            let own = candidate.own.requests;
            if own <= self.idle_threshold {
                return Unit::ONE;
            }
            let room = Unit::ratio(f64::from(most.saturating_sub(own)), f64::from(most));
            Unit::clamped(room.value() * self.busy_score_max.value())
        });
    }
}
