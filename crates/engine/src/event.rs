//! What happens to a request inside the engine.

use pointsman_domain::time::Timestamp;

use crate::job::JobId;

/// What happened to one request, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineEvent {
    /// It got a slot for the first time.
    Admitted {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
        /// Prompt tokens that were found in the cache.
        cached_tokens: u32,
    },
    /// It got a slot again after a preemption.
    Resumed {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
        /// Tokens of prompt and output so far that were still in the cache.
        cached_tokens: u32,
    },
    /// It lost its slot and its memory to an older request and waits at the head of the queue.
    Preempted {
        /// The request.
        id: JobId,
        /// When the step began.
        at: Timestamp,
    },
    /// One more token of output exists.
    Token {
        /// The request.
        id: JobId,
        /// When the step ended.
        at: Timestamp,
        /// The token's place in the output, from 0.
        index: u32,
    },
    /// Its output is complete; follows the last token.
    Finished {
        /// The request.
        id: JobId,
        /// When the step ended.
        at: Timestamp,
    },
}
