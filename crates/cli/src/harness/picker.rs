//! A running `pointsman-epp`.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use http::StatusCode;
use serde_json::{Value, json};

use super::child::Child;
use super::{binaries, pages, ports};
use crate::envoy::PickerSecurity;

/// How a picker is started.
#[derive(Clone, Debug)]
pub struct PickerOptions {
    /// An `EndpointPickerConfig` without its discovery, which the harness adds.
    pub configuration: Value,
    /// How often it reads the engines' metrics.
    pub metrics_interval: Duration,
    /// How its `ext_proc` port is spoken to.
    pub security: PickerSecurity,
    /// What asks it.
    pub gateway: Gateway,
    /// More command line.
    pub arguments: Vec<String>,
}

/// What asks a picker, on which depends how it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gateway {
    /// The standalone Envoy, which learns the engines from the picker's EDS port.
    Standalone,
    /// One that knows the engines itself. The picker has no EDS port.
    Other,
}

impl PickerOptions {
    /// The picker as it is when nobody configures it.
    pub fn default_profile() -> Self {
        Self::with_configuration(json!({}))
    }

    /// A picker that takes the engines in turn and looks at nothing.
    pub fn round_robin() -> Self {
        Self::with_configuration(json!({
            "plugins": [{ "type": "round-robin-picker" }],
            "schedulingProfiles": [{
                "name": "default",
                "plugins": [{ "pluginRef": "round-robin-picker" }],
            }],
        }))
    }

    /// A picker with these fields of an `EndpointPickerConfig`.
    pub const fn with_configuration(configuration: Value) -> Self {
        Self {
            configuration,
            metrics_interval: Duration::from_millis(50),
            security: PickerSecurity::Plain,
            gateway: Gateway::Standalone,
            arguments: Vec::new(),
        }
    }
}

/// The addresses of a picker.
#[derive(Clone, Copy, Debug)]
pub struct PickerAddresses {
    /// `ext_proc` and gRPC health.
    pub ext_proc: SocketAddr,
    /// How that port is spoken to.
    pub security: PickerSecurity,
    /// gRPC health alone.
    pub health: SocketAddr,
    /// Metrics, readiness and the debug pages.
    pub admin: SocketAddr,
    /// EDS, if the standalone Envoy asks the picker.
    pub eds: Option<SocketAddr>,
}

/// A running picker.
#[derive(Debug)]
pub struct Picker {
    /// Its process.
    pub child: Child,
    /// Its addresses.
    pub addresses: PickerAddresses,
    folder: PathBuf,
    options: PickerOptions,
}

impl Picker {
    /// Starts a picker that finds its engines in `endpoints`, and waits until it is ready.
    pub async fn start(options: PickerOptions, endpoints: &Path, folder: &Path) -> Result<Self> {
        let addresses = PickerAddresses {
            ext_proc: ports::free_address()?,
            security: options.security,
            health: ports::free_address()?,
            admin: ports::free_address()?,
            eds: match options.gateway {
                Gateway::Standalone => Some(ports::free_address()?),
                Gateway::Other => None,
            },
        };
        let configuration = with_discovery(options.configuration.clone(), endpoints)?;
        fs::write(
            configuration_path(folder),
            serde_yaml::to_string(&configuration)?,
        )
        .context("cannot write the picker's configuration")?;
        let mut picker = Self {
            child: spawn(&options, addresses, folder)?,
            addresses,
            folder: folder.to_owned(),
            options,
        };
        picker.ready().await?;
        Ok(picker)
    }

    /// Starts it again at the same addresses, after it was killed or stopped.
    pub async fn restart(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child = spawn(&self.options, self.addresses, &self.folder)?;
        self.ready().await
    }

    /// The newest picks, newest first, as the picker's debug page tells them.
    pub async fn picks(&self, count_max: usize) -> Result<Value> {
        pages::get_json(
            self.addresses.admin,
            &format!("/debug/picks?limit={count_max}"),
        )
        .await
    }

    /// Its endpoints, as its debug page tells them.
    pub async fn endpoints(&self) -> Result<Value> {
        pages::get_json(self.addresses.admin, ENDPOINTS_PATH).await
    }

