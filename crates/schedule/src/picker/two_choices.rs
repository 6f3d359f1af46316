//! `two-choices-picker`: the less loaded of a few that are drawn.
//!
//! Pickers that see the same old report all choose the same endpoint by its least load. A draw keeps
//! them apart, and the second choice already takes most of the imbalance of a blind draw away.

use core::cmp::Reverse;

use rand::{Rng, RngExt};
use smallvec::SmallVec;

use super::ranking::{Order, TieBreak, largest};
use crate::load_view::LoadView;
use crate::question::Question;

/// Draws some candidates and picks the one with the lowest load. The others that were drawn come
/// next, then those that were not, each in the order of their loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoChoices {
    /// How many are drawn, at most [`CHOICES_MAX`].
    pub choices: usize,
    /// How they are drawn.
    pub draw: Draw,
    /// What counts as load.
    pub load: LoadView,
    /// What decides among equal loads.
    pub tie_break: TieBreak,
}

/// How candidates are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Draw {
    /// Each at most once: all, if no more are there than are drawn.
    #[default]
    Distinct,
    /// Each draw from all, so that one may be drawn again.
    WithReplacement,
}

impl Default for TwoChoices {
    fn default() -> Self {
        Self {
            choices: CHOICES_DEFAULT,
            draw: Draw::default(),
            load: LoadView::default(),
            tie_break: TieBreak::default(),
        }
    }
}

impl TwoChoices {
    /// Draws, and picks by load.
    pub(super) fn pick(&self, question: &Question<'_>, rng: &mut impl Rng) -> Order {
        let drawn = self.drawn(question.candidates.len(), rng);
        let ranks = question
            .candidates
            .iter()
            .enumerate()
            .map(|(index, candidate)| {
                let load = self.load.requests(candidate, question.pickers);
                (drawn.contains(&index), Reverse(load))
            });
        largest(ranks, question.wanted, self.tie_break, rng)
    }

    fn drawn(&self, count: usize, rng: &mut impl Rng) -> SmallVec<[usize; CHOICES_MAX]> {
        let choices = self.choices.min(CHOICES_MAX);
        match self.draw {
            _ if count == 0 => SmallVec::new(),
            Draw::WithReplacement => (0..choices).map(|_| rng.random_range(0..count)).collect(),
            Draw::Distinct => {
                // Floyd's rule: each set of so many comes with the same chance, and nothing is kept
                // but the set.
                let mut drawn = SmallVec::new();
                for last in count.saturating_sub(choices)..count {
                    let index = rng.random_range(0..=last);
                    drawn.push(if drawn.contains(&index) { last } else { index });
                }
                drawn
            }
        }
    }
}

/// How many are drawn where nothing else is set.
pub const CHOICES_DEFAULT: usize = 2;

/// The most that are drawn.
pub const CHOICES_MAX: usize = 16;

#[cfg(test)]
mod tests;
