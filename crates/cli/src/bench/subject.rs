//! The pickers that are measured: named on the command line, started, connected to.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Serialize;
use tokio::net::TcpStream;

use super::connection::{self, Client, Security};
use super::process::{self, Unmeasured, Usage};
use crate::envoy::PickerSecurity;
use crate::harness::child::Child;
use crate::harness::picker::{Gateway, Picker, PickerOptions};
use crate::harness::{binaries, endpoints, ports};

/// A picker as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    /// The name in the report.
    pub(super) name: String,
    /// Where it is.
    pub(super) place: Place,
}

/// Where a picker comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// `pointsman-epp`, started here.
    Picker,
    /// The floor, started here.
    Floor,
    /// It runs already.
    Elsewhere {
        /// Host and port of its ext_proc server.
        address: String,
        /// Its process, if that is on this machine and known.
        pid: Option<u32>,
    },
}

/// What the pickers that are started here have in common.
pub(super) struct Site<'a> {
    /// The engines that they pick from.
    pub(super) pods: &'a [endpoints::Entry],
    /// How pickers other than the floor are spoken to.
    pub(super) security: Security,
    /// HTTP/2 connections to each.
    pub(super) connections: usize,
    /// Where configurations and logs go.
    pub(super) folder: &'a Path,
}

/// A picker that runs and is connected to. If it was started here it ends with this value.
pub(super) struct Running {
    pub(super) name: String,
    pub(super) clients: Vec<Client>,
    /// The process that was named as that of a picker elsewhere.
    pub(super) named: Option<NamedProcess>,
    pid: Option<u32>,
    _process: Process,
}

/// A process that the command line names, and what it turns out to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NamedProcess {
    pub(super) pid: u32,
    /// The program that it runs.
    pub(super) program: String,
}

/// What keeps a picker running.
#[expect(dead_code, reason = "a process ends when its value is dropped")]
enum Process {
    Picker(Box<Picker>),
    Floor(Child),
    Elsewhere,
}

impl Subject {
    /// Reads `pointsman-epp`, `floor` or `[NAME=]HOST:PORT[@PID]`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let place = match text {
            PICKER_NAME => Place::Picker,
            FLOOR_NAME => Place::Floor,
            _ => return Self::parse_elsewhere(text).ok_or_else(|| EXPECTED.to_owned()),
        };
        Ok(Self {
            name: text.to_owned(),
            place,
        })
    }

    fn parse_elsewhere(text: &str) -> Option<Self> {
        let (name, text) = match text.split_once('=') {
            Some((name, rest)) => (Some(name), rest),
            None => (None, text),
        };
        let (address, pid) = match text.rsplit_once('@') {
            Some((address, pid)) => (address, Some(pid.parse().ok()?)),
            None => (text, None),
        };
        let (host, port) = address.rsplit_once(':')?;
        let is_valid = !host.is_empty()
            && port.parse::<u16>().is_ok_and(|port| port > 0)
            && address.parse::<http::uri::Authority>().is_ok();
        let name = name.unwrap_or(address);
        (is_valid && !name.is_empty()).then(|| Self {
            name: name.to_owned(),
            place: Place::Elsewhere {
                address: address.to_owned(),
                pid,
            },
        })
    }

    /// Starts it if it is to be started here, and connects to it.
    pub(super) async fn start(&self, site: &Site<'_>) -> Result<Running> {
        let folder = site.folder.join(&self.name);
        let (process, address, pid, security) = match &self.place {
            Place::Picker => {
                let picker = start_picker(site, &folder).await?;
                let address = picker.addresses.ext_proc.to_string();
                let pid = Some(picker.child.id());
                (
                    Process::Picker(Box::new(picker)),
                    address,
                    pid,
                    site.security,
                )
            }
            Place::Floor => {
                let (child, address) = start_floor(site, &folder).await?;
                let pid = Some(child.id());
                (
                    Process::Floor(child),
                    address.to_string(),
                    pid,
                    Security::Plain,
                )
            }
            Place::Elsewhere { address, pid } => {
                (Process::Elsewhere, address.clone(), *pid, site.security)
            }
        };
        let named = match (&self.place, pid) {
            (Place::Elsewhere { .. }, Some(pid)) => Some(NamedProcess {
                pid,
                program: measured(&self.name, process::program(pid))?,
            }),
            _ => None,
        };
        if let Some(pid) = pid {
            measured(&self.name, process::usage(pid))?;
        }
        let mut clients = Vec::new();
        for _ in 0..site.connections {
            let client = connection::connect(&address, security).await;
            clients.push(client.with_context(|| format!("cannot connect to {}", self.name))?);
        }
        Ok(Running {
            name: self.name.clone(),
            clients,
            named,
            pid,
            _process: process,
        })
    }
}

impl Running {
    /// What its process has used so far. `None` if the process is not known.
    pub(super) fn usage(&self) -> Result<Option<Usage>> {
        let usage = self.pid.map(process::usage).transpose();
        measured(&self.name, usage)
    }
}

impl Place {
    /// Whether the picker is started here.
    pub(super) const fn is_here(&self) -> bool {
        matches!(self, Self::Picker | Self::Floor)
    }

    /// Whether the address is of this machine, so that a process id means something.
    pub(super) fn is_loopback(&self) -> bool {
        let Self::Elsewhere { address, .. } = self else {
            return true;
        };
        let host = address.rsplit_once(':').map_or("", |(host, _)| host);
        let ip = host.trim_matches(['[', ']']).parse::<IpAddr>();
        host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback())
    }
}

fn measured<T>(name: &str, told: Result<T, Unmeasured>) -> Result<T> {
    told.with_context(|| format!("cannot measure {name}"))
}

async fn start_picker(site: &Site<'_>, folder: &Path) -> Result<Picker> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let path = folder.join("endpoints.yaml");
    endpoints::write(&path, site.pods)?;
    let mut options = PickerOptions::default_profile();
    options.gateway = Gateway::Other;
    options.security = match site.security {
        Security::Plain => PickerSecurity::Plain,
        Security::UnverifiedTls => PickerSecurity::UnverifiedTls,
    };
    Picker::start(options, &path, folder).await
}

async fn start_floor(site: &Site<'_>, folder: &Path) -> Result<(Child, SocketAddr)> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let address = ports::free_address()?;
    let destinations: Vec<String> = site
        .pods
        .iter()
        .map(|pod| pod.address.to_string())
        .collect();
    let mut command = Command::new(binaries::pointsman()?);
    command
        .args(["bench", "floor", "--listen", &address.to_string()])
        .args(["--destinations", &destinations.join(",")]);
    let mut child = Child::start(FLOOR_NAME, command, folder)?;
    let ready = async || Ok(TcpStream::connect(address).await.map(drop)?);
    child.ready(READY_WAIT_MAX, ready).await?;
    Ok((child, address))
}

const PICKER_NAME: &str = "pointsman-epp";
const FLOOR_NAME: &str = "floor";
const EXPECTED: &str = "expected `pointsman-epp`, `floor` or [NAME=]HOST:PORT[@PID]";
const READY_WAIT_MAX: Duration = Duration::from_secs(10);
