//! A running Envoy with the standalone configuration, or with one that imitates another gateway.

pub mod imitation;

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use http::StatusCode;
use serde_json::Value;

use super::child::Child;
use super::pages;
use super::picker::PickerAddresses;
use super::ports;
use crate::envoy::{ENGINES, EngineProtocol, EnvoySettings};
use crate::envoy_binary;
use imitation::Imitation;

/// What may differ from the standalone Envoy's defaults.
#[derive(Clone, Copy, Debug)]
pub struct EnvoyOptions {
    /// Share of responses whose body the picker sees, in percent.
    pub sample_percent: f64,
    /// Largest request body that the picker accepts.
    pub body_bytes_max: u32,
    /// How the engines are spoken to.
    pub engine_protocol: EngineProtocol,
    /// What gateway it stands for.
    pub imitation: Imitation,
}

impl Default for EnvoyOptions {
    fn default() -> Self {
        Self {
            sample_percent: crate::envoy::SAMPLE_PERCENT,
            body_bytes_max: crate::envoy::BODY_BYTES_MAX,
            engine_protocol: EngineProtocol::Http1,
            imitation: Imitation::Nothing,
        }
    }
}

/// A running Envoy.
#[derive(Debug)]
pub struct Envoy {
    /// Its process.
    pub child: Child,
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Its admin interface.
    pub admin: SocketAddr,
}

impl Envoy {
    /// Starts an Envoy in front of a picker and waits until it accepts connections.
    pub async fn start(
        options: EnvoyOptions,
        picker: PickerAddresses,
        folder: &Path,
    ) -> Result<Self> {
        let (listen, admin) = (ports::free_address()?, ports::free_address()?);
        let eds = picker.eds.context("the picker has no EDS port")?;
        let settings = EnvoySettings {
            sample_percent: options.sample_percent,
            body_bytes_max: options.body_bytes_max,
            security: picker.security,
            engine_protocol: options.engine_protocol,
            ..EnvoySettings::new(listen, admin, picker.ext_proc, eds)
        };
        let mut configuration = settings.configuration();
        options.imitation.apply(&mut configuration)?;
        let path = folder.join("envoy.json");
        fs::write(&path, format!("{configuration:#}"))
            .with_context(|| format!("cannot write {}", path.display()))?;
        let mut command = Command::new(envoy_binary::ensure()?);
        command
            .arg("-c")
            .arg(&path)
            .args(["--disable-hot-restart", "--concurrency", "1"])
            .args(["--log-level", "warning"]);
        let mut child = Child::start("envoy", command, folder)?;
        let ready = async || match pages::get(admin, "/ready").await? {
            (StatusCode::OK, _) => Ok(()),
            (_, body) => bail!("/ready answers {}", body.escape_ascii()),
        };
        child.ready(READY_WAIT_MAX, ready).await?;
        Ok(Self {
            child,
            listen,
            admin,
        })
    }

    /// Waits until Envoy would send requests to exactly `engines`.
    pub async fn knows(&mut self, engines: &[SocketAddr]) -> Result<()> {
        let admin = self.admin;
        let mut expected: Vec<String> = engines.iter().map(ToString::to_string).collect();
        expected.sort();
        let ready = async || {
            let clusters = pages::get_json(admin, "/clusters?format=json").await?;
            let known = healthy_hosts(&clusters, ENGINES);
            ensure!(
                known == expected,
                "Envoy knows the engines {known:?} and should know {expected:?}"
            );
            Ok(())
        };
        self.child.ready(READY_WAIT_MAX, ready).await
    }

    /// The value of one of Envoy's counters or gauges; 0 while it does not exist.
    pub async fn statistic(&self, name: &str) -> Result<u64> {
        let page = pages::get_json(self.admin, "/stats?format=json").await?;
        let found = array(&page, "/stats")
            .into_iter()
            .find(|statistic| text(statistic, "/name") == name);
        Ok(found
            .and_then(|statistic| statistic.pointer("/value").and_then(Value::as_u64))
            .unwrap_or(0))
    }
}

/// The addresses of a cluster's hosts that Envoy would use, sorted.
fn healthy_hosts(clusters: &Value, cluster: &str) -> Vec<String> {
    let mut hosts: Vec<String> = array(clusters, "/cluster_statuses")
        .into_iter()
        .filter(|status| text(status, "/name") == cluster)
        .flat_map(|status| array(status, "/host_statuses"))
        .filter(|host| text(host, "/health_status/eds_health_status") == "HEALTHY")
        .filter_map(|host| {
            let ip: IpAddr = text(host, "/address/socket_address/address").parse().ok()?;
            let port = host.pointer("/address/socket_address/port_value")?;
            let port = u16::try_from(port.as_u64()?).ok()?;
            Some(SocketAddr::new(ip, port).to_string())
        })
        .collect();
    hosts.sort();
    hosts
}

fn array<'a>(value: &'a Value, pointer: &str) -> Vec<&'a Value> {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.map_or_else(Vec::new, |values| values.iter().collect())
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

const READY_WAIT_MAX: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_healthy_hosts_of_the_named_cluster_count() {
        let host = |ip: &str, port: u16, health: &str| {
            json!({
                "address": { "socket_address": { "address": ip, "port_value": port } },
                "health_status": { "eds_health_status": health },
            })
        };
        let clusters = json!({ "cluster_statuses": [
            { "name": "engines", "host_statuses": [
                host("127.0.0.1", 8002, "HEALTHY"),
                host("::1", 8001, "HEALTHY"),
                host("127.0.0.1", 8001, "HEALTHY"),
                host("127.0.0.1", 8003, "UNHEALTHY"),
            ] },
            { "name": "picker", "host_statuses": [host("127.0.0.1", 9002, "HEALTHY")] },
        ] });
        assert_eq!(
            healthy_hosts(&clusters, "engines"),
            ["127.0.0.1:8001", "127.0.0.1:8002", "[::1]:8001"]
        );
        assert!(healthy_hosts(&json!({}), "engines").is_empty());
    }
}
