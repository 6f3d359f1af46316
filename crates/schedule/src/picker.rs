//! Pickers: from candidates with scores to an order of destinations. This file is the registry.

pub mod consistent_hash;
pub mod least_outstanding;
pub mod max_score;
pub mod prefix_affinity;
pub mod random;
pub mod ranking;
pub mod round_robin;
pub mod two_choices;

use rand::Rng;

use self::ranking::Order;
use crate::question::Question;

/// The built-in pickers.
#[derive(Clone, Debug, PartialEq)]
pub enum Picker {
    /// `consistent-hash-picker`
    ConsistentHash(consistent_hash::ConsistentHash),
    /// `least-outstanding-picker`
    LeastOutstanding(least_outstanding::LeastOutstanding),
    /// `max-score-picker`
    MaxScore(max_score::MaxScore),
    /// `prefix-affinity-picker`
    PrefixAffinity(prefix_affinity::PrefixAffinity),
    /// `random-picker`
    Random,
    /// `round-robin-picker`
    RoundRobin(round_robin::RoundRobin),
    /// `two-choices-picker`
    TwoChoices(two_choices::TwoChoices),
}

impl Picker {
    /// Up to [`wanted`](Question::wanted) different candidates, best first. `totals` holds one
    /// weighted score each.
    pub fn pick(&mut self, question: &Question<'_>, totals: &[f64], rng: &mut impl Rng) -> Order {
        match self {
            Self::ConsistentHash(picker) => picker.pick(question, rng),
            Self::LeastOutstanding(picker) => picker.pick(question, rng),
            Self::MaxScore(picker) => picker.pick(question, totals, rng),
            Self::PrefixAffinity(picker) => picker.pick(question, rng),
            Self::Random => random::pick(question, rng),
            Self::RoundRobin(state) => state.pick(question),
            Self::TwoChoices(picker) => picker.pick(question, rng),
        }
    }
}

#[cfg(test)]
mod tests;
