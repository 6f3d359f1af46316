//! `least-outstanding-picker`: fewest requests in flight first, equal ones in random order.

use core::cmp::Reverse;

use rand::Rng;

use super::{Order, largest};
use crate::candidate::Candidate;

/// Picks up to `wanted` candidates.
pub(super) fn pick(candidates: &[Candidate], wanted: usize, rng: &mut impl Rng) -> Order {
    largest(
        candidates
            .iter()
            .map(|candidate| Reverse(candidate.requests())),
        wanted,
        rng,
    )
}
