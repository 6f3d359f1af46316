//! The figures of a measurement, and the medians of several.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::Serialize;

use super::process::{CPU_MIN, Usage};
use super::tally::{Percentiles, Tally};

/// What was seen of one picker in one cell and round.
#[derive(Clone, Debug)]
pub(super) struct Measurement {
    pub(super) tally: Tally,
    /// From the first stream's start to the last one's end.
    pub(super) elapsed: Duration,
    /// What the picker's process had used before, where that is known.
    pub(super) before: Option<Usage>,
    /// The same after.
    pub(super) after: Option<Usage>,
    /// CPU time that this process used meanwhile, for the load and for the pods' pages.
    pub(super) client_cpu: Option<Duration>,
    /// The machine's load average at the end.
    pub(super) load_average: Option<f64>,
}

/// The figures of one measurement, or their medians.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Figures {
    pub(super) picks_per_s: f64,
    pub(super) pick_ms: Percentiles,
    pub(super) stream_ms: Percentiles,
    /// `None` where it is not known, or so little that it cannot be told apart.
    pub(super) cpu_s_per_10k: Option<f64>,
    pub(super) client_cpu_s_per_10k: Option<f64>,
    pub(super) peak_mb: Option<f64>,
    pub(super) load_average: Option<f64>,
}

/// One picker as a multiple of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Ratios {
    pub(super) picks_per_s: Option<f64>,
    pub(super) pick_p50: Option<f64>,
    pub(super) cpu: Option<f64>,
}

impl Measurement {
    /// Streams, and how often each kind of failure came among them.
    pub(super) fn counts(&self) -> (u64, &BTreeMap<String, u64>) {
        (self.tally.ended(), self.tally.failures())
    }

    /// CPU time that the picker's process used meanwhile, where it is known.
    fn cpu(&self) -> Option<Duration> {
        let (before, after) = self.before.zip(self.after)?;
        Some(after.cpu.saturating_sub(before.cpu))
    }

    /// Whether the process cannot be the one that answered, as so many answers take CPU time.
    pub(super) fn is_of_another_process(&self) -> bool {
        self.cpu().is_some_and(|cpu| cpu.is_zero())
            && self.tally.succeeded() >= ANSWERS_WITHOUT_CPU_MAX
    }

    /// The figures, of which those per request count the streams that succeeded.
    pub(super) fn figures(&self) -> Figures {
        let succeeded = self.tally.succeeded() as f64;
        let per_10k = |cpu: Duration| {
            (cpu >= CPU_MIN)
                .then(|| quotient(cpu.as_secs_f64() * 10_000.0, succeeded))
                .flatten()
        };
        Figures {
            picks_per_s: quotient(succeeded, self.elapsed.as_secs_f64()).unwrap_or(0.0),
            pick_ms: self.tally.pick_ms(),
            stream_ms: self.tally.whole_ms(),
            cpu_s_per_10k: self.cpu().and_then(per_10k),
            client_cpu_s_per_10k: self.client_cpu.and_then(per_10k),
            peak_mb: self
                .after
                .map(|usage| rounded(usage.peak_bytes as f64 / 1e6)),
            load_average: self.load_average,
        }
    }
}

impl Figures {
    /// The median of each figure; those that were not seen in every round are left out.
    pub(super) fn medians(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        let known = |figure: fn(&Self) -> Option<f64>| {
            let values: Option<Vec<f64>> = rounds.iter().map(figure).collect();
            values.filter(|values| !values.is_empty()).map(median)
        };
        Self {
            picks_per_s: of(|round| round.picks_per_s),
            pick_ms: Percentiles {
                p50: of(|round| round.pick_ms.p50),
                p90: of(|round| round.pick_ms.p90),
                p99: of(|round| round.pick_ms.p99),
                p999: of(|round| round.pick_ms.p999),
                max: of(|round| round.pick_ms.max),
            },
            stream_ms: Percentiles {
                p50: of(|round| round.stream_ms.p50),
                p90: of(|round| round.stream_ms.p90),
                p99: of(|round| round.stream_ms.p99),
                p999: of(|round| round.stream_ms.p999),
                max: of(|round| round.stream_ms.max),
            },
            cpu_s_per_10k: known(|round| round.cpu_s_per_10k),
            client_cpu_s_per_10k: known(|round| round.client_cpu_s_per_10k),
            peak_mb: known(|round| round.peak_mb),
            load_average: known(|round| round.load_average),
        }
    }

    /// These as multiples of `base`.
    pub(super) fn ratios(&self, base: &Self) -> Ratios {
        let cpu = self.cpu_s_per_10k.zip(base.cpu_s_per_10k);
        Ratios {
            picks_per_s: quotient(self.picks_per_s, base.picks_per_s),
            pick_p50: quotient(self.pick_ms.p50, base.pick_ms.p50),
            cpu: cpu.and_then(|(own, base)| quotient(own, base)),
        }
    }
}

/// The value in the middle, or the mean of the two in the middle. 0 of none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(low), values.get(high)) {
        (Some(low), Some(high)) => rounded(f64::midpoint(*low, *high)),
        _ => 0.0,
    }
}

fn quotient(dividend: f64, divisor: f64) -> Option<f64> {
    (divisor > 0.0).then(|| rounded(dividend / divisor))
}

/// To the thousandth, which is finer than anything here can be measured.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// At a hundred thousand answers a second on one core, these take a tick.
const ANSWERS_WITHOUT_CPU_MAX: u64 = 1_000;

#[cfg(test)]
mod tests;
