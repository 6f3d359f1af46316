//! The mean of a few numbers, and how well they tell it.

use serde::Serialize;

/// A mean and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// The arithmetic mean.
    pub(super) mean: f64,
    /// The mean of many more such numbers lies within this of it, in 95 of 100 cases. `None` of a
    /// single number.
    pub(super) margin: Option<f64>,
}

impl Estimate {
    /// Of independent numbers; `None` of none, or if one is not finite.
    pub(super) fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = values.len() - 1;
        let margin = (freedom > 0)
            .then(|| student_quantile(freedom) * (squares / (freedom as f64 * count)).sqrt());
        Some(Self { mean, margin })
    }

    /// Of the differences between numbers that belong together pair by pair.
    pub(super) fn of_differences(values: &[f64], others: &[f64]) -> Option<Self> {
        let pairs = values.iter().zip(others);
        let differences: Vec<f64> = pairs.map(|(value, other)| value - other).collect();
        Self::of(&differences)
    }
}

/// The 97.5 % quantile of Student's t distribution with this many degrees of freedom.
fn student_quantile(freedom: usize) -> f64 {
    if let Some(&quantile) = freedom.checked_sub(1).and_then(|index| FEW.get(index)) {
        return quantile;
    }
    // The expansion around the normal distribution. From eleven degrees on it has four exact digits
    // behind the point.
    let z = NORMAL_QUANTILE;
    let n = freedom as f64;
    let odd = |coefficients: &[f64]| {
        let square = z * z;
        coefficients.iter().fold(0.0, |sum, c| sum * square + c) * z
    };
    z + odd(&[1.0, 1.0]) / (4.0 * n)
        + odd(&[5.0, 16.0, 3.0]) / (96.0 * n.powi(2))
        + odd(&[3.0, 19.0, 17.0, -15.0]) / (384.0 * n.powi(3))
        + odd(&[79.0, 776.0, 1482.0, -1920.0, -945.0]) / (92_160.0 * n.powi(4))
}

const NORMAL_QUANTILE: f64 = 1.959_964;

/// For 1 to 10 degrees of freedom.
const FEW: [f64; 10] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [
            (1, 12.7062),
            (10, 2.2281),
            (11, 2.2010),
            (15, 2.1314),
            (30, 2.0423),
            (49, 2.0096),
            (120, 1.9799),
            (1_000_000, 1.9600),
        ] {
            let quantile = student_quantile(freedom);
            assert!((quantile - expected).abs() < 1e-4, "{freedom}: {quantile}");
        }
    }

    #[test]
    fn the_interval_of_a_known_sample_is_that_of_the_textbook() {
        // Standard deviation 2.1381, of eight values: 2.3646 * 2.1381 / sqrt(8).
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((estimate.mean - 5.0).abs() < 1e-12);
        assert!((estimate.margin.unwrap() - 1.7875).abs() < 1e-4);
    }

    #[test]
    fn a_difference_that_is_always_the_same_is_known_exactly() {
        let estimate = Estimate::of_differences(&[1.0, 20.0, 300.0], &[3.0, 22.0, 302.0]).unwrap();
        assert!((estimate.mean + 2.0).abs() < 1e-12);
        assert!(estimate.margin.unwrap() < 1e-12);
    }

    #[test]
    fn one_number_has_no_interval_and_none_has_no_mean() {
        let one = Estimate::of(&[7.5]).unwrap();
        assert_eq!(one.margin, None);
        assert!((one.mean - 7.5).abs() < 1e-12);
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[1.0, f64::NAN]), None);
    }
}
