//! Pickers: from candidates with scores to an order of destinations. This file is the registry.

pub mod least_outstanding;
pub mod max_score;
pub mod random;
pub mod round_robin;

use rand::Rng;
use smallvec::SmallVec;

use crate::candidate::Candidate;

/// Indices of candidates, best first.
pub type Order = SmallVec<[usize; 3]>;

/// The built-in pickers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Picker {
    /// `least-outstanding-picker`
    LeastOutstanding,
    /// `max-score-picker`
    MaxScore,
    /// `random-picker`
    Random,
    /// `round-robin-picker`
    RoundRobin(round_robin::RoundRobin),
}

impl Picker {
    /// Up to `wanted` different candidates, best first. `totals` holds one weighted score each.
    pub fn pick(
        &mut self,
        candidates: &[Candidate],
        totals: &[f64],
        wanted: usize,
        rng: &mut impl Rng,
    ) -> Order {
        match self {
            Self::LeastOutstanding => least_outstanding::pick(candidates, wanted, rng),
            Self::MaxScore => max_score::pick(totals, wanted, rng),
            Self::Random => random::pick(candidates.len(), wanted, rng),
            Self::RoundRobin(state) => state.pick(candidates, wanted),
        }
    }
}

/// The `wanted` largest by `rank`, largest first; equal ones in random order.
///
/// One pass for each place: `wanted` is 3 at most in practice, so this beats sorting all.
fn largest<T: PartialOrd>(
    ranks: impl Iterator<Item = T> + Clone,
    wanted: usize,
    rng: &mut impl Rng,
) -> Order {
    use rand::RngExt;

    let mut order = Order::new();
    for _ in 0..wanted {
        let mut best: Option<(usize, T)> = None;
        let mut equals = 1_u32;
        for (index, rank) in ranks.clone().enumerate() {
            if order.contains(&index) {
                continue;
            }
            match &best {
                Some((_, top)) if rank < *top => {}
                Some((_, top)) if rank == *top => {
                    // Reservoir of one: each of the equals is kept with the same chance.
                    equals += 1;
                    if rng.random_range(0..equals) == 0 {
                        best = Some((index, rank));
                    }
                }
                _ => {
                    equals = 1;
                    best = Some((index, rank));
                }
            }
        }
        match best {
            Some((index, _)) => order.push(index),
            None => break,
        }
    }
    order
}

#[cfg(test)]
mod tests;
