//! A request as the engine sees it: lengths, and names of what it may share with others.

use core::num::NonZeroU32;

use pointsman_domain::block::BlockKey;

/// Names one accepted request; an engine never gives the same name twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// A request as the engine sees it.
#[derive(Clone, Debug)]
pub struct Job {
    /// What of it other requests may have in common with it.
    pub content: Content,
    /// Tokens of the prompt.
    pub prompt_tokens: NonZeroU32,
    /// Tokens that are generated before the request is finished.
    pub output_tokens: NonZeroU32,
    /// The adapter that it needs.
    pub adapter: Option<AdapterId>,
}

/// Names an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AdapterId(pub u32);

/// What of a request other requests may have in common with it.
#[derive(Clone, Debug)]
pub enum Content {
    /// The keys of the full blocks of the prompt followed by the output, as far as the caller knows
    /// them. A block without a key is never cached. With [`Article`] batching each block of the
    /// prompt is a piece, and the blocks of the output are not cached.
    ///
    /// [`Article`]: crate::config::Batching::Article
    Blocks(Vec<BlockKey>),
    /// Parts of the prompt, first to last, each going on where the one before it ends. They are of
    /// any length, so [`Continuous`] batching, which caches blocks, caches nothing of them.
    ///
    /// [`Continuous`]: crate::config::Batching::Continuous
    Pieces(Vec<Piece>),
}

/// A part of the prompt that other prompts may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Names the whole prompt up to `end_tokens`.
    pub key: BlockKey,
    /// Tokens of the prompt up to the end of this piece.
    pub end_tokens: u32,
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
