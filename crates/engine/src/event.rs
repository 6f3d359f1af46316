//! What happens inside the engine.

use pointsman_domain::block::BlockKey;
use pointsman_domain::time::Timestamp;

use crate::job::{AdapterId, JobId};

/// What happened, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineEvent {
    /// A request got a slot for the first time.
    Admitted {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
        /// Prompt tokens that were found in the cache.
        cached_tokens: u32,
    },
    /// A request got a slot again after a preemption.
    Resumed {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
        /// Tokens of prompt and output so far that were still in the cache.
        cached_tokens: u32,
    },
    /// A request lost its slot and its memory to an older one and waits at the head of the queue.
    Preempted {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
    },
    /// A request has one more token of output.
    Token {
        /// The request.
        id: JobId,
        /// When the step ended.
        at: Timestamp,
        /// The token's place in the output, from 0.
        index: u32,
    },
    /// A request's output is complete; follows the last token.
    Finished {
        /// The request.
        id: JobId,
        /// When the step ended.
        at: Timestamp,
    },
    /// A block or a piece entered the prefix cache.
    Cached {
        /// Its key.
        key: BlockKey,
        /// Where a step fills blocks, when it began; where pieces enter after prefill, when it ended.
        at: Timestamp,
    },
    /// A block or a piece left the prefix cache.
    Evicted {
        /// Its key.
        key: BlockKey,
        /// When the step began, or ended, that needed its room.
        at: Timestamp,
    },
    /// An adapter is being loaded; it is resident from now on.
    AdapterLoaded {
        /// The adapter.
        adapter: AdapterId,
        /// When the step began that waits for it.
        at: Timestamp,
    },
}
