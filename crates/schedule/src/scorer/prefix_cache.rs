//! `prefix-cache-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::{Tokens, Unit};

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers endpoints that hold more of the prompt: `(1 - w) * matched / total + w * min(1, matched
/// tokens / scale)^2` over the prompt's full blocks (llm-d's formula); 0.0 for a prompt without a
/// full block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrefixCache {
    /// Weight `w` of the absolute length of the match, against its share of the prompt.
    pub match_length_weight: Unit,
    /// Match length that counts as full.
    pub match_length_scale: Tokens,
}

impl Default for PrefixCache {
    fn default() -> Self {
        Self {
            match_length_weight: Unit::ZERO,
            match_length_scale: Tokens(8192),
        }
    }
}

impl Score for PrefixCache {
    fn score(&self, request: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        let blocks = request.prompt.blocks.len() as u64;
        let total = blocks.saturating_mul(request.prompt.block_size.tokens().0) as f64;
        let weight = self.match_length_weight.value();
        each(candidates, scores, |candidate| {
            let matched = candidate.cached_tokens.0 as f64;
            let share = Unit::ratio(matched, total).value();
            let length = Unit::ratio(matched, self.match_length_scale.0 as f64).value();
            Unit::clamped((1.0 - weight) * share + weight * length * length)
        });
    }
}
