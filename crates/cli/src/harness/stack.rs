//! A whole local setup: engines, a picker that knows them, and an Envoy in front.

use core::net::SocketAddr;
use core::time::Duration;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::endpoints::{self, Entry};
use super::engine::Engine;
use super::envoy::{Envoy, EnvoyOptions};
use super::picker::{Picker, PickerOptions};

/// What a setup consists of.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// How many engines.
    pub engines: usize,
    /// More command line for each engine.
    pub engine_arguments: Vec<String>,
    /// The picker.
    pub picker: PickerOptions,
    /// Envoy.
    pub envoy: EnvoyOptions,
}

/// A running setup. Dropping it ends all of it at once; [`Stack::stop`] ends it in order.
#[derive(Debug)]
pub struct Stack {
    /// Envoy, where requests enter. The fields are dropped in this order: front to back.
    pub envoy: Envoy,
    /// The picker.
    pub picker: Picker,
    /// The engines.
    pub engines: Vec<Engine>,
    endpoints_path: PathBuf,
}

impl Stack {
    /// Starts everything and waits until a request would reach an engine. Logs and configurations
    /// go to `folder`, which is made when it is missing.
    pub async fn start(options: StackOptions, folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let mut engines = Vec::new();
        for index in 0..options.engines {
            let name = format!("engine-{index}");
            engines.push(Engine::start(&name, &options.engine_arguments, folder).await?);
        }
        let endpoints_path = folder.join("endpoints.yaml");
        endpoints::write(&endpoints_path, &entries(&engines))?;
        let picker = Picker::start(options.picker, &endpoints_path, folder).await?;
        let envoy = Envoy::start(options.envoy, picker.addresses, folder).await?;
        let mut stack = Self {
            envoy,
            picker,
            engines,
            endpoints_path,
        };
        stack.publish().await?;
        Ok(stack)
    }

    /// Where requests are sent to.
    pub const fn address(&self) -> SocketAddr {
        self.envoy.listen
    }

    /// Writes the present engines into the endpoints file and waits until Envoy and the picker heard
    /// of it.
    pub async fn publish(&mut self) -> Result<()> {
        self.publish_entries(&entries(&self.engines)).await
    }

    /// Writes these into the endpoints file in the place of the engines, and waits until Envoy
    /// and the picker heard of it.
    pub async fn publish_entries(&mut self, entries: &[Entry]) -> Result<()> {
        endpoints::write(&self.endpoints_path, entries)?;
        let addresses: Vec<SocketAddr> = entries.iter().map(|entry| entry.address).collect();
        self.envoy.knows(&addresses).await?;
        self.picker.knows(&addresses).await
    }

    /// The endpoints file that the picker watches.
    pub fn endpoints_path(&self) -> &Path {
        &self.endpoints_path
    }

    /// The name of the engine at `address`, which is written `ip:port`.
    pub fn engine_name(&self, address: &str) -> Option<&str> {
        self.engines
            .iter()
            .find(|engine| engine.address.to_string() == address)
            .map(|engine| engine.name.as_str())
    }

    /// Ends everything in order, front to back.
    pub async fn stop(mut self) -> Result<()> {
        self.envoy.child.stop(STOP_WAIT_MAX).await?;
        self.picker.child.stop(STOP_WAIT_MAX).await?;
        for engine in &mut self.engines {
            engine.child.stop(STOP_WAIT_MAX).await?;
        }
        Ok(())
    }
}

fn entries(engines: &[Engine]) -> Vec<Entry> {
    engines.iter().map(Engine::entry).collect()
}

const STOP_WAIT_MAX: Duration = Duration::from_secs(10);
