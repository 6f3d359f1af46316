//! Prometheus metrics, made of events, and of the pool's state when they are read.

mod family;
mod gauges;
pub(crate) mod recording;
mod requests;

use std::collections::BTreeSet;

use parking_lot::Mutex;
use pointsman_domain::event::Event;
use pointsman_pipeline::pool::{EndpointState, Sizes};
use prometheus::{Encoder, Error, Registry, TextEncoder};

use crate::pool::Panicked;
use family::Families;
use gauges::{LoadGauges, SizeGauges};
use recording::RecordingGauges;
use requests::{FaultMetrics, RequestMetrics, TokenMetrics};

/// The process's metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: RequestMetrics,
    tokens: TokenMetrics,
    faults: FaultMetrics,
    sizes: SizeGauges,
    loads: LoadGauges,
    /// Of the recording, if there is one.
    pub(crate) recording: RecordingGauges,
    /// Gauges are set and read by one reader at a time.
    reading: Mutex<()>,
}

impl Metrics {
    /// All metrics at zero, registered.
    pub(crate) fn new() -> Result<Self, Error> {
        let registry = Registry::new();
        let families = Families(&registry);
        Ok(Self {
            requests: RequestMetrics::new(&families)?,
            tokens: TokenMetrics::new(&families)?,
            faults: FaultMetrics::new(&families)?,
            sizes: SizeGauges::new(&families)?,
            loads: LoadGauges::new(&families)?,
            recording: RecordingGauges::new(&families)?,
            reading: Mutex::new(()),
            registry,
        })
    }

    /// Counts one event.
    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::Held { .. } | Event::EndpointsChanged { .. } => {}
            Event::Picked(picked) => {
                self.requests.picked(picked);
                self.tokens.picked(picked);
            }
            Event::Refused {
                refusal, waited, ..
            } => {
                self.requests
                    .refusals
                    .with_label_values(&[refusal.reason()])
                    .inc();
                self.requests.waited.observe(waited.as_secs_f64());
            }
            Event::FirstOutput { after, .. } => {
                self.requests.first_output.observe(after.as_secs_f64());
            }
            Event::ServedElsewhere { .. } => self.faults.served_elsewhere.inc(),
            Event::Completed(completed) => {
                self.requests.completed(completed);
                if let Some(usage) = &completed.usage {
                    self.tokens.used(usage);
                }
            }
            Event::Ejected { out, .. } => {
                let change = if *out { "out" } else { "back" };
                self.faults.ejections.with_label_values(&[change]).inc();
            }
            Event::Dropped { what } => {
                self.faults.dropped.with_label_values(&[what.label()]).inc();
            }
        }
    }

    /// Counts a request that was answered in place of an engine.
    pub(crate) fn answered_here(&self, status: i32) {
        self.requests.answered_here(status);
    }

    /// Counts a panic that was caught.
    pub(crate) fn panicked(&self, what: Panicked) {
        let part = match what {
            Panicked::Stream => "stream",
            Panicked::Pool => "pool",
        };
        self.faults.panics.with_label_values(&[part]).inc();
    }

    /// Counts an endpoint file that could not be used.
    pub(crate) fn discovery_failed(&self) {
        self.faults.discovery_errors.inc();
    }

    /// The exposition text, with gauges of this moment.
    pub(crate) fn render(
        &self,
        pool: &str,
        endpoints: &[EndpointState],
        sizes: Sizes,
        body_bytes: usize,
    ) -> Result<String, Error> {
        let _reading = self.reading.lock();
        self.sizes.set(sizes, body_bytes);
        self.loads.set(pool, endpoints);
        let addresses: BTreeSet<String> = endpoints
            .iter()
            .map(|endpoint| endpoint.address.to_string())
            .collect();
        self.requests
            .keep_picks(|address| addresses.contains(address));
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
