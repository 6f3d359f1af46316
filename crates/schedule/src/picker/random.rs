//! `random-picker`: any candidate, with the same chance.

use rand::Rng;

use super::ranking::{Order, TieBreak, largest};
use crate::question::Question;

/// Picks any candidates.
pub(super) fn pick(question: &Question<'_>, rng: &mut impl Rng) -> Order {
    let equal = core::iter::repeat_n(0_u8, question.candidates.len());
    largest(equal, question.wanted, TieBreak::Random, rng)
}
