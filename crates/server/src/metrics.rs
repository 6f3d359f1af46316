//! Prometheus metrics, made of events, and of the pool's state when they are read.

mod family;
mod gauges;
mod requests;

use pointsman_domain::event::Event;
use pointsman_pipeline::pool::{EndpointState, Sizes};
use prometheus::{Encoder, Error, Registry, TextEncoder};

use family::Families;
use gauges::{LoadGauges, SizeGauges};
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
    ) -> Result<String, Error> {
        self.sizes.set(sizes);
        self.loads.set(pool, endpoints);
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
