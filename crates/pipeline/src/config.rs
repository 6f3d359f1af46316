//! What a pool runs by. Built by `policy::compile` only.

use pointsman_admission::hold::HoldLimits;
use pointsman_domain::block::BlockSize;
use pointsman_domain::load::PrefillRate;
use pointsman_schedule::profile::Profile;
use serde::{Deserialize, Serialize};

use crate::rewrite::Rewrites;

/// The configuration in force.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeConfig {
    /// Scorers and picker.
    pub profile: Profile,
    /// How many endpoints an answer lists at most, best first; 1 or more.
    pub destinations_max: usize,
    /// Block size of the prefix index.
    pub block_size: BlockSize,
    /// What the prefix index learns from.
    pub prefix_source: PrefixSource,
    /// Byte budget of the prefix index.
    pub prefix_bytes_max: usize,
    /// What may wait while the pool is empty.
    pub hold: HoldLimits,
    /// Which models engines are asked for in the place of those that clients name.
    pub rewrites: Rewrites,
    /// How fast an endpoint computes prompts whose first output is not seen.
    pub prefill_rate: PrefillRate,
}

/// What the prefix index learns from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefixSource {
    /// Dispatches: an endpoint is taken to hold each prompt that it was sent.
    #[default]
    Predicted,
    /// Reports of the engines on their caches.
    Reported,
    /// Both. A prediction stays until a report takes it back or room is needed.
    ReportedAndPredicted,
}

impl PrefixSource {
    /// Whether dispatches are taken in.
    pub(crate) const fn is_predicted(self) -> bool {
        matches!(self, Self::Predicted | Self::ReportedAndPredicted)
    }

    /// Whether reports are taken in.
    pub(crate) const fn is_reported(self) -> bool {
        matches!(self, Self::Reported | Self::ReportedAndPredicted)
    }
}

/// What stands between clients and the picker. It decides what an answer may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attachment {
    /// A gateway of the user's, which may take one destination only.
    Gateway,
    /// The Envoy that comes with us, which tries the next destination when one fails.
    Standalone,
}
