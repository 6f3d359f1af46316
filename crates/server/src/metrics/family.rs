//! Registers metrics; a name used twice is an error at the start.

use prometheus::core::Collector;
use prometheus::{
    Error, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    Opts, Registry,
};

/// Makes metrics of one registry.
pub(super) struct Families<'a>(pub(super) &'a Registry);

impl Families<'_> {
    pub(super) fn counter(&self, name: &str, help: &str) -> Result<IntCounter, Error> {
        self.registered(IntCounter::new(name, help)?)
    }

    pub(super) fn counters(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<IntCounterVec, Error> {
        self.registered(IntCounterVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn gauge(&self, name: &str, help: &str) -> Result<IntGauge, Error> {
        self.registered(IntGauge::new(name, help)?)
    }

    pub(super) fn gauges(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<GaugeVec, Error> {
        self.registered(GaugeVec::new(Opts::new(name, help), labels)?)
    }

    pub(super) fn seconds(&self, name: &str, help: &str) -> Result<Histogram, Error> {
        self.registered(Histogram::with_opts(seconds_options(name, help))?)
    }

    pub(super) fn seconds_by(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
    ) -> Result<HistogramVec, Error> {
        self.registered(HistogramVec::new(seconds_options(name, help), labels)?)
    }

    fn registered<C: Collector + Clone + 'static>(&self, collector: C) -> Result<C, Error> {
        self.0.register(Box::new(collector.clone()))?;
        Ok(collector)
    }
}

fn seconds_options(name: &str, help: &str) -> HistogramOpts {
    HistogramOpts::new(name, help).buckets(SECONDS_BUCKETS.to_vec())
}

/// Bounds of all durations: from a decision at once to a response of many minutes.
const SECONDS_BUCKETS: [f64; 16] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0,
];
