//! `queue-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers engines with fewer waiting requests: 1.0 for the shortest queue among the candidates,
/// 0.0 for the longest, linear between; all equal gives 1.0 to all (llm-d's formula).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Queue;

impl Score for Queue {
    fn score(&self, _: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        let waiting = || candidates.iter().map(|candidate| candidate.load.waiting);
        let (Some(least), Some(most)) = (waiting().min(), waiting().max()) else {
            return;
        };
        each(candidates, scores, |candidate| {
            if most == least {
                Unit::ONE
            } else {
                let room = most.saturating_sub(candidate.load.waiting);
                Unit::ratio(f64::from(room), f64::from(most.saturating_sub(least)))
            }
        });
    }
}
