//! The engine: a queue, a batch, and steps.
//!
//! A step begins with a plan and ends with its results. The plan goes through the running requests
//! in the order of their admission: one that decodes computes one token, one that still has prompt
//! to compute gets a chunk of what is left of the step's prefill budget. Then waiting requests are
//! admitted in order while there is a slot, budget, and memory for their whole prompt. The rules
//! are those of vLLM's scheduler, but for two: decoding does not use up the budget, and a prompt's
//! memory is taken when it is admitted, not chunk by chunk.

use std::collections::VecDeque;

use pointsman_domain::block::BlockKey;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;

use crate::config::EngineConfig;
use crate::event::EngineEvent;
use crate::job::{Job, JobId, Refusal};
use crate::memory::KvMemory;
use crate::stats::{EngineStats, EngineTotals};

/// A model of one inference engine.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    memory: KvMemory,
    waiting: VecDeque<Request>,
    /// In the order of their admission, the oldest first.
    running: Vec<Running>,
    step_end: Option<Timestamp>,
    jobs: u64,
    totals: EngineTotals,
}

/// A request, running or not.
#[derive(Debug)]
struct Request {
    id: JobId,
    job: Job,
    generated: u32,
    admissions: u32,
}

/// A request that has a slot.
#[derive(Debug)]
struct Running {
    request: Request,
    /// Tokens whose KV entries exist.
    computed: u32,
    /// Tokens that the step in progress adds to `computed`.
    scheduled: u32,
    /// Tokens known at admission: up to here computing is prefill, from here on decoding.
    prefill_tokens: u32,
    /// Leading blocks that have their key and are shared through the cache.
    published: usize,
    /// Blocks behind those.
    private: u32,
}

impl Engine {
    /// An idle engine with an empty cache.
    pub fn new(config: EngineConfig) -> Self {
        Self {
            config,
            memory: KvMemory::new(config.blocks.get()),
            waiting: VecDeque::new(),
            running: Vec::new(),
            step_end: None,
            jobs: 0,
            totals: EngineTotals::default(),
        }
    }

    /// Puts `job` at the end of the queue. It is looked at when the next step begins: call
    /// [`Self::advance`] before this, so that no earlier step is still due, and after it, so that an
    /// idle engine begins.
    pub fn submit(&mut self, job: Job) -> Result<JobId, Refusal> {
        self.config.check(job.prompt_tokens, job.output_tokens)?;
        let waiting_max = self.config.waiting_max;
        if self.waiting.len() >= waiting_max {
            return Err(Refusal::QueueFull { waiting_max });
        }
        let id = JobId(self.jobs);
        self.jobs += 1;
        self.waiting.push_back(Request {
            id,
            job,
            generated: 0,
            admissions: 0,
        });
        Ok(id)
    }

    /// Drops a request and frees its slot and memory at once; a step in progress still takes its
    /// time. Returns whether there was such a request.
    pub fn cancel(&mut self, id: JobId) -> bool {
        if let Some(place) = self.running.iter().position(|r| r.request.id == id) {
            self.running.remove(place).release(&mut self.memory);
            return true;
        }
        let before = self.waiting.len();
        self.waiting.retain(|request| request.id != id);
        self.waiting.len() < before
    }

    /// Brings the engine to `now`: ends each step whose end has come, and begins the next one where
    /// it ended. Returns when the step in progress ends, at which time this is to be called again,
    /// or `None` if the engine is idle. Calling it more often changes nothing.
    pub fn advance(&mut self, now: Timestamp, events: &mut Vec<EngineEvent>) -> Option<Timestamp> {
        while let Some(end) = self.step_end.filter(|&end| end <= now) {
            self.end_step(end, events);
            self.begin_step(end, events);
        }
        if self.step_end.is_none() {
            self.begin_step(now, events);
        }
        self.step_end
    }

    /// What the engine tells about itself.
    pub fn stats(&self) -> EngineStats {
        EngineStats {
            running: self.running.len(),
            waiting: self.waiting.len(),
            kv_usage: Unit::ratio(
                f64::from(self.memory.held()),
                f64::from(self.config.blocks.get()),
            ),
            totals: self.totals,
        }
    }

    fn begin_step(&mut self, now: Timestamp, events: &mut Vec<EngineEvent>) {
        let budget_max = self.config.prefill_tokens_per_step_max.get();
        let budget = self.schedule_running(now, budget_max, events);
        let budget = self.admit(now, budget, events);
        let step_time = self.config.step_time(budget_max - budget);
        self.step_end = (!self.running.is_empty()).then(|| now.plus(step_time));
    }

    /// Plans the step for the running requests; returns what is left of the prefill budget.
    fn schedule_running(
        &mut self,
        now: Timestamp,
        mut budget: u32,
        events: &mut Vec<EngineEvent>,
    ) -> u32 {
        let mut place = 0;
        while let Some(running) = self.running.get_mut(place) {
            if running.grow(&self.config, &mut self.memory) {
                budget -= running.schedule(budget, &self.config, &mut self.memory);
                place += 1;
            } else {
                self.preempt_youngest(now, events);
            }
        }
        budget
    }

