//! What the pool answers. A refusal is an answer, not an error.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::endpoint::EndpointId;

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Send it there.
    Picked(Pick),
    /// Answer it now, in place of an engine.
    Refused(Refusal),
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pick {
    /// Best first; the gateway tries the next when one fails. Never empty.
    pub destinations: SmallVec<[Destination; 3]>,
    /// The model to name to the engine, where it is not the one that the body names.
    pub model: Option<Box<str>>,
}

/// One endpoint of a pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// The endpoint's life that was meant.
    pub endpoint: EndpointId,
    /// Its address at the time of the pick.
    pub address: SocketAddr,
}

/// Why a request is not sent to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The pool, or the part of it that the gateway's subset admits, is empty.
    NoEndpoints,
    /// It waited for an endpoint as long as it may.
    NoEndpointsInTime,
    /// No room to hold it: the limit on held requests or bytes is reached.
    HoldFull,
    /// Every endpoint was filtered out.
    Saturated,
    /// The process is ending.
    ShuttingDown,
    /// It names no model, its dialect or a rule of the pool reads it, and no rule gives one.
    ModelMissing,
}

impl Refusal {
    /// All refusals, for tables and tests.
    pub const ALL: [Self; 6] = [
        Self::NoEndpoints,
        Self::NoEndpointsInTime,
        Self::HoldFull,
        Self::Saturated,
        Self::ShuttingDown,
        Self::ModelMissing,
    ];

    /// The value of the dropped-reason header and of metric labels.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoEndpoints | Self::NoEndpointsInTime => "rejected-no-endpoints",
            Self::HoldFull | Self::Saturated => "rejected-saturated",
            Self::ShuttingDown => "rejected-shutting-down",
            Self::ModelMissing => "rejected-model-missing",
        }
    }
}
