//! The shape and speed of one engine.

use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::BlockSize;

use crate::job::Refusal;

/// The shape and speed of one engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// Requests that can run at once.
    pub slots: NonZeroU32,
    /// Blocks of KV memory, shared by running requests and the prefix cache.
    pub blocks: NonZeroU32,
    /// Tokens in a block.
    pub block_size: BlockSize,
    /// Prompt tokens that are computed in a second of prefill.
    pub prefill_tokens_per_second: NonZeroU32,
    /// Prompt tokens that one step computes at most, over all requests; decoding is not counted.
    pub prefill_tokens_per_step_max: NonZeroU32,
    /// What each step costs besides its prefill.
    pub decode_step: Duration,
    /// Requests that may wait for a slot; further ones are refused.
    pub waiting_max: usize,
}

impl EngineConfig {
    /// Tokens that the whole KV memory holds: no request can be longer.
    pub const fn tokens_max(&self) -> u64 {
        self.blocks.get() as u64 * self.block_size.tokens().0
    }

    /// Whether a prompt and an output of these lengths fit into the KV memory at all.
    pub fn check(
        &self,
        prompt_tokens: NonZeroU32,
        output_tokens: NonZeroU32,
    ) -> Result<(), Refusal> {
        let tokens = u64::from(prompt_tokens.get()) + u64::from(output_tokens.get());
        let tokens_max = self.tokens_max();
        if tokens > tokens_max {
            return Err(Refusal::Oversized { tokens, tokens_max });
        }
        Ok(())
    }

    /// Blocks that hold `tokens` tokens.
    pub(crate) fn blocks_for(&self, tokens: u32) -> u32 {
        let blocks = u64::from(tokens).div_ceil(self.block_size.tokens().0);
        u32::try_from(blocks).unwrap_or(u32::MAX)
    }

    /// Blocks that `tokens` tokens fill to the end.
    pub(crate) fn full_blocks(&self, tokens: u32) -> usize {
        let blocks = u64::from(tokens) / self.block_size.tokens().0;
        usize::try_from(blocks).unwrap_or(usize::MAX)
    }

    /// Tokens in `blocks` full blocks.
    pub(crate) fn tokens_in(&self, blocks: usize) -> u32 {
        let tokens = (blocks as u64).saturating_mul(self.block_size.tokens().0);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }

    /// How long a step takes that computes `prefill_tokens` prompt tokens.
    pub(crate) fn step_time(&self, prefill_tokens: u32) -> Duration {
        let nanos = u64::from(prefill_tokens) * NANOS_PER_SECOND
            / u64::from(self.prefill_tokens_per_second.get());
        self.decode_step.saturating_add(Duration::from_nanos(nanos))
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;
