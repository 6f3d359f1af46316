//! How model time follows real time.

use core::time::Duration;

use pointsman_domain::time::Timestamp;
use tokio::time::Instant;

/// Maps real time to model time, at a rate that may change on the way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    real: Instant,
    model: Timestamp,
    rate: f64,
}

impl Pace {
    /// Model time begins at `real` and runs `rate` times as fast as real time.
    pub(crate) const fn new(real: Instant, rate: f64) -> Self {
        Self {
            real,
            model: Timestamp::ZERO,
            rate,
        }
    }

    /// The model time at `real`.
    pub(crate) fn model_at(&self, real: Instant) -> Timestamp {
        let passed = real.saturating_duration_since(self.real);
        self.model.plus(scaled(passed, self.rate))
    }

    /// The real time at which model time is `model`.
    pub(crate) fn real_at(&self, model: Timestamp) -> Instant {
        let wait = scaled(model.since(self.model), 1.0 / self.rate).min(WAIT_MAX);
        self.real + wait
    }

    /// Runs at another rate from `real` on.
    pub(crate) fn change_rate(&mut self, real: Instant, rate: f64) {
        *self = Self {
            real,
            model: self.model_at(real),
            rate,
        };
    }
}

fn scaled(time: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(time.as_secs_f64() * factor).unwrap_or(Duration::MAX)
}

/// A step that would end later than this from the last change of rate ends now and then to be looked
/// at again; it keeps `Instant` from overflowing.
const WAIT_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_rate_neither_jumps_nor_goes_back() {
        let start = Instant::now();
        let mut pace = Pace::new(start, 10.0);
        let later = start + Duration::from_secs(1);
        assert_eq!(pace.model_at(later), Timestamp::from_millis(10_000));
        pace.change_rate(later, 2.0);
        assert_eq!(pace.model_at(later), Timestamp::from_millis(10_000));
        let last = later + Duration::from_secs(1);
        assert_eq!(pace.model_at(last), Timestamp::from_millis(12_000));
        assert_eq!(pace.real_at(Timestamp::from_millis(12_000)), last);
    }

    #[test]
    fn a_far_end_does_not_overflow() {
        let start = Instant::now();
        let pace = Pace::new(start, 1e-9);
        let end = pace.real_at(Timestamp::from_nanos(u64::MAX));
        assert_eq!(end, start + WAIT_MAX);
    }
}
