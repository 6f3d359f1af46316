//! Endpoints of a pool: who they are, and which life of theirs is meant.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One life of one endpoint.
///
/// The slot is a small index that tables use; the generation grows whenever the endpoint behind the
/// slot is another one or has restarted. A late fact about an old generation is dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointId {
    /// Index into per-endpoint tables.
    pub slot: u32,
    /// Which life of the slot.
    pub generation: u32,
}

impl EndpointId {
    /// The slot as an index.
    pub const fn index(self) -> usize {
        self.slot as usize
    }
}

impl fmt::Display for EndpointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// What discovery knows of an endpoint. Two descriptions with the same [`identity`] are one life.
///
/// [`identity`]: EndpointSpec::identity
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndpointSpec {
    /// `namespace/name`, unique within the pool.
    pub name: String,
    /// Where requests go.
    pub address: SocketAddr,
    /// Where the engine's metrics are read.
    pub metrics_address: SocketAddr,
    /// Pod uid or another mark of this life, where discovery knows one.
    pub incarnation: String,
    /// Labels of the pod.
    pub labels: BTreeMap<String, String>,
}

impl EndpointSpec {
    /// An endpoint without labels, whose metrics are read where it serves.
    pub const fn new(name: String, address: SocketAddr) -> Self {
        Self {
            name,
            address,
            metrics_address: address,
            incarnation: String::new(),
            labels: BTreeMap::new(),
        }
    }

    /// What must stay equal for the endpoint to be the same life: a change of it is a new generation.
    pub fn identity(&self) -> (&str, SocketAddr, &str) {
        (&self.name, self.address, &self.incarnation)
    }
}

/// One entry of a gateway's subset hint: an address with or without its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubsetEntry {
    /// The address.
    pub ip: IpAddr,
    /// The port; any port of that address when absent.
    pub port: Option<u16>,
}

impl SubsetEntry {
    /// Reads `ip`, `ip:port`, `[ip]:port` or `[ip]`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Some(Self {
                ip: address.ip(),
                port: Some(address.port()),
            });
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|t| t.strip_suffix(']'))
            .unwrap_or(text);
        bare.parse().ok().map(|ip| Self { ip, port: None })
    }

    /// Whether `address` is meant.
    pub fn admits(&self, address: SocketAddr) -> bool {
        self.ip == address.ip() && self.port.is_none_or(|port| port == address.port())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subset_entries_may_leave_out_the_port_and_use_brackets() {
        let admits = |entry: &str, address: &str| {
            SubsetEntry::parse(entry).is_some_and(|e| e.admits(address.parse().unwrap()))
        };
        assert!(admits("10.0.0.1", "10.0.0.1:8000"));
        assert!(admits("10.0.0.1:8000", "10.0.0.1:8000"));
        assert!(!admits("10.0.0.1:8001", "10.0.0.1:8000"));
        assert!(admits("fd00:1::5", "[fd00:1::5]:8000"));
        assert!(admits("[fd00:1::5]", "[fd00:1::5]:8000"));
        assert!(admits("[fd00:1::5]:8000", "[fd00:1::5]:8000"));
        assert!(SubsetEntry::parse("not an address").is_none());
        assert!(SubsetEntry::parse("").is_none());
    }
}
