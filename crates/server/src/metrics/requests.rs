//! Metrics of requests, counted by events.

use pointsman_domain::event::{Completed, Picked};
use pointsman_domain::observation::Usage;
use prometheus::core::Collector;
use prometheus::{Error, Histogram, HistogramVec, IntCounter, IntCounterVec};

use super::family::Families;

/// From the pick to the end.
#[derive(Debug)]
pub(super) struct RequestMetrics {
    picks: IntCounterVec,
    answered_here: IntCounterVec,
    pub(super) refusals: IntCounterVec,
    completed: IntCounterVec,
    duration: HistogramVec,
    pub(super) first_output: Histogram,
    pub(super) waited: Histogram,
}

/// Tokens, estimated and reported.
#[derive(Debug)]
pub(super) struct TokenMetrics {
    prompt: IntCounter,
    predicted_cached: IntCounter,
    usage: IntCounterVec,
}

/// What did not go as planned.
#[derive(Debug)]
pub(super) struct FaultMetrics {
    pub(super) served_elsewhere: IntCounter,
    pub(super) ejections: IntCounterVec,
    pub(super) dropped: IntCounterVec,
    pub(super) discovery_errors: IntCounter,
    pub(super) panics: IntCounterVec,
}

impl RequestMetrics {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            picks: families.counters(
                "pointsman_picks_total",
                "Picks by endpoint.",
                &["endpoint"],
            )?,
            answered_here: families.counters(
                "pointsman_answered_here_total",
                "Requests answered in place of an engine, by status: refused by the pool or before.",
                &["status"],
            )?,
            refusals: families.counters(
                "pointsman_refusals_total",
                "Requests that the pool refused, by reason.",
                &["reason"],
            )?,
            completed: families.counters(
                "pointsman_requests_completed_total",
                "Requests that ended, by how.",
                &["cause"],
            )?,
            duration: families.seconds_by(
                "pointsman_request_duration_seconds",
                "Time from the request to its end, by how it ended.",
                &["cause"],
            )?,
            first_output: families.seconds(
                "pointsman_request_first_output_seconds",
                "Time from the request to its first output; only where response bodies are seen.",
            )?,
            waited: families.seconds(
                "pointsman_request_held_seconds",
                "Time that a request was held before its decision.",
            )?,
        })
    }

    pub(super) fn picked(&self, picked: &Picked) {
        self.picks
            .with_label_values(&[&picked.address.to_string()])
            .inc();
        self.waited.observe(picked.waited.as_secs_f64());
    }

    pub(super) fn answered_here(&self, status: i32) {
        self.answered_here
            .with_label_values(&[&status.to_string()])
            .inc();
    }

    /// Forgets endpoints that have gone: addresses come and go, and each would stay for ever.
    pub(super) fn keep_picks(&self, is_present: impl Fn(&str) -> bool) {
        for family in self.picks.collect() {
            for metric in family.get_metric() {
                for label in metric.get_label() {
                    if !is_present(label.value()) {
                        // Somebody else may have removed it; gone is gone.
                        let _gone = self.picks.remove_label_values(&[label.value()]);
                    }
                }
            }
        }
    }

    pub(super) fn completed(&self, completed: &Completed) {
        let cause = completed.cause.label();
        self.completed.with_label_values(&[cause]).inc();
        self.duration
            .with_label_values(&[cause])
            .observe(completed.duration.as_secs_f64());
    }
}

impl TokenMetrics {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            prompt: families.counter(
                "pointsman_prompt_tokens_total",
                "Estimated prompt tokens of picked requests.",
            )?,
            predicted_cached: families.counter(
                "pointsman_predicted_cached_tokens_total",
                "Prompt tokens that picked endpoints were expected to have in cache.",
            )?,
            usage: families.counters(
                "pointsman_usage_tokens_total",
                "Tokens that engines reported; only where response bodies are seen.",
                &["kind"],
            )?,
        })
    }

    pub(super) fn picked(&self, picked: &Picked) {
        self.prompt.inc_by(picked.prompt_tokens.0);
        self.predicted_cached.inc_by(picked.cached_tokens.0);
    }

    pub(super) fn used(&self, usage: &Usage) {
        let cached = usage.cached.unwrap_or_default();
        for (kind, tokens) in [
            ("prompt", usage.prompt),
            ("output", usage.output),
            ("cached", cached),
            ("reasoning", usage.reasoning.unwrap_or_default()),
        ] {
            self.usage.with_label_values(&[kind]).inc_by(tokens.0);
        }
    }
}

impl FaultMetrics {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            served_elsewhere: families.counter(
                "pointsman_served_elsewhere_total",
                "Requests that another endpoint served than the first one picked.",
            )?,
            ejections: families.counters(
                "pointsman_endpoint_ejections_total",
                "Endpoints taken out of the picks and put back.",
                &["change"],
            )?,
            dropped: families.counters(
                "pointsman_late_facts_dropped_total",
                "Facts about ended requests or earlier lives of endpoints.",
                &["what"],
            )?,
            discovery_errors: families.counter(
                "pointsman_discovery_errors_total",
                "Endpoint files that could not be used; the last good set stays in force.",
            )?,
            panics: families.counters(
                "pointsman_panics_total",
                "Faults of this program that were caught, by part; each cost one request at most its pick.",
                &["part"],
            )?,
        })
    }
}