    /// Waits until it would pick exactly among `engines`, which may be a moment after Envoy knows them.
    pub async fn knows(&mut self, engines: &[SocketAddr]) -> Result<()> {
        let admin = self.addresses.admin;
        let expected: BTreeSet<String> = engines.iter().map(ToString::to_string).collect();
        let ready = async || {
            let endpoints = pages::get_json(admin, ENDPOINTS_PATH).await?;
            let known: BTreeSet<String> = endpoints
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|endpoint| endpoint.pointer("/address")?.as_str())
                .map(str::to_owned)
                .collect();
            ensure!(
                known == expected,
                "the picker knows the engines {known:?} and should know {expected:?}"
            );
            Ok(())
        };
        self.child.ready(READY_WAIT_MAX, ready).await
    }

    /// The text of its metrics page.
    pub async fn metrics(&self) -> Result<String> {
        let (status, body) = pages::get(self.addresses.admin, "/metrics").await?;
        if status != StatusCode::OK {
            bail!("the picker's metrics page answered {status}");
        }
        Ok(String::from_utf8_lossy(&body).into_owned())
    }

    async fn ready(&mut self) -> Result<()> {
        let admin = self.addresses.admin;
        let ready = async || match pages::get(admin, "/readyz").await? {
            (StatusCode::OK, _) => Ok(()),
            (status, body) => bail!("/readyz answers {status}: {}", body.escape_ascii()),
        };
        self.child.ready(READY_WAIT_MAX, ready).await
    }
}

fn spawn(options: &PickerOptions, addresses: PickerAddresses, folder: &Path) -> Result<Child> {
    let port = |address: SocketAddr| address.port().to_string();
    let mut command = Command::new(binaries::pointsman_epp()?);
    command
        .arg("--config-file")
        .arg(configuration_path(folder))
        .args(["--grpc-port", &port(addresses.ext_proc)])
        .args(["--grpc-health-port", &port(addresses.health)])
        .args(["--metrics-port", &port(addresses.admin)])
        .args(["--bind-address", &addresses.ext_proc.ip().to_string()])
        .arg("--refresh-metrics-interval")
        .arg(format!("{}ms", options.metrics_interval.as_millis().max(1)))
        .args(&options.arguments);
    if let Some(eds) = addresses.eds {
        command.args(["--eds-port", &port(eds)]);
    }
    // TLS is what it does when nobody says anything.
    if options.security == PickerSecurity::Plain {
        command.arg("--secure-serving=false");
    }
    Child::start("picker", command, folder)
}

fn configuration_path(folder: &Path) -> PathBuf {
    folder.join("picker.yaml")
}

/// The complete configuration: `fields` and the discovery of engines by file.
fn with_discovery(fields: Value, endpoints: &Path) -> Result<Value> {
    let Value::Object(mut fields) = fields else {
        bail!("the picker's configuration is not an object");
    };
    let mut plugins = vec![json!({
        "type": "file-discovery",
        "parameters": { "path": endpoints, "watchFile": true },
    })];
    if let Some(Value::Array(given)) = fields.remove("plugins") {
        plugins.extend(given);
    }
    let data_layer = fields.entry("dataLayer").or_insert_with(|| json!({}));
    if let Some(data_layer) = data_layer.as_object_mut() {
        let discovery = json!({ "pluginRef": "file-discovery" });
        data_layer.insert("discovery".to_owned(), discovery);
    }
    for (name, value) in [
        ("apiVersion", json!("llm-d.ai/v1alpha1")),
        ("kind", json!("EndpointPickerConfig")),
        ("plugins", Value::Array(plugins)),
    ] {
        fields.insert(name.to_owned(), value);
    }
    Ok(Value::Object(fields))
}

const ENDPOINTS_PATH: &str = "/debug/endpoints";

const READY_WAIT_MAX: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn discovery_is_added_to_the_given_plugins() {
        let round_robin = PickerOptions::round_robin().configuration;
        let document =
            with_discovery(round_robin.clone(), Path::new("/run/endpoints.yaml")).unwrap();
        let types: Vec<_> = document["plugins"]
            .as_array()
            .unwrap()
            .iter()
            .map(|plugin| plugin["type"].as_str().unwrap())
            .collect();
        assert_eq!(types, ["file-discovery", "round-robin-picker"]);
        assert_eq!(
            document["schedulingProfiles"],
            round_robin["schedulingProfiles"]
        );
        assert_eq!(
            document["plugins"][0]["parameters"]["path"],
            "/run/endpoints.yaml"
        );
        assert_eq!(
            document["dataLayer"]["discovery"]["pluginRef"],
            "file-discovery"
        );
    }

    #[test]
    fn the_rest_of_a_given_data_layer_stays() {
        let fields = json!({ "dataLayer": { "injectDefaults": false } });
        let document = with_discovery(fields, Path::new("/run/endpoints.yaml")).unwrap();
        assert_eq!(document["dataLayer"]["injectDefaults"], false);
        assert_eq!(
            document["dataLayer"]["discovery"]["pluginRef"],
            "file-discovery"
        );
    }
}
