//! A request inside the engine, running or not.

use pointsman_domain::block::BlockKey;

use crate::job::{Content, Job, JobId};

/// An accepted request.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: JobId,
    pub(crate) job: Job,
    /// Tokens of output so far.
    pub(crate) generated: u32,
    /// How often it got a slot.
    pub(crate) admissions: u32,
}

impl Request {
    pub(crate) const fn new(id: JobId, job: Job) -> Self {
        Self {
            id,
            job,
            generated: 0,
            admissions: 0,
        }
    }

    /// Tokens of the prompt and of the output so far.
    pub(crate) fn known_tokens(&self) -> u32 {
        self.job.prompt_tokens.get().saturating_add(self.generated)
    }

    /// The keys of the first `blocks` blocks, as far as they are known.
    pub(crate) fn keys(&self, blocks: usize) -> &[BlockKey] {
        let Content::Blocks(keys) = &self.job.content else {
            return &[];
        };
        keys.get(..blocks.min(keys.len())).unwrap_or(keys)
    }
}
