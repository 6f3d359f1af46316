//! The endpoints file that the picker watches.

use core::net::SocketAddr;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// One line of the endpoints file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The endpoint's name, unique within the file.
    pub name: String,
    /// Where its engine listens.
    pub address: SocketAddr,
}

/// Replaces the endpoints file in one step, so that a reader never meets half of it.
pub fn write(path: &Path, entries: &[Entry]) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, serde_yaml::to_string(&document(entries))?)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn document(entries: &[Entry]) -> Value {
    let endpoints: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name,
                "namespace": "default",
                "address": entry.address.ip().to_string(),
                "port": entry.address.port().to_string(),
            })
        })
        .collect();
    json!({ "endpoints": endpoints })
}
