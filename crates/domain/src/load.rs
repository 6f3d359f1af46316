//! Loads: what an engine reports of itself, and what we know that we sent it.

use crate::time::Timestamp;
use crate::units::{Tokens, Unit};

/// What one scrape of an engine's metrics said. A family that was missing or senseless is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadSample {
    /// Requests waiting in the engine's queue.
    pub waiting: Option<u32>,
    /// Requests in the engine's batch.
    pub running: Option<u32>,
    /// Share of KV blocks in use.
    pub kv_usage: Option<Unit>,
    /// Tokens per KV block.
    pub kv_block_tokens: Option<u32>,
    /// KV blocks of the engine.
    pub kv_blocks: Option<u32>,
    /// Start of the engine's process, in seconds since 1970.
    pub process_start_seconds: Option<f64>,
}

/// An endpoint's load as last reported, with its age.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndpointLoad {
    /// Requests waiting in the engine's queue.
    pub waiting: u32,
    /// Requests in the engine's batch.
    pub running: u32,
    /// Share of KV blocks in use.
    pub kv_usage: Unit,
    /// KV cache size in tokens, where the engine tells it.
    pub kv_tokens: Option<Tokens>,
    /// When the values were read; `None` before the first scrape.
    pub sampled_at: Option<Timestamp>,
}

/// Our own requests at one endpoint, exact at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLoad {
    /// Requests in flight.
    pub requests: u32,
    /// Of these, requests whose first output was not seen yet.
    pub before_first_token: u32,
    /// Prompt tokens not in the endpoint's cache, of requests whose first output was not seen yet.
    pub uncached_tokens: Tokens,
}
