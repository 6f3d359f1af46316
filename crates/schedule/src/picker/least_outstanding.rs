//! `least-outstanding-picker`: fewest requests first.

use core::cmp::Reverse;

use rand::Rng;

use super::ranking::{Order, TieBreak, largest};
use crate::load_view::LoadView;
use crate::question::Question;

/// Picks the candidate with the lowest load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeastOutstanding {
    /// What counts as load.
    pub load: LoadView,
    /// What decides among equal loads.
    pub tie_break: TieBreak,
}

impl LeastOutstanding {
    /// Picks the candidates in the order of their loads.
    pub(super) fn pick(&self, question: &Question<'_>, rng: &mut impl Rng) -> Order {
        let loads = question
            .candidates
            .iter()
            .map(|candidate| Reverse(self.load.requests(candidate, question.pickers)));
        largest(loads, question.wanted, self.tie_break, rng)
    }
}
