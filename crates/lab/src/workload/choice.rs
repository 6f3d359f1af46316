//! Weighted choice.

use rand::{Rng, RngExt as _};

use super::number::{Count, Unevenness};

/// Some things of which one is drawn, each with its own chance.
#[derive(Clone, Debug)]
pub(crate) struct Choice<T> {
    first: T,
    others: Vec<Other<T>>,
}

#[derive(Clone, Debug)]
struct Other<T> {
    /// The chance that one before it is drawn.
    before: f64,
    item: T,
}

impl<T> Choice<T> {
    /// `count` things, whose chances fall by Zipf's law: that of the n-th is 1/n to the power of
    /// `zipf`. `item` makes the thing with an index.
    pub(crate) fn zipf(count: Count, zipf: Unevenness, mut item: impl FnMut(u32) -> T) -> Self {
        let weight = |index: u32| f64::from(index + 1).powf(-zipf.value());
        let first = (weight(0), item(0));
        let others = (1..count.get()).map(|index| (weight(index), item(index)));
        Self::weighted(first, others.collect())
    }

    /// Things with their weights, which are above 0. A thing's chance is its share of all weights.
    pub(crate) fn weighted(first: (f64, T), others: Vec<(f64, T)>) -> Self {
        let (first_weight, first) = first;
        let total = first_weight + others.iter().map(|(weight, _)| weight).sum::<f64>();
        let mut sum = first_weight;
        let others = others
            .into_iter()
            .map(|(weight, item)| {
                let before = sum / total;
                sum += weight;
                Other { before, item }
            })
            .collect();
        Self { first, others }
    }

    pub(crate) fn draw(&self, rng: &mut impl Rng) -> &T {
        let draw: f64 = rng.random();
        let passed = self.others.partition_point(|other| other.before <= draw);
        let last = passed.checked_sub(1).and_then(|last| self.others.get(last));
        last.map_or(&self.first, |other| &other.item)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;
    use serde_json::json;

    use super::*;

    /// The share of many draws that each of `count` numbers has.
    fn shares(choice: &Choice<u32>, count: usize) -> Vec<f64> {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let mut times = vec![0_u32; count];
        for _ in 0..DRAWS {
            times[*choice.draw(&mut rng) as usize] += 1;
        }
        times
            .into_iter()
            .map(|times| f64::from(times) / f64::from(DRAWS))
            .collect()
    }

    #[test]
    fn popularity_falls_by_zipfs_law() {
        for exponent in [0.0, 0.8, 1.0, 2.5] {
            let zipf = serde_json::from_value(json!(exponent)).unwrap();
            let choice = Choice::zipf(Count::try_from(6).unwrap(), zipf, |index| index);
            let weights: Vec<f64> = (1..=6).map(|n| f64::from(n).powf(-exponent)).collect();
            let total: f64 = weights.iter().sum();
            for (share, weight) in shares(&choice, 6).into_iter().zip(weights) {
                assert!(
                    (share - weight / total).abs() < 0.005,
                    "{exponent}: {share}"
                );
            }
        }
    }

    #[test]
    fn chances_are_shares_of_all_weights() {
        let choice = Choice::weighted((4.0, 0), vec![(1.0, 1), (5.0, 2)]);
        let shares = shares(&choice, 3);
        for (share, expected) in shares.into_iter().zip([0.4, 0.1, 0.5]) {
            assert!((share - expected).abs() < 0.005, "{share}");
        }
    }

    #[test]
    fn the_only_thing_is_always_drawn() {
        let mut rng = Pcg64Mcg::seed_from_u64(2);
        let choice = Choice::zipf(Count::ONE, Unevenness::default(), |index| index);
        assert!((0..100).all(|_| *choice.draw(&mut rng) == 0));
    }

    const DRAWS: u32 = 200_000;
}
