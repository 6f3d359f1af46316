//! Batching as the founding article counts it, in ticks.
//!
//! At the beginning of a tick waiting requests are admitted in order, as many as may be in prefill.
//! An admitted request takes the blocks of its prompt and its whole output; the first one that finds
//! none lets nobody pass. Then the tick computes prompts, or decodes one token for each request whose
//! prompt is complete, or both, as [`TickOrder`] says. The end of prefill gives the first token, even
//! of a prompt that was cached as a whole, which still costs a tick.
//!
//! A prompt enters the cache when its prefill ends. Where an adapter has to be loaded, a step of the
//! time that this takes comes before the tick, in which the engine stands still; an adapter that is
//! in use may have to leave for it and comes back at no cost to those that use it.

use core::time::Duration;

use crate::adapters::{ResidentAdapters, Use};
use crate::config::{Article, EngineConfig, Role, TickOrder, TokenReports};
use crate::job::{AdapterId, JobId};
use crate::request::Request;
use crate::step::{Moment, Step};

use self::cache::PieceCache;

mod cache;

/// The running requests with what they hold.
#[derive(Debug)]
pub(crate) struct Batch {
    rules: Article,
    /// The length of a tick at the engine's speed.
    tick: Duration,
    cache: PieceCache,
    adapters: Option<ResidentAdapters>,
    /// Blocks that running requests hold. A request that is larger than the memory runs alone.
    held_blocks: u64,
    /// In the order of their admission.
    prefilling: Vec<Prefilling>,
    /// The last to finish first, so that a tick looks at the end alone.
    decoding: Vec<Decoding>,
    /// Of those in `decoding`, the ones whose prompt was transferred and that have no token yet.
    transferred: Vec<Transferred>,
    /// Ticks in which somebody decoded.
    decode_ticks: u64,
}

/// A request whose prompt is not complete yet.
#[derive(Debug)]
struct Prefilling {
    request: Request,
    blocks: u64,
    /// Prompt tokens that are still to be computed.
    left: u32,
}

/// A request that gets a token in each tick that decodes.
#[derive(Clone, Copy, Debug)]
struct Decoding {
    id: JobId,
    blocks: u64,
    adapter: Option<AdapterId>,
    output_tokens: u32,
    /// The number of the decode tick that gives its last token.
    finish: u64,
}

#[derive(Clone, Copy, Debug)]
struct Transferred {
    id: JobId,
    prompt_tokens: u32,
}

impl Batch {
    pub(crate) fn new(rules: Article, config: &EngineConfig) -> Self {
        Self {
            rules,
            tick: config.speed.of(rules.tick),
            cache: PieceCache::new(rules.cache_tokens_max, config.reports.cache),
            adapters: config.adapters.map(ResidentAdapters::new),
            held_blocks: 0,
            prefilling: Vec::new(),
            decoding: Vec::new(),
            transferred: Vec::new(),
            decode_ticks: 0,
        }
    }

    pub(crate) const fn running(&self) -> usize {
        self.prefilling.len() + self.decoding.len()
    }

    pub(crate) const fn held_blocks(&self) -> u64 {
        self.held_blocks
    }

    /// The adapters of running requests, in no order.
    pub(crate) fn adapters(&self) -> impl Iterator<Item = AdapterId> {
        let prefilling = self.prefilling.iter().map(|p| p.request.job.adapter);
        let decoding = self.decoding.iter().map(|d| d.adapter);
        prefilling.chain(decoding).flatten()
    }

    /// Plans a step; `None` if there is nothing to do.
    pub(crate) fn begin(&mut self, moment: &mut Moment<'_>) -> Option<Step> {
        let loads = self.admit(moment);
        if self.running() == 0 {
            return None;
        }
        let load_time = moment.config.load_time(loads);
        let (time, prefills, decodes) = if load_time > Duration::ZERO {
            (load_time, false, false)
        } else {
            let prefills = !self.prefilling.is_empty();
            let may_decode = !prefills || self.rules.order == TickOrder::Chunked;
            let decodes = may_decode && !self.decoding.is_empty();
            (self.tick, prefills, decodes)
        };
        Some(Step {
            begin: moment.at,
            end: moment.at.plus(time),
            slots: self.running(),
            prefills,
            decodes,
        })
    }

    /// Ends `step`.
    pub(crate) fn end(&mut self, step: &Step, moment: &mut Moment<'_>) {
        // In this order, as a request whose prefill ends does not decode in the same tick.
        if step.decodes {
            self.decode(moment);
        }
        if step.prefills {
            self.prefill(moment);
        }
    }

    /// Drops a request; returns whether it was running.
    pub(crate) fn cancel(&mut self, id: JobId) -> bool {
        if let Some(place) = self.prefilling.iter().position(|p| p.request.id == id) {
            self.held_blocks -= self.prefilling.remove(place).blocks;
            return true;
        }
        if let Some(place) = self.decoding.iter().position(|d| d.id == id) {
            self.held_blocks -= self.decoding.remove(place).blocks;
            self.transferred.retain(|t| t.id != id);
            return true;
        }
        false
    }

