//! A running `pointsman engine`.

use core::net::SocketAddr;
use core::time::Duration;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use http::StatusCode;
use serde_json::json;

use super::child::Child;
use super::endpoints::Entry;
use super::{binaries, pages, ports};

/// A running engine stand-in.
#[derive(Debug)]
pub struct Engine {
    /// Its name among the endpoints.
    pub name: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// Its process.
    pub child: Child,
    arguments: Vec<String>,
    folder: PathBuf,
}

impl Engine {
    /// Starts an engine with more command line and waits until it is healthy.
    pub async fn start(name: &str, arguments: &[String], folder: &Path) -> Result<Self> {
        let address = ports::free_address()?;
        let mut engine = Self {
            name: name.to_owned(),
            address,
            child: spawn(name, address, arguments, folder)?,
            arguments: arguments.to_vec(),
            folder: folder.to_owned(),
        };
        engine.ready().await?;
        Ok(engine)
    }

    /// Starts it again, with an empty cache, at the same address.
    pub async fn restart(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child = spawn(&self.name, self.address, &self.arguments, &self.folder)?;
        self.ready().await
    }

    /// Makes it play these faults, written as for `pointsman engine --fault`, in the place of those
    /// it played before.
    pub async fn play(&self, faults: &[&str]) -> Result<()> {
        let body = json!({ "faults": faults }).to_string();
        let (status, answer) = pages::post(self.address, "/fault", body).await?;
        if !status.is_success() {
            bail!("/fault answers {status}: {}", answer.escape_ascii());
        }
        Ok(())
    }

    /// Its line in the endpoints file.
    pub fn entry(&self) -> Entry {
        Entry {
            name: self.name.clone(),
            address: self.address,
        }
    }

    async fn ready(&mut self) -> Result<()> {
        let address = self.address;
        let ready = async || match pages::get(address, "/health").await? {
            (StatusCode::OK, _) => Ok(()),
            (status, _) => bail!("/health answers {status}"),
        };
        self.child.ready(READY_WAIT_MAX, ready).await
    }
}

fn spawn(name: &str, address: SocketAddr, arguments: &[String], folder: &Path) -> Result<Child> {
    let mut command = Command::new(binaries::pointsman()?);
    command
        .arg("engine")
        .args(["--listen", &address.to_string()])
        .args(["--name", name])
        .args(arguments);
    Child::start(name, command, folder)
}

const READY_WAIT_MAX: Duration = Duration::from_secs(10);
