//! What an engine tells about itself.

use core::time::Duration;

use pointsman_domain::units::Unit;

use crate::job::AdapterId;

/// The state of an engine and its totals since its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineStats {
    /// Requests that have a slot.
    pub running: usize,
    /// Requests that wait for a slot, or for their prompt to arrive.
    pub waiting: usize,
    /// Those of them that wait for something else than room in the batch: the plan of the step
    /// passed them over for want of a place for their adapter, or their prompt was not there when
    /// it was made.
    pub deferred: usize,
    /// The share of blocks that running requests hold; a cached block that nobody holds is free.
    pub kv_usage: Unit,
    /// Totals since the start.
    pub totals: EngineTotals,
}

/// Totals of an engine since its start; none of them ever falls. Steps count when they end.
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
    /// Requests that are finished.
    pub finished: u64,
    /// Adapters that were loaded.
    pub adapter_loads: u64,
    /// Steps. An idle engine takes none.
    pub steps: u64,
    /// The time that they took.
    pub busy: Duration,
    /// Steps that computed a part of a prompt.
    pub steps_with_prefill: u64,
    /// Steps in which nobody decoded.
    pub steps_without_decode: u64,
    /// The slots in use, summed over the steps.
    pub slot_steps: u64,
}

impl EngineTotals {
    /// The sums of these and `other`'s.
    pub const fn plus(&self, other: &Self) -> Self {
        Self {
            prefix_query_tokens: self.prefix_query_tokens + other.prefix_query_tokens,
            prefix_hit_tokens: self.prefix_hit_tokens + other.prefix_hit_tokens,
            preemptions: self.preemptions + other.preemptions,
            prompt_tokens: self.prompt_tokens + other.prompt_tokens,
            generation_tokens: self.generation_tokens + other.generation_tokens,
            finished: self.finished + other.finished,
            adapter_loads: self.adapter_loads + other.adapter_loads,
            steps: self.steps + other.steps,
            busy: self.busy.saturating_add(other.busy),
            steps_with_prefill: self.steps_with_prefill + other.steps_with_prefill,
            steps_without_decode: self.steps_without_decode + other.steps_without_decode,
            slot_steps: self.slot_steps + other.slot_steps,
        }
    }
}

/// The adapters that requests need, each named once, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adapters {
    /// Those of running requests.
    pub running: Vec<AdapterId>,
    /// Those of waiting requests.
    pub waiting: Vec<AdapterId>,
}
