//! Prometheus metrics, made of events and of the pool's state when it is read.

use pointsman_domain::event::Event;
use pointsman_pipeline::pool::{EndpointState, Sizes};
use pointsman_telemetry::aggregate::PoolAggregate;
use prometheus::core::Collector;
use prometheus::{
    Encoder, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge,
    Opts, Registry, TextEncoder,
};

/// The process's metrics.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    picks: IntCounterVec,
    refusals: IntCounterVec,
    completed: IntCounterVec,
    duration: HistogramVec,
    first_output: Histogram,
    waited: Histogram,
    prompt_tokens: IntCounter,
    predicted_cached_tokens: IntCounter,
    usage_tokens: IntCounterVec,
    served_elsewhere: IntCounter,
    ejections: IntCounterVec,
    dropped: IntCounterVec,
    discovery_errors: IntCounter,
    in_flight: IntGauge,
    held: IntGauge,
    held_bytes: IntGauge,
    prefix_blocks: IntGauge,
    prefix_bytes: IntGauge,
    ready_endpoints: GaugeVec,
    average_queue: GaugeVec,
    average_running: GaugeVec,
    average_kv: GaugeVec,
    endpoint_queue: GaugeVec,
    endpoint_in_flight: GaugeVec,
    endpoint_signal_age: GaugeVec,
    endpoint_ejected: GaugeVec,
}

