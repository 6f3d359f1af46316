//! The best of the candidates by some rank, and what decides among equal ones.

use rand::{Rng, RngExt};
use smallvec::SmallVec;

/// Indices of candidates, best first.
pub type Order = SmallVec<[usize; 3]>;

/// What decides among candidates of equal rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TieBreak {
    /// Each has the same chance.
    #[default]
    Random,
    /// The lowest slot. Pickers that start alike then choose alike, so this is for repeating
    /// published results.
    First,
}

/// The `wanted` largest of `ranks`, largest first.
///
/// One pass for each place: `wanted` is 3 at most in practice, so this beats sorting all.
pub(super) fn largest<T: PartialOrd>(
    ranks: impl Iterator<Item = T> + Clone,
    wanted: usize,
    tie_break: TieBreak,
    rng: &mut impl Rng,
) -> Order {
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
                Some((_, top)) if rank == *top => match tie_break {
                    TieBreak::First => {}
                    TieBreak::Random => {
                        // Reservoir of one: each of the equals is kept with the same chance.
                        equals += 1;
                        if rng.random_range(0..equals) == 0 {
                            best = Some((index, rank));
                        }
                    }
                },
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
