//! The outcomes of one measurement.

use core::time::Duration;
use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use serde::Serialize;

use super::exchange::{Failure, Timing};

/// Outcomes, counted.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pick: Histogram<u64>,
    whole: Histogram<u64>,
    failures: BTreeMap<String, u64>,
}

/// The shape of a distribution of times, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Percentiles {
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) p999: f64,
    pub(super) max: f64,
}

impl Tally {
    /// No outcome yet.
    pub(super) fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(1, MICROSECONDS_MAX, SIGNIFICANT_DIGITS)
            .context("cannot make a histogram")?;
        Ok(Self {
            pick: histogram.clone(),
            whole: histogram,
            failures: BTreeMap::new(),
        })
    }

    /// Counts one stream.
    pub(super) fn record(&mut self, outcome: Result<Timing, Failure>) {
        match outcome {
            Ok(timing) => {
                self.pick.saturating_record(microseconds(timing.pick));
                self.whole.saturating_record(microseconds(timing.whole));
            }
            Err(failure) => self.fail(failure.to_string()),
        }
    }

    /// Streams that succeeded.
    pub(super) fn succeeded(&self) -> u64 {
        self.pick.len()
    }

    /// Streams that succeeded or failed.
    pub(super) fn ended(&self) -> u64 {
        self.succeeded() + self.failed()
    }

    /// Streams that failed.
    fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// How often each kind of failure came.
    pub(super) const fn failures(&self) -> &BTreeMap<String, u64> {
        &self.failures
    }

    /// From when a stream was due to its destination.
    pub(super) fn pick_ms(&self) -> Percentiles {
        Percentiles::of(&self.pick)
    }

    /// From when a stream was due to its end.
    pub(super) fn whole_ms(&self) -> Percentiles {
        Percentiles::of(&self.whole)
    }

    fn fail(&mut self, kind: String) {
        let is_room = self.failures.len() < KINDS_MAX || self.failures.contains_key(&kind);
        let kind = if is_room { kind } else { OTHER.to_owned() };
        *self.failures.entry(kind).or_default() += 1;
    }
}

impl Percentiles {
    fn of(microseconds: &Histogram<u64>) -> Self {
        let value = |quantile| milliseconds(microseconds.value_at_quantile(quantile));
        Self {
            p50: value(0.5),
            p90: value(0.9),
            p99: value(0.99),
            p999: value(0.999),
            max: milliseconds(microseconds.max()),
        }
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "microseconds of a measurement stay far below 2^52"
)]
fn milliseconds(microseconds: u64) -> f64 {
    microseconds as f64 / 1000.0
}

/// Digits of a time that the histograms keep.
const SIGNIFICANT_DIGITS: u8 = 3;

/// An hour: what takes longer counts as that.
const MICROSECONDS_MAX: u64 = 3_600_000_000;

/// A status message can hold anything, so that kinds are bounded.
const KINDS_MAX: usize = 20;
const OTHER: &str = "other failures";

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(milliseconds: u64) -> Result<Timing, Failure> {
        Ok(Timing {
            pick: Duration::from_millis(milliseconds),
            whole: Duration::from_millis(2 * milliseconds),
        })
    }

    #[test]
    fn percentiles_of_a_known_set_are_its_values_to_three_digits() {
        let mut tally = Tally::new().unwrap();
        for value in 1..=1000 {
            tally.record(timing(value));
        }
        assert_eq!(tally.succeeded(), 1000);
        let close = |measured: f64, expected: f64| (measured / expected - 1.0).abs() < 1e-3;
        let pick = tally.pick_ms();
        for (measured, expected) in [
            (pick.p50, 500.0),
            (pick.p90, 900.0),
            (pick.p99, 990.0),
            (pick.p999, 999.0),
            (pick.max, 1000.0),
        ] {
            assert!(close(measured, expected), "{measured} for {expected}");
        }
        assert!(close(tally.whole_ms().p50, 1000.0));
    }

    #[test]
    fn kinds_of_failures_are_bounded_and_all_are_counted() {
        let mut tally = Tally::new().unwrap();
        for index in 0..100 {
            tally.record(Err(Failure::Grpc(format!("Unknown: {index}"))));
        }
        assert_eq!(tally.failures().len(), KINDS_MAX + 1);
        assert_eq!(tally.ended(), 100);
    }
}
