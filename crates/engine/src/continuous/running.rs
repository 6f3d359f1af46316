//! A request that has a slot.

use crate::config::{EngineConfig, Role};
use crate::memory::{Hit, KvMemory};
use crate::request::Request;

use super::Draft;

/// A request that has a slot.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) request: Request,
    /// Tokens whose KV entries exist.
    pub(super) computed: u32,
    /// Tokens that the step in progress adds to `computed`.
    scheduled: u32,
    /// Up to here computing is prefill, from here on decoding.
    prefill_tokens: u32,
    /// Leading blocks that have their key and are shared through the cache.
    pub(super) published: usize,
    /// Blocks behind those.
    pub(super) private: u32,
}

/// How a waiting request fits into the memory.
#[derive(Debug)]
pub(super) struct Fit {
    /// Tokens of prompt and output so far.
    pub(super) known_tokens: u32,
    /// Those of them that are cached.
    pub(super) cached_tokens: u32,
    hit: Hit,
    /// Blocks that the others need.
    private: u32,
}

impl Fit {
    /// `None` if there is no memory for all the known tokens of `request`.
    pub(super) fn find(
        request: &Request,
        config: &EngineConfig,
        memory: &KvMemory,
    ) -> Option<Self> {
        let known_tokens = request.known_tokens();
        // The last token is computed even if it is cached: its result is the next token.
        let usable = config.full_blocks(known_tokens.saturating_sub(1));
        let hit = memory.lookup(request.keys(usable));
        let cached_tokens = config.tokens_in(hit.blocks);
        let private = config.blocks_for(known_tokens - cached_tokens);
        memory.has_room(private, hit).then_some(Self {
            known_tokens,
            cached_tokens,
            hit,
            private,
        })
    }
}

impl Running {
    /// Takes the memory that was found.
    pub(super) fn admit(mut request: Request, fit: Fit, role: Role, memory: &mut KvMemory) -> Self {
        memory.hold(request.keys(fit.hit.blocks));
        let allocated = memory.allocate(fit.private);
        debug_assert!(allocated, "the memory was free when it was looked for");
        // A prompt that was transferred is computed but for its last token, whose result is the
        // first token of the output. After a preemption nothing is transferred again.
        let transferred = matches!(role, Role::Decode(_)) && request.admissions == 0;
        let (computed, prefill_tokens) = if transferred {
            let computed = fit.known_tokens.saturating_sub(1);
            (computed, computed)
        } else {
            (fit.cached_tokens, fit.known_tokens)
        };
        request.admissions += 1;
        Self {
            request,
            computed,
            scheduled: 0,
            prefill_tokens,
            published: fit.hit.blocks,
            private: fit.private,
        }
    }

    /// Gives back slot and memory; full blocks stay in the cache.
    pub(super) fn release(self, memory: &mut KvMemory) -> Request {
        memory.release(self.request.keys(self.published), self.private);
        self.request
    }

    /// Takes the block that the next token needs, if it needs one; false if there is none.
    pub(super) fn grow(&mut self, config: &EngineConfig, memory: &mut KvMemory) -> bool {
        let published = u32::try_from(self.published).unwrap_or(u32::MAX);
        let needed = config.blocks_for(self.request.known_tokens());
        let missing = needed.saturating_sub(published.saturating_add(self.private));
        if !memory.allocate(missing) {
            return false;
        }
        self.private += missing;
        true
    }

    /// Plans this step, within the budget of `draft`. Blocks that the step fills are in the cache
    /// from its beginning, as a request of the same step may use them.
    pub(super) fn schedule(
        &mut self,
        draft: &mut Draft,
        config: &EngineConfig,
        memory: &mut KvMemory,
    ) {
        let prefill = self.prefill_tokens.saturating_sub(self.computed);
        if prefill == 0 {
            draft.decoding += 1;
            self.scheduled = 1;
        } else {
            self.scheduled = prefill.min(draft.budget);
            draft.budget -= self.scheduled;
        }
        let full = config.full_blocks(self.computed + self.scheduled);
        let keys = self.request.keys(full);
        for &key in keys.iter().skip(self.published) {
            memory.publish(key);
            self.published += 1;
            self.private = self.private.saturating_sub(1);
        }
    }

    /// Ends this request's part of a step; true if it has a new token.
    pub(super) fn complete_step(&mut self) -> bool {
        self.computed += self.scheduled;
        let advanced = self.scheduled > 0;
        self.scheduled = 0;
        advanced && self.computed >= self.request.known_tokens()
    }
}
