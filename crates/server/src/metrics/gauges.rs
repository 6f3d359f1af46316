//! Gauges of the pool, set when they are read.

use pointsman_pipeline::pool::{EndpointState, Sizes};
use pointsman_telemetry::aggregate::PoolAggregate;
use prometheus::{Error, GaugeVec, IntGauge};

use super::family::Families;

/// Sizes of the pool.
#[derive(Debug)]
pub(super) struct SizeGauges {
    in_flight: IntGauge,
    held: IntGauge,
    held_bytes: IntGauge,
    body_bytes: IntGauge,
    prefix_blocks: IntGauge,
    prefix_bytes: IntGauge,
}

/// Load of the pool's endpoints.
#[derive(Debug)]
pub(super) struct LoadGauges {
    ready: GaugeVec,
    queue: GaugeVec,
    running: GaugeVec,
    kv_usage: GaugeVec,
    endpoint_queue: GaugeVec,
    endpoint_in_flight: GaugeVec,
    endpoint_signal_age: GaugeVec,
    endpoint_ejected: GaugeVec,
}

impl SizeGauges {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            in_flight: families.gauge(
                "pointsman_requests_in_flight",
                "Requests that have an endpoint and have not ended.",
            )?,
            held: families.gauge(
                "pointsman_requests_held",
                "Requests that wait for an endpoint.",
            )?,
            held_bytes: families.gauge(
                "pointsman_requests_held_bytes",
                "Body bytes of requests that wait for an endpoint.",
            )?,
            body_bytes: families.gauge(
                "pointsman_held_body_bytes",
                "Body bytes that all open streams hold, against --held-bytes-max.",
            )?,
            prefix_blocks: families.gauge(
                "pointsman_prefix_index_blocks",
                "Memberships in the prefix index.",
            )?,
            prefix_bytes: families.gauge(
                "pointsman_prefix_index_bytes",
                "Memory of the prefix index.",
            )?,
        })
    }

    pub(super) fn set(&self, sizes: Sizes, body_bytes: usize) {
        let set = |gauge: &IntGauge, size: u64| gauge.set(i64::try_from(size).unwrap_or(i64::MAX));
        set(&self.in_flight, sizes.in_flight as u64);
        set(&self.held, sizes.held as u64);
        set(&self.held_bytes, sizes.held_bytes);
        set(&self.body_bytes, body_bytes as u64);
        set(&self.prefix_blocks, sizes.prefix_blocks as u64);
        set(&self.prefix_bytes, sizes.prefix_bytes as u64);
    }
}

impl LoadGauges {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        let pool = |name, help| families.gauges(name, help, &["name"]);
        let endpoint = |name, help| families.gauges(name, help, &["name", "model_server_endpoint"]);
        Ok(Self {
            ready: pool("llm_d_epp_ready_endpoints", "Endpoints of the pool.")?,
            queue: pool(
                "llm_d_epp_average_queue_size",
                "Mean of the engines' waiting requests.",
            )?,
            running: pool(
                "llm_d_epp_average_running_requests",
                "Mean of the engines' running requests.",
            )?,
            kv_usage: pool(
                "llm_d_epp_average_kv_cache_utilization",
                "Mean of the engines' KV use, within 0..=1.",
            )?,
            endpoint_queue: endpoint(
                "llm_d_epp_per_endpoint_queue_size",
                "Waiting requests of each engine.",
            )?,
            endpoint_in_flight: endpoint(
                "pointsman_endpoint_requests_in_flight",
                "Our own requests at each endpoint.",
            )?,
            endpoint_signal_age: endpoint(
                "pointsman_endpoint_signal_age_seconds",
                "Age of each endpoint's last report; no number before the first.",
            )?,
            endpoint_ejected: endpoint(
                "pointsman_endpoint_ejected",
                "1 while an endpoint is out of the picks.",
            )?,
        })
    }

    pub(super) fn set(&self, pool: &str, endpoints: &[EndpointState]) {
        let aggregate = PoolAggregate::of(endpoints.iter().map(|endpoint| &endpoint.load));
        self.ready
            .with_label_values(&[pool])
            .set(endpoints.len() as f64);
        self.queue
            .with_label_values(&[pool])
            .set(aggregate.waiting.mean);
        self.running
            .with_label_values(&[pool])
            .set(aggregate.running.mean);
        self.kv_usage
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
