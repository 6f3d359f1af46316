//! `max-score-picker`: highest total first.

use rand::Rng;

use super::ranking::{Order, TieBreak, largest};
use crate::question::Question;

/// Picks the candidate with the highest total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MaxScore {
    /// What decides among equal totals.
    pub tie_break: TieBreak,
}

impl MaxScore {
    /// Picks the candidates in the order of `totals`.
    pub(super) fn pick(
        &self,
        question: &Question<'_>,
        totals: &[f64],
        rng: &mut impl Rng,
    ) -> Order {
        largest(totals.iter().copied(), question.wanted, self.tie_break, rng)
    }
}
