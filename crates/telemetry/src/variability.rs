//! How much the times between arrivals and the times of service differ, and how near a pool is to the
//! point where queues grow steeply.
//!
//! By Kingman's formula the wait in a queue grows with `rho / (1 - rho) * (Ca2 + Cs2) / 2`, where `rho`
//! is the utilisation and the two are squared coefficients of variation.

use core::time::Duration;

use pointsman_domain::time::Timestamp;

/// Mean and squared coefficient of variation of a time, over the last thousand or so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variability {
    count: f64,
    mean: f64,
    mean_square: f64,
}

impl Variability {
    /// Takes another time.
    pub fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.count = (self.count + 1.0).min(COUNT_MAX);
        let weight = 1.0 / self.count;
        self.mean += (seconds - self.mean) * weight;
        self.mean_square += (seconds * seconds - self.mean_square) * weight;
    }

    /// The mean; 0 where nothing is known.
    pub fn mean(&self) -> Duration {
        Duration::try_from_secs_f64(self.mean).unwrap_or_default()
    }

    /// The squared coefficient of variation: 0 where all are equal, 1 where they are exponential. `None`
    /// before two times are known.
    pub fn squared(&self) -> Option<f64> {
        let square = self.mean * self.mean;
        let variance = (self.mean_square - square).max(0.0);
        (self.count >= 2.0 && square > 0.0).then(|| variance / square)
    }
}

/// The times between arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Arrivals {
    last: Option<Timestamp>,
    gaps: Variability,
}

impl Arrivals {
    /// A request came.
    pub fn arrived(&mut self, now: Timestamp) {
        if let Some(last) = self.last.replace(now) {
            self.gaps.add(now.since(last));
        }
    }

    /// The times between them.
    pub const fn gaps(&self) -> &Variability {
        &self.gaps
    }
}

/// The utilisation at which the wait in a queue is three times the time of service, for times that vary
/// so much (Pollaczek and Khinchine): beyond it every further request costs much.
pub fn knee(squared: f64) -> f64 {
    WAIT_TOLERATED / (WAIT_TOLERATED + f64::midpoint(1.0, squared))
}

/// Times that count alike; each further one replaces a share of those before.
const COUNT_MAX: f64 = 1000.0;

/// The tolerated wait, in times of service.
const WAIT_TOLERATED: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[f64]) -> Variability {
        let mut variability = Variability::default();
        for &seconds in seconds {
            variability.add(Duration::from_secs_f64(seconds));
        }
        variability
    }

    #[test]
    fn equal_times_do_not_vary_and_mean_what_they_are() {
        let equal = of(&[2.0, 2.0, 2.0]);
        assert_eq!(equal.mean(), Duration::from_secs(2));
        assert_eq!(equal.squared(), Some(0.0));
        assert_eq!(of(&[2.0]).squared(), None);
        assert_eq!(Variability::default().mean(), Duration::ZERO);
    }

    #[test]
    fn the_variation_is_that_of_the_population() {
        // Mean 3, variance 5.
        assert_eq!(of(&[0.0, 2.0, 4.0, 6.0]).squared(), Some(5.0 / 9.0));
    }

    #[test]
    fn what_is_long_ago_is_forgotten() {
        let mut variability = of(&[100.0; 1000]);
        for _ in 0..20_000 {
            variability.add(Duration::from_secs(1));
        }
        assert!((variability.mean().as_secs_f64() - 1.0).abs() < 1e-3);
        assert!(variability.squared().unwrap() < 0.1);
    }

    #[test]
    fn arrivals_vary_by_the_times_between_them() {
        let mut arrivals = Arrivals::default();
        for millis in [0, 1000, 3000, 3000] {
            arrivals.arrived(Timestamp::from_millis(millis));
        }
        // The gaps are 1, 2 and 0 seconds.
        assert_eq!(arrivals.gaps().mean(), Duration::from_secs(1));
        let squared = arrivals.gaps().squared().unwrap();
        assert!((squared - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn the_knee_is_lower_where_times_vary_more() {
        // The three cases of the founding article, for a tolerated wait of three times of service.
        for (squared, expected) in [(0.0, 0.8571), (1.0, 0.75), (4.0, 0.5455)] {
            assert!((knee(squared) - expected).abs() < 5e-5);
        }
    }
}
