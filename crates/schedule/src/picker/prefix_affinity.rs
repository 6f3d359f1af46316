//! `prefix-affinity-picker`: who holds the prompt's prefix, unless that one is much busier.

use core::cmp::Reverse;

use rand::Rng;

use super::ranking::{Order, TieBreak, largest};
use crate::load_view::LoadView;
use crate::question::Question;

/// Of the candidates whose load is at most `load_gap_max` above the least one, picks the one that
/// holds the largest part of the prompt, of equal ones the less loaded. If none of those holds any of
/// it, picks the least loaded.
///
/// Then come the others of those in the same order, and the rest in the order of their loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixAffinity {
    /// What counts as load.
    pub load: LoadView,
    /// How many requests more than the least loaded a holder may have.
    pub load_gap_max: u32,
    /// What decides among equal candidates.
    pub tie_break: TieBreak,
}

impl Default for PrefixAffinity {
    fn default() -> Self {
        Self {
            load: LoadView::default(),
            load_gap_max: LOAD_GAP_MAX_DEFAULT,
            tie_break: TieBreak::default(),
        }
    }
}

impl PrefixAffinity {
    /// Picks by prefix and load.
    pub(super) fn pick(&self, question: &Question<'_>, rng: &mut impl Rng) -> Order {
        let loads = question
            .candidates
            .iter()
            .map(|candidate| self.load.requests(candidate, question.pickers));
        let least = loads.clone().min().unwrap_or(0);
        let ranks = question
            .candidates
            .iter()
            .zip(loads)
            .map(|(candidate, load)| {
                let is_near = load.saturating_sub(least) <= self.load_gap_max;
                // All candidates are asked for the same prompt, so its part is worth what is cached.
                let cached = if is_near {
                    candidate.cached_tokens.0
                } else {
                    0
                };
                (cached, Reverse(load))
            });
        largest(ranks, question.wanted, self.tie_break, rng)
    }
}

/// Requests more than the least loaded that a holder may have, where nothing else is set.
pub const LOAD_GAP_MAX_DEFAULT: u32 = 4;

#[cfg(test)]
mod tests;
