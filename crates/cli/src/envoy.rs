//! The configuration of the standalone Envoy: a resilient client of one picker.
//!
//! What it does, and why each part is there, is in `docs/protocol.md`: the picker is asked about the
//! request in full duplex, sees of most responses only their beginning and end, and a sampled share
//! of them whole. Endpoints come from the picker by EDS and stay in force when the picker is away.

mod clusters;
mod listener;

use core::net::SocketAddr;

use clap::ValueEnum;
use serde_json::{Value, json};

/// What varies between one standalone Envoy and another.
#[derive(Clone, Debug)]
pub struct EnvoySettings {
    /// Where clients connect, HTTP/1.1 and cleartext HTTP/2 alike.
    pub listen: SocketAddr,
    /// Envoy's admin address. It can stop Envoy, so it belongs on loopback.
    pub admin: SocketAddr,
    /// The picker's `ext_proc` port; its gRPC health service is asked there as well.
    pub ext_proc: SocketAddr,
    /// The picker's EDS port, always plain text.
    pub eds: SocketAddr,
    /// How the `ext_proc` port is spoken to.
    pub security: PickerSecurity,
    /// Share of responses whose body the picker sees, in percent, within `0..=100`.
    pub sample_percent: f64,
    /// The largest request body that the picker accepts. Envoy keeps bodies up to a little above
    /// it, so that a retry has the body and the picker is the one that answers 413.
    pub body_bytes_max: u32,
    /// How the engines are spoken to.
    pub engine_protocol: EngineProtocol,
}

impl EnvoySettings {
    /// The defaults with the four addresses given.
    pub const fn new(
        listen: SocketAddr,
        admin: SocketAddr,
        ext_proc: SocketAddr,
        eds: SocketAddr,
    ) -> Self {
        Self {
            listen,
            admin,
            ext_proc,
            eds,
            security: PickerSecurity::Plain,
            sample_percent: SAMPLE_PERCENT,
            body_bytes_max: BODY_BYTES_MAX,
            engine_protocol: EngineProtocol::Http1,
        }
    }

    /// The Envoy bootstrap, to be written as JSON.
    pub fn configuration(&self) -> Value {
        json!({
            "node": { "id": "pointsman-standalone", "cluster": "pointsman-standalone" },
            "admin": { "address": socket_address(self.admin) },
            "static_resources": {
                "listeners": [listener::listener(self)],
                "clusters": [
                    clusters::engines(self.engine_protocol),
                    clusters::picker(self),
                    clusters::xds(self),
                ],
            },
        })
    }
}

/// How Envoy speaks to the picker's `ext_proc` port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerSecurity {
    /// Plain text, for a picker that runs with `--secure-serving=false`.
    Plain,
    /// TLS without a check of the certificate, for a picker with its default self-signed one.
    UnverifiedTls,
}

/// How Envoy speaks to the engines. Clients may speak to Envoy either way in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineProtocol {
    /// HTTP/1.1, as engines with an HTTP API do.
    Http1,
    /// HTTP/2 in plain text and without an upgrade, as gRPC engines do: `appProtocol:
    /// kubernetes.io/h2c` of an `InferencePool`.
    H2c,
}

/// Share of responses sampled by default, in percent.
pub const SAMPLE_PERCENT: f64 = 5.0;

/// The picker's default cap on request bodies.
pub const BODY_BYTES_MAX: u32 = 32 << 20;

/// The name of the cluster of engines, and of its EDS resource.
pub const ENGINES: &str = "engines";

const PICKER: &str = "picker";
const XDS: &str = "xds";

/// The metadata namespace and the names through which picker and load balancer talk.
const METADATA_NAMESPACE: &str = "envoy.lb";
const SUBSET_NAMESPACE: &str = "envoy.lb.subset_hint";
const DESTINATION: &str = "x-gateway-destination-endpoint";
const DESTINATION_SERVED: &str = "x-gateway-destination-endpoint-served";
const DESTINATION_SUBSET: &str = "x-gateway-destination-endpoint-subset";
const SENT_ONCE: &str = "x-pointsman-sent-once";

fn socket_address(address: SocketAddr) -> Value {
    json!({
        "socket_address": {
            "address": address.ip().to_string(),
            "port_value": address.port(),
        }
    })
}

/// The type URL of an Envoy message, from its name after `envoy.`.
fn type_url(message: &str) -> String {
    format!("type.googleapis.com/envoy.{message}")
}

#[cfg(test)]
mod tests;
