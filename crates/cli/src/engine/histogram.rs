//! A histogram as Prometheus counts it, and the bounds that vLLM gives to its own.

/// How many observations were at most so large, and their sum.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// Ascending.
    bounds: Vec<f64>,
    /// Observations by the first bound that holds them; the last place is for those beyond all.
    counts: Vec<u64>,
    sum: f64,
}

impl Histogram {
    /// Nothing observed yet. A bound belongs to its bucket.
    pub(crate) fn new(bounds: &[f64]) -> Self {
        Self {
            bounds: bounds.to_vec(),
            counts: vec![0; bounds.len() + 1],
            sum: 0.0,
        }
    }

    /// For numbers of tokens up to `tokens_max`: 1, 2, 5, 10, 20 and so on.
    pub(crate) fn of_tokens(tokens_max: u64) -> Self {
        let decades = (0..=u64::MAX.ilog10()).map(|exponent| 10_u64.pow(exponent));
        let bounds = decades.flat_map(|decade| [1, 2, 5].map(|step| decade.checked_mul(step)));
        let bounds = bounds.flatten().take_while(|&bound| bound <= tokens_max);
        Self::new(&bounds.map(|bound| bound as f64).collect::<Vec<_>>())
    }

    /// Takes note of one value.
    pub(crate) fn observe(&mut self, value: f64) {
        let place = self.bounds.partition_point(|&bound| bound < value);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
        self.sum += value;
    }

    /// Each bound with the number of observations up to it. The bound beyond all, which is infinite,
    /// is left out; its number is [`Self::count`].
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        self.bounds
            .iter()
            .zip(&self.counts)
            .scan(0, |total, (&bound, &count)| {
                *total += count;
                Some((bound, *total))
            })
    }

    /// How many observations there were.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all observations.
    pub(crate) const fn sum(&self) -> f64 {
        self.sum
    }
}

/// Bounds for the time to the first token, in seconds.
pub(crate) const FIRST_TOKEN: &[f64] = &[
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
    20.0, 40.0, 80.0, 160.0, 640.0, 2560.0,
];

/// Bounds for the time between two tokens, in seconds.
pub(crate) const BETWEEN_TOKENS: &[f64] = &[
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0,
    40.0, 80.0,
];

/// Bounds for a whole request and for its phases, in seconds.
pub(crate) const REQUEST: &[f64] = &[
    0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0,
    480.0, 960.0, 1920.0, 7680.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_bound_and_all_that_is_below() {
        let mut histogram = Histogram::new(&[1.0, 2.0]);
        for value in [0.5, 1.0, 1.5, 4.0] {
            histogram.observe(value);
        }
        let buckets: Vec<_> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(buckets, [2, 3]);
        assert_eq!(histogram.count(), 4);
        assert_eq!(histogram.sum().to_string(), "7");
    }

    #[test]
    fn bounds_for_tokens_end_at_the_most_tokens() {
        let bounds = |tokens_max| -> Vec<u64> {
            let histogram = Histogram::of_tokens(tokens_max);
            histogram.buckets().map(|(bound, _)| bound as u64).collect()
        };
        assert_eq!(bounds(100), [1, 2, 5, 10, 20, 50, 100]);
        assert_eq!(bounds(99), [1, 2, 5, 10, 20, 50]);
        assert!(bounds(0).is_empty());
        assert_eq!(bounds(u64::MAX).len(), 19 * 3 + 1);
    }
}