    /// Admits waiting requests; returns how many adapters have to be loaded for them.
    fn admit(&mut self, moment: &mut Moment<'_>) -> u32 {
        if self.rules.order == TickOrder::Static && self.running() > 0 {
            return 0;
        }
        let prefills_max = usize::try_from(self.rules.prefills_max.get()).unwrap_or(usize::MAX);
        let places = prefills_max.saturating_sub(self.prefilling.len());
        let mut loads = 0;
        for _ in 0..places {
            let Some((request, blocks)) = self.take_next(moment) else {
                break;
            };
            if let (Some(adapters), Some(adapter)) = (&mut self.adapters, request.job.adapter)
                && adapters.touch(adapter) == Use::Loaded
            {
                loads += 1;
                moment.adapter_loaded(adapter);
            }
            self.held_blocks += blocks;
            match moment.config.role {
                Role::Decode(_) => self.admit_transferred(&request, blocks, moment),
                Role::Both | Role::Prefill => self.admit_to_prefill(request, blocks, moment),
            }
        }
        loads
    }

    /// Takes the request at the head of the queue, if there is a slot and memory for it; returns it
    /// with the blocks that it needs.
    fn take_next(&self, moment: &mut Moment<'_>) -> Option<(Request, u64)> {
        if self.running() >= moment.config.slots() {
            return None;
        }
        let job = &moment.queue.candidate(|_| true)?.job;
        let tokens = u64::from(job.prompt_tokens.get()) + u64::from(job.output_tokens.get());
        let blocks = tokens.div_ceil(moment.config.block_size.tokens().0);
        let is_alone = self.running() == 0;
        if self.held_blocks + blocks > u64::from(moment.config.blocks.get()) && !is_alone {
            return None;
        }
        Some((moment.queue.take_candidate()?, blocks))
    }

    fn admit_to_prefill(&mut self, request: Request, blocks: u64, moment: &mut Moment<'_>) {
        let prompt_tokens = request.job.prompt_tokens.get();
        let found = self.cache.look_up(&request.job, moment.config);
        // Whole blocks are used, and no more than the prompt has.
        let cached_tokens = moment
            .config
            .tokens_in(moment.config.full_blocks(found.min(prompt_tokens)));
        moment.admitted(request.id, prompt_tokens, cached_tokens);
        self.prefilling.push(Prefilling {
            request,
            blocks,
            left: prompt_tokens - cached_tokens,
        });
    }

    /// The prompt is not looked up in the cache, as nothing of it has to be computed.
    fn admit_transferred(&mut self, request: &Request, blocks: u64, moment: &mut Moment<'_>) {
        moment.admitted(request.id, 0, 0);
        self.transferred.push(Transferred {
            id: request.id,
            prompt_tokens: request.job.prompt_tokens.get(),
        });
        let output_tokens = request.job.output_tokens.get();
        self.start_decoding(request, blocks, output_tokens);
    }

    /// Lets `request` decode from the next decode tick on, in so many of them.
    fn start_decoding(&mut self, request: &Request, blocks: u64, ticks: u32) {
        let decoding = Decoding {
            id: request.id,
            blocks,
            adapter: request.job.adapter,
            output_tokens: request.job.output_tokens.get(),
            finish: self.decode_ticks + u64::from(ticks),
        };
        let later = |other: &Decoding| other.finish > decoding.finish;
        let place = self.decoding.partition_point(later);
        self.decoding.insert(place, decoding);
    }

    /// Gives each request that decodes a token.
    fn decode(&mut self, moment: &mut Moment<'_>) {
        self.decode_ticks += 1;
        moment.totals.generation_tokens += self.decoding.len() as u64;
        for transferred in self.transferred.drain(..) {
            moment.totals.prompt_tokens += u64::from(transferred.prompt_tokens);
            if moment.config.reports.tokens == TokenReports::First {
                moment.report_token(transferred.id, 0);
            }
        }
        if moment.config.reports.tokens == TokenReports::Every {
            for decoding in self.decoding.iter().rev() {
                moment.report_token(decoding.id, decoding.index(self.decode_ticks));
            }
        }
        let ticks = self.decode_ticks;
        while let Some(decoding) = self.decoding.pop_if(|d| d.finish <= ticks) {
            self.held_blocks -= decoding.blocks;
            moment.finished(decoding.id);
        }
    }

    /// Computes a part of each prompt that is not complete.
    fn prefill(&mut self, moment: &mut Moment<'_>) {
        let budget = self.rules.prefill_tokens_per_tick.get();
        let mut place = 0;
        while let Some(prefilling) = self.prefilling.get_mut(place) {
            prefilling.left = prefilling.left.saturating_sub(budget);
            if prefilling.left > 0 {
                place += 1;
            } else {
                let prefilling = self.prefilling.remove(place);
                self.complete_prefill(&prefilling, moment);
            }
        }
    }

    /// The prompt is complete: the request has its first token, and others can use what it computed.
    fn complete_prefill(&mut self, prefilling: &Prefilling, moment: &mut Moment<'_>) {
        let Prefilling {
            request, blocks, ..
        } = prefilling;
        moment.totals.prompt_tokens += u64::from(request.job.prompt_tokens.get());
        moment.totals.generation_tokens += 1;
        moment.report_token(request.id, 0);
        self.cache.enter(&request.job, moment.config);
        moment.report_changes(self.cache.log());
        let ticks = match moment.config.role {
            Role::Prefill => 0,
            Role::Both | Role::Decode(_) => request.job.output_tokens.get() - 1,
        };
        if ticks == 0 {
            self.held_blocks -= blocks;
            moment.finished(request.id);
        } else {
            self.start_decoding(request, *blocks, ticks);
        }
    }
}

impl Decoding {
    /// The place in the output of the token that decode tick `tick` gives.
    fn index(&self, tick: u64) -> u32 {
        let left = u32::try_from(self.finish.saturating_sub(tick)).unwrap_or(u32::MAX);
        self.output_tokens.saturating_sub(left).saturating_sub(1)
    }
}

#[cfg(test)]
mod tests;
