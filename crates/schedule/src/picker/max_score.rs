//! `max-score-picker`: highest total first, equal totals in random order.

use rand::Rng;

use super::{Order, largest};

/// Picks up to `wanted` of the candidates that `totals` belong to.
pub(super) fn pick(totals: &[f64], wanted: usize, rng: &mut impl Rng) -> Order {
    largest(totals.iter().copied(), wanted, rng)
}
