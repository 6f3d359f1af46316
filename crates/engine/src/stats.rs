//! What an engine tells about itself.

use pointsman_domain::units::Unit;

/// The state of an engine and its totals since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineStats {
    /// Requests that have a slot.
    pub running: usize,
    /// Requests that wait for a slot.
    pub waiting: usize,
    /// The share of blocks that running requests hold; a cached block that nobody holds is free.
    pub kv_usage: Unit,
    /// Totals since the start.
    pub totals: EngineTotals,
}

/// Totals of an engine since its start; none of them ever falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineTotals {
    /// Prompt tokens that were looked up in the prefix cache, at first admission only.
    pub prefix_query_tokens: u64,
    /// Those of them that were found.
    pub prefix_hit_tokens: u64,
    /// Preemptions.
    pub preemptions: u64,
    /// Tokens of prompts whose prefill is complete, cached ones included.
    pub prompt_tokens: u64,
    /// Tokens of output.
    pub generation_tokens: u64,
}
