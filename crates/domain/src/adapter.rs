//! LoRA adapters at an engine.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use xxhash_rust::xxh3::xxh3_64;

/// An adapter by its name, which is that of the model that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AdapterKey(u64);

impl AdapterKey {
    /// The adapter of that name.
    pub fn of(name: &str) -> Self {
        Self::of_bytes(name.as_bytes())
    }

    /// The adapter of that name, where it need not be text.
    pub fn of_bytes(name: &[u8]) -> Self {
        Self(xxh3_64(name))
    }
}

/// What an engine tells of its adapters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapters {
    /// Those that requests in the batch use.
    pub running: AdapterSet,
    /// Those that requests in the queue wait for.
    pub waiting: AdapterSet,
    /// How many can be in memory at once.
    pub slots: Option<u32>,
}

/// Some adapters; in place for as many as most engines hold.
pub type AdapterSet = SmallVec<[AdapterKey; 8]>;