    /// Admits waiting requests; returns what is left of the prefill budget.
    fn admit(&mut self, now: Timestamp, mut budget: u32, events: &mut Vec<EngineEvent>) -> u32 {
        let slots = usize::try_from(self.config.slots.get()).unwrap_or(usize::MAX);
        while budget > 0 && self.running.len() < slots {
            let Some(request) = self.waiting.pop_front() else {
                break;
            };
            let (id, admissions) = (request.id, request.admissions);
            let mut running = match Running::admit(request, &self.config, &mut self.memory) {
                Ok(running) => running,
                Err(request) => {
                    self.waiting.push_front(request);
                    break;
                }
            };
            let (at, cached_tokens) = (now, running.computed);
            if admissions == 0 {
                self.totals.prefix_query_tokens += u64::from(running.prefill_tokens);
                self.totals.prefix_hit_tokens += u64::from(cached_tokens);
                events.push(EngineEvent::Admitted {
                    id,
                    at,
                    cached_tokens,
                });
            } else {
                events.push(EngineEvent::Resumed {
                    id,
                    at,
                    cached_tokens,
                });
            }
            budget -= running.schedule(budget, &self.config, &mut self.memory);
            self.running.push(running);
        }
        budget
    }

    /// The victim does not come back in the same step, as it needs the block that it made room for.
    fn preempt_youngest(&mut self, at: Timestamp, events: &mut Vec<EngineEvent>) {
        if let Some(running) = self.running.pop() {
            let request = running.release(&mut self.memory);
            self.totals.preemptions += 1;
            events.push(EngineEvent::Preempted { id: request.id, at });
            self.waiting.push_front(request);
        }
    }

    fn end_step(&mut self, at: Timestamp, events: &mut Vec<EngineEvent>) {
        let finished = |running: &mut Running| {
            if !running.complete_step() {
                return false;
            }
            let request = &mut running.request;
            let (id, index) = (request.id, request.generated);
            if index == 0 {
                self.totals.prompt_tokens += u64::from(request.job.prompt_tokens.get());
            }
            request.generated += 1;
            self.totals.generation_tokens += 1;
            events.push(EngineEvent::Token { id, at, index });
            let finished = request.generated >= request.job.output_tokens.get();
            if finished {
                events.push(EngineEvent::Finished { id, at });
            }
            finished
        };
        for running in self.running.extract_if(.., finished) {
            running.release(&mut self.memory);
        }
    }
}

impl Request {
    /// Tokens of the prompt and of the output so far.
    fn known_tokens(&self) -> u32 {
        self.job.prompt_tokens.get().saturating_add(self.generated)
    }

    /// The keys of the first `blocks` blocks, as far as they are known.
    fn keys(&self, blocks: usize) -> &[BlockKey] {
        let keys = &self.job.keys;
        keys.get(..blocks.min(keys.len())).unwrap_or(keys)
    }
}

impl Running {
    /// Gives `request` the memory for all its known tokens, or gives it back.
    fn admit(
        mut request: Request,
        config: &EngineConfig,
        memory: &mut KvMemory,
    ) -> Result<Self, Request> {
        let known = request.known_tokens();
        // The last token is computed even if it is cached: its result is the next token.
        let usable = config.full_blocks(known.saturating_sub(1));
        let hit = memory.lookup(request.keys(usable));
        let cached_tokens = config.tokens_in(hit.blocks);
        let private = config.blocks_for(known - cached_tokens);
        if !memory.has_room(private, hit) {
            return Err(request);
        }
        memory.hold(request.keys(hit.blocks));
        memory.allocate(private);
        request.admissions += 1;
        Ok(Self {
            request,
            computed: cached_tokens,
            scheduled: 0,
            prefill_tokens: known,
            published: hit.blocks,
            private,
        })
    }

    /// Gives back slot and memory; full blocks stay in the cache.
    fn release(self, memory: &mut KvMemory) -> Request {
        memory.release(self.request.keys(self.published), self.private);
        self.request
    }

    /// Takes the block that the next token needs, if it needs one; false if there is none.
    fn grow(&mut self, config: &EngineConfig, memory: &mut KvMemory) -> bool {
        let published = u32::try_from(self.published).unwrap_or(u32::MAX);
        let needed = config.blocks_for(self.request.known_tokens());
        let missing = needed.saturating_sub(published.saturating_add(self.private));
        if !memory.allocate(missing) {
            return false;
        }
        self.private += missing;
        true
    }

    /// Plans this step; returns the prefill tokens that it takes out of `budget`. Blocks that the
    /// step fills are in the cache from its beginning, as a request of the same step may use them.
    fn schedule(&mut self, budget: u32, config: &EngineConfig, memory: &mut KvMemory) -> u32 {
        let prefill = self.prefill_tokens.saturating_sub(self.computed);
        let taken = prefill.min(budget);
        self.scheduled = if prefill == 0 { 1 } else { taken };
        let full = config.full_blocks(self.computed + self.scheduled);
        let keys = self.request.keys(full);
        for &key in keys.iter().skip(self.published) {
            memory.publish(key);
            self.published += 1;
            self.private = self.private.saturating_sub(1);
        }
        taken
    }

    /// Ends this request's part of a step; true if it has a new token.
    fn complete_step(&mut self) -> bool {
        self.computed += self.scheduled;
        let advanced = self.scheduled > 0;
        self.scheduled = 0;
        advanced && self.computed >= self.request.known_tokens()
    }
}

#[cfg(test)]
mod tests;
