//! `random-picker`: any candidate, with the same chance.

use rand::Rng;

use super::{Order, largest};

/// Picks up to `wanted` of `candidates` candidates.
pub(super) fn pick(candidates: usize, wanted: usize, rng: &mut impl Rng) -> Order {
    largest(core::iter::repeat_n(0_u8, candidates), wanted, rng)
}
