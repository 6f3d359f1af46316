//! A request as the engine sees it: lengths and block keys.

use core::num::NonZeroU32;

use pointsman_domain::block::BlockKey;

/// Names one accepted request; an engine never gives the same name twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// A request as the engine sees it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The keys of the full blocks of the prompt followed by the output, as far as the caller knows
    /// them. A block without a key is never cached.
    pub keys: Vec<BlockKey>,
    /// Tokens of the prompt.
    pub prompt_tokens: NonZeroU32,
    /// Tokens that are generated before the request is finished.
    pub output_tokens: NonZeroU32,
}

/// Why the engine does not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Prompt and output together are longer than the whole KV memory.
    #[error("prompt and output need {tokens} tokens, the engine holds {tokens_max}")]
    Oversized {
        /// What the request needs.
        tokens: u64,
        /// What the engine has.
        tokens_max: u64,
    },
    /// As many requests wait as may wait.
    #[error("{waiting_max} requests are waiting already")]
    QueueFull {
        /// The limit.
        waiting_max: usize,
    },
}
