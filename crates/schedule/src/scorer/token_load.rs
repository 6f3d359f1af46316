//! `token-load-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::{Tokens, Unit};

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers endpoints that have fewer prompt tokens to compute before this request's first token:
/// `1 - min(tokens, threshold) / threshold`, where the tokens are those of our own requests there
/// that are in prefill, and this request's own, each without what is cached (llm-d's formula).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLoad {
    /// Tokens at which the score is 0; above zero.
    pub threshold: Tokens,
}

impl Default for TokenLoad {
    fn default() -> Self {
        Self {
            threshold: Tokens(1 << 22),
        }
    }
}

impl Score for TokenLoad {
    fn score(&self, request: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        each(candidates, scores, |candidate| {
            let own = request.prompt.tokens.minus(candidate.cached_tokens);
            let tokens = candidate.own.uncached_tokens + own;
            let share = Unit::ratio(tokens.0 as f64, self.threshold.0 as f64);
            Unit::clamped(1.0 - share.value())
        });
    }
}
