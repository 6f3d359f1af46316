//! What a pool runs by. Built by `policy::compile` only.

use pointsman_admission::hold::HoldLimits;
use pointsman_domain::block::BlockSize;
use pointsman_schedule::profile::Profile;

/// The configuration in force.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeConfig {
    /// Scorers and picker.
    pub profile: Profile,
    /// How many endpoints an answer lists at most, best first; 1 or more.
    pub destinations_max: usize,
    /// Block size of the prefix index.
    pub block_size: BlockSize,
    /// Byte budget of the prefix index.
    pub prefix_bytes_max: usize,
    /// What may wait while the pool is empty.
    pub hold: HoldLimits,
}
