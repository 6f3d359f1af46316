//! The figures of one run.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::load::{Answered, Outcome};

/// The figures of one run. Times are model milliseconds: what was measured times the time scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Summary {
    pub(super) requests: usize,
    /// How often each reason for a failure occurred.
    pub(super) failures: BTreeMap<String, usize>,
    pub(super) ttft_p50_ms: f64,
    pub(super) ttft_p95_ms: f64,
    pub(super) ttft_p99_ms: f64,
    pub(super) prompt_tokens: u64,
    pub(super) cached_tokens: u64,
    /// Answers by engine.
    pub(super) spread: BTreeMap<String, usize>,
}

impl Summary {
    /// The figures of `outcomes`; each of `engines` has a count, be it 0.
    pub(super) fn new(outcomes: &[Outcome], engines: &[String], time_scale: f64) -> Self {
        let mut summary = Self {
            requests: outcomes.len(),
            spread: engines.iter().map(|name| (name.clone(), 0)).collect(),
            ..Self::default()
        };
        let mut waits = Vec::new();
        for outcome in outcomes {
            match &outcome.answer {
                Ok(answer) => {
                    waits.push(answer.first_content_after);
                    summary.count(answer);
                }
                Err(reason) => *summary.failures.entry(reason.clone()).or_default() += 1,
            }
        }
        waits.sort_unstable();
        let model_ms = |share| percentile(&waits, share).as_secs_f64() * 1000.0 * time_scale;
        summary.ttft_p50_ms = model_ms(0.50);
        summary.ttft_p95_ms = model_ms(0.95);
        summary.ttft_p99_ms = model_ms(0.99);
        summary
    }

    fn count(&mut self, answer: &Answered) {
        self.prompt_tokens += answer.prompt_tokens;
        self.cached_tokens += answer.cached_tokens;
        *self.spread.entry(answer.engine.clone()).or_default() += 1;
    }

    pub(super) fn failed(&self) -> usize {
        self.failures.values().sum()
    }

    /// Share of the prompt tokens of all answers that came from an engine's cache.
    #[expect(
        clippy::cast_precision_loss,
        reason = "token counts stay far below 2^52"
    )]
    pub(super) fn cached_share(&self) -> f64 {
        if self.prompt_tokens == 0 {
            return 0.0;
        }
        self.cached_tokens as f64 / self.prompt_tokens as f64
    }
}

/// The smallest value that at least `share` of the sorted values do not exceed.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "the rank lies between 0 and the number of values"
)]
fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(milliseconds: u64, cached_tokens: u64, engine: &str) -> Outcome {
        Outcome {
            session: 0,
            turn: 0,
            answer: Ok(Answered::new(
                Duration::from_millis(milliseconds),
                100,
                cached_tokens,
                engine,
            )),
        }
    }

    #[test]
    fn percentiles_are_measured_values_of_that_rank() {
        let values: Vec<_> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(percentile(&values, 0.50), Duration::from_millis(50));
        assert_eq!(percentile(&values, 0.95), Duration::from_millis(95));
        assert_eq!(percentile(&values[..1], 0.99), Duration::from_millis(1));
        assert_eq!(percentile(&[], 0.99), Duration::ZERO);
    }

    #[test]
    fn failures_count_as_requests_and_not_in_the_other_figures() {
        let failed = Outcome {
            session: 1,
            turn: 0,
            answer: Err("status 503".to_owned()),
        };
        let outcomes = [
            answered(10, 80, "engine-0"),
            failed.clone(),
            answered(30, 40, "engine-1"),
            failed,
        ];
        let summary = Summary::new(&outcomes, &["engine-2".to_owned()], 4.0);
        assert_eq!((summary.requests, summary.failed()), (4, 2));
        assert_eq!(summary.failures["status 503"], 2);
        assert_eq!(format!("{:.2}", summary.cached_share()), "0.60");
        assert_eq!(format!("{:.1}", summary.ttft_p50_ms), "40.0");
        assert_eq!(format!("{:.1}", summary.ttft_p99_ms), "120.0");
        let counts: Vec<_> = summary.spread.into_values().collect();
        assert_eq!(counts, [1, 1, 0]);
    }

    #[test]
    fn a_run_without_requests_has_figures_too() {
        let summary = Summary::new(&[], &[], 4.0);
        assert_eq!(format!("{:.2}", summary.cached_share()), "0.00");
        assert_eq!(format!("{:.1}", summary.ttft_p95_ms), "0.0");
    }
}