impl Metrics {
    /// All metrics at zero, registered.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let r = &registry;
        let pool = &["name"];
        let per_endpoint = &["name", "model_server_endpoint"];
        let metrics = Self {
            picks: counters(
                r,
                "pointsman_picks_total",
                "Picks by endpoint.",
                &["endpoint"],
            )?,
            refusals: counters(
                r,
                "pointsman_refusals_total",
                "Requests that the pool refused, by reason.",
                &["reason"],
            )?,
            completed: counters(
                r,
                "pointsman_requests_completed_total",
                "Requests that ended, by how.",
                &["cause"],
            )?,
            duration: seconds_by(
                r,
                "pointsman_request_duration_seconds",
                "Time from the request to its end, by how it ended.",
                &["cause"],
            )?,
            first_output: seconds(
                r,
                "pointsman_request_first_output_seconds",
                "Time from the request to its first output; only of responses whose body is seen.",
            )?,
            waited: seconds(
                r,
                "pointsman_request_held_seconds",
                "Time that a request was held before its decision.",
            )?,
            prompt_tokens: counter(
                r,
                "pointsman_prompt_tokens_total",
                "Estimated prompt tokens of picked requests.",
            )?,
            predicted_cached_tokens: counter(
                r,
                "pointsman_predicted_cached_tokens_total",
                "Prompt tokens that picked endpoints were expected to have in cache.",
            )?,
            usage_tokens: counters(
                r,
                "pointsman_usage_tokens_total",
                "Tokens that engines reported in responses whose body is seen.",
                &["kind"],
            )?,
            served_elsewhere: counter(
                r,
                "pointsman_served_elsewhere_total",
                "Requests that another endpoint served than the first one picked.",
            )?,
            ejections: counters(
                r,
                "pointsman_endpoint_ejections_total",
                "Endpoints taken out of the picks and put back.",
                &["change"],
            )?,
            dropped: counters(
                r,
                "pointsman_late_facts_dropped_total",
                "Facts about ended requests or earlier lives of endpoints.",
                &["what"],
            )?,
            discovery_errors: counter(
                r,
                "pointsman_discovery_errors_total",
                "Endpoint files that could not be used; the last good set stays in force.",
            )?,
            in_flight: gauge(
                r,
                "pointsman_requests_in_flight",
                "Requests that have an endpoint and have not ended.",
            )?,
            held: gauge(
                r,
                "pointsman_requests_held",
                "Requests that wait for an endpoint.",
            )?,
            held_bytes: gauge(
                r,
                "pointsman_requests_held_bytes",
                "Body bytes of requests that wait.",
            )?,
            prefix_blocks: gauge(
                r,
                "pointsman_prefix_index_blocks",
                "Memberships in the prefix index.",
            )?,
            prefix_bytes: gauge(
                r,
                "pointsman_prefix_index_bytes",
                "Memory of the prefix index.",
            )?,
            ready_endpoints: gauges(
                r,
                "llm_d_epp_ready_endpoints",
                "Endpoints of the pool.",
                pool,
            )?,
            average_queue: gauges(
                r,
                "llm_d_epp_average_queue_size",
                "Mean of the engines' waiting requests.",
                pool,
            )?,
            average_running: gauges(
                r,
                "llm_d_epp_average_running_requests",
                "Mean of the engines' running requests.",
                pool,
            )?,
            average_kv: gauges(
                r,
                "llm_d_epp_average_kv_cache_utilization",
                "Mean of the engines' KV use, within 0..=1.",
                pool,
            )?,
            endpoint_queue: gauges(
                r,
                "llm_d_epp_per_endpoint_queue_size",
                "Waiting requests of each engine.",
                per_endpoint,
            )?,
            endpoint_in_flight: gauges(
                r,
                "pointsman_endpoint_requests_in_flight",
                "Our own requests at each endpoint.",
                per_endpoint,
            )?,
            endpoint_signal_age: gauges(
                r,
                "pointsman_endpoint_signal_age_seconds",
                "Age of each endpoint's last report.",
                per_endpoint,
            )?,
            endpoint_ejected: gauges(
                r,
                "pointsman_endpoint_ejected",
                "1 while an endpoint is out of the picks.",
                per_endpoint,
            )?,
            registry,
        };
        Ok(metrics)
    }

    /// Counts one event.
    pub(crate) fn count(&self, event: &Event) {
        match event {
            Event::Held { .. } | Event::EndpointsChanged { .. } => {}
            Event::Picked(picked) => {
                self.picks
                    .with_label_values(&[&picked.address.to_string()])
                    .inc();
                self.prompt_tokens.inc_by(picked.prompt_tokens.0);
                self.predicted_cached_tokens.inc_by(picked.cached_tokens.0);
                self.waited.observe(picked.waited.as_secs_f64());
            }
            Event::Refused {
                refusal, waited, ..
            } => {
                self.refusals.with_label_values(&[refusal.reason()]).inc();
                self.waited.observe(waited.as_secs_f64());
            }
            Event::FirstOutput { after, .. } => self.first_output.observe(after.as_secs_f64()),
            Event::ServedElsewhere { .. } => self.served_elsewhere.inc(),
            Event::Completed(completed) => {
                let cause = completed.cause.label();
                self.completed.with_label_values(&[cause]).inc();
                let seconds = completed.duration.as_secs_f64();
                self.duration.with_label_values(&[cause]).observe(seconds);
                if let Some(usage) = completed.usage {
                    let cached = usage.cached.unwrap_or_default();
                    let kinds = [
                        ("prompt", usage.prompt),
                        ("output", usage.output),
                        ("cached", cached),
                    ];
                    for (kind, tokens) in kinds {
                        self.usage_tokens
                            .with_label_values(&[kind])
                            .inc_by(tokens.0);
                    }
                }
            }
            Event::Ejected { out, .. } => {
                let change = if *out { "out" } else { "back" };
                self.ejections.with_label_values(&[change]).inc();
            }
            Event::Dropped { what } => self.dropped.with_label_values(&[what.label()]).inc(),
        }
    }

    /// Counts an endpoint file that could not be used.
    pub(crate) fn discovery_failed(&self) {
        self.discovery_errors.inc();
    }

    /// The exposition text, with gauges of this moment.
    pub(crate) fn render(
        &self,
        pool: &str,
        endpoints: &[EndpointState],
        sizes: Sizes,
    ) -> Result<String, prometheus::Error> {
        self.read_sizes(sizes);
        self.read_endpoints(pool, endpoints);
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn read_sizes(&self, sizes: Sizes) {
        self.in_flight.set(signed(sizes.in_flight as u64));
        self.held.set(signed(sizes.held as u64));
        self.held_bytes.set(signed(sizes.held_bytes));
        self.prefix_blocks.set(signed(sizes.prefix_blocks as u64));
        self.prefix_bytes.set(signed(sizes.prefix_bytes as u64));
    }

    fn read_endpoints(&self, pool: &str, endpoints: &[EndpointState]) {
        let aggregate = PoolAggregate::of(endpoints.iter().map(|endpoint| &endpoint.load));
        self.ready_endpoints
            .with_label_values(&[pool])
            .set(endpoints.len() as f64);
        self.average_queue
            .with_label_values(&[pool])
            .set(aggregate.waiting.mean);
        self.average_running
            .with_label_values(&[pool])
            .set(aggregate.running.mean);
        self.average_kv
            .with_label_values(&[pool])
            .set(aggregate.kv_usage.mean);
        let families = [
            &self.endpoint_queue,
            &self.endpoint_in_flight,
            &self.endpoint_signal_age,
            &self.endpoint_ejected,
        ];
        // Endpoints that have gone must not keep their last values.
        families.iter().for_each(|family| family.reset());
        for endpoint in endpoints {
            let address = endpoint.address.to_string();
            let values = [
                f64::from(endpoint.load.waiting),
                f64::from(endpoint.own.requests),
                endpoint.load_age.map_or(f64::NAN, |age| age.as_secs_f64()),
                f64::from(u8::from(endpoint.ejected)),
            ];
            for (family, value) in families.iter().zip(values) {
                family.with_label_values(&[pool, &address]).set(value);
            }
        }
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, prometheus::Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}

fn counter(registry: &Registry, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
    registered(registry, IntCounter::new(name, help)?)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    registered(registry, IntCounterVec::new(Opts::new(name, help), labels)?)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    registered(registry, IntGauge::new(name, help)?)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<GaugeVec, prometheus::Error> {
    registered(registry, GaugeVec::new(Opts::new(name, help), labels)?)
}

fn seconds(registry: &Registry, name: &str, help: &str) -> Result<Histogram, prometheus::Error> {
    let options = HistogramOpts::new(name, help).buckets(SECONDS_BUCKETS.to_vec());
    registered(registry, Histogram::with_opts(options)?)
}

fn seconds_by(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<HistogramVec, prometheus::Error> {
    let options = HistogramOpts::new(name, help).buckets(SECONDS_BUCKETS.to_vec());
    registered(registry, HistogramVec::new(options, labels)?)
}

/// Bounds of all durations: from a decision at once to a response of many minutes.
const SECONDS_BUCKETS: [f64; 16] = [
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0,
];
