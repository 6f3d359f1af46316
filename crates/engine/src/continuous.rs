//! Continuous batching by the rules of vLLM's scheduler.
//!
//! The plan of a step goes through the running requests in the order of their admission: one that
//! decodes computes one token, one that still has prompt to compute gets a chunk of what is left of
//! the step's prefill budget. Then waiting requests are admitted in order while there is a slot,
//! budget, and memory for their whole prompt; one whose adapter finds no place is passed over. Two
//! rules are not vLLM's: decoding does not use up the budget, and a prompt's memory is taken when it
//! is admitted, not chunk by chunk.

use core::time::Duration;

use crate::adapters::{ResidentAdapters, Use};
use crate::config::{self, Continuous, EngineConfig, Role, TokenReports};
use crate::event::EngineEvent;
use crate::job::{AdapterId, JobId};
use crate::memory::KvMemory;
use crate::queue::Queue;
use crate::request::Request;
use crate::step::{Moment, Step};

use self::running::{Fit, Running};

mod running;

/// The running requests with their memory and their adapters.
#[derive(Debug)]
pub(crate) struct Batch {
    rules: Continuous,
    memory: KvMemory,
    adapters: Option<ResidentAdapters>,
    /// In the order of their admission, the oldest first.
    running: Vec<Running>,
}

/// What the step that is being planned is made of so far.
#[derive(Debug)]
struct Draft {
    /// Prompt tokens that it can still compute.
    budget: u32,
    /// Requests that decode.
    decoding: u32,
    /// Adapters that are loaded first.
    loads: u32,
}

impl Batch {
    pub(crate) fn new(rules: Continuous, config: &EngineConfig) -> Self {
        Self {
            rules,
            memory: KvMemory::new(config.blocks.get(), config.reports.cache),
            adapters: config.adapters.map(ResidentAdapters::new),
            running: Vec::new(),
        }
    }

    pub(crate) const fn running(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn held_blocks(&self) -> u64 {
        u64::from(self.memory.held())
    }

    /// The adapters of running requests, in no order.
    pub(crate) fn adapters(&self) -> impl Iterator<Item = AdapterId> {
        let adapter = |running: &Running| running.request.job.adapter;
        self.running.iter().filter_map(adapter)
    }

    /// Plans a step; `None` if there is nothing to do.
    pub(crate) fn begin(&mut self, moment: &mut Moment<'_>) -> Option<Step> {
        let budget_max = self.rules.prefill_tokens_per_step_max.get();
        let mut draft = Draft {
            budget: budget_max,
            decoding: 0,
            loads: 0,
        };
        self.schedule_running(&mut draft, moment);
        self.admit(&mut draft, moment);
        moment.report_changes(self.memory.log());
        if self.running.is_empty() {
            return None;
        }
        let prefill_tokens = budget_max - draft.budget;
        let time = self.time(prefill_tokens, draft.loads, moment.config);
        Some(Step {
            begin: moment.at,
            end: moment.at.plus(time),
            slots: self.running.len(),
            prefills: prefill_tokens > 0,
            decodes: draft.decoding > 0,
        })
    }

    /// Ends the step in progress.
    pub(crate) fn end(&mut self, moment: &mut Moment<'_>) {
        let finished = |running: &mut Running| {
            running.complete_step() && generate(&mut running.request, moment)
        };
        let mut has_room = false;
        for running in self.running.extract_if(.., finished) {
            let request = running.release(&mut self.memory);
            has_room |= release_adapter(&request, self.adapters.as_mut());
        }
        if has_room {
            moment.queue.reconsider();
        }
    }

    /// Drops a request; returns whether it was running.
    pub(crate) fn cancel(&mut self, id: JobId, queue: &mut Queue) -> bool {
        let place = self.running.iter().position(|r| r.request.id == id);
        let Some(place) = place else {
            return false;
        };
        let request = self.running.remove(place).release(&mut self.memory);
        if release_adapter(&request, self.adapters.as_mut()) {
            queue.reconsider();
        }
        true
    }

    fn schedule_running(&mut self, draft: &mut Draft, moment: &mut Moment<'_>) {
        let mut place = 0;
        while let Some(running) = self.running.get_mut(place) {
            if running.grow(moment.config, &mut self.memory) {
                running.schedule(draft, moment.config, &mut self.memory);
                place += 1;
            } else {
                self.preempt_youngest(moment);
            }
        }
    }

    /// The victim does not come back in the same step, as it needs the block that it made room for.
    fn preempt_youngest(&mut self, moment: &mut Moment<'_>) {
        let Some(running) = self.running.pop() else {
            return;
        };
        let request = running.release(&mut self.memory);
        release_adapter(&request, self.adapters.as_mut());
        let (id, at) = (request.id, moment.at);
        moment.totals.preemptions += 1;
        moment.events.push(EngineEvent::Preempted { id, at });
        moment.queue.put_back(request);
    }

    fn admit(&mut self, draft: &mut Draft, moment: &mut Moment<'_>) {
        while draft.budget > 0 && self.running.len() < moment.config.slots() {
            let adapters = self.adapters.as_ref();
            let has_adapter = |request: &Request| match (adapters, request.job.adapter) {
                (Some(adapters), Some(adapter)) => adapters.has_room(adapter),
                _ => true,
            };
            let candidate = moment.queue.candidate(has_adapter);
            let fit = candidate.and_then(|r| Fit::find(r, moment.config, &self.memory));
            let Some(fit) = fit else {
                break;
            };
            let Some(request) = moment.queue.take_candidate() else {
                break;
            };
            if request.admissions == 0 {
                moment.admitted(request.id, fit.known_tokens, fit.cached_tokens);
            } else {
                moment.events.push(EngineEvent::Resumed {
                    id: request.id,
                    at: moment.at,
                    cached_tokens: fit.cached_tokens,
                });
            }
            if let (Some(adapters), Some(adapter)) = (&mut self.adapters, request.job.adapter)
                && adapters.hold(adapter) == Use::Loaded
            {
                draft.loads += 1;
                moment.adapter_loaded(adapter);
            }
            let mut running = Running::admit(request, fit, moment.config.role, &mut self.memory);
            running.schedule(draft, moment.config, &mut self.memory);
            self.running.push(running);
        }
    }

    fn time(&self, prefill_tokens: u32, loads: u32, config: &EngineConfig) -> Duration {
        let rules = &self.rules;
        let prefill = config::time_of(prefill_tokens, rules.prefill_tokens_per_second);
        let step = config.speed.of(rules.decode_step.saturating_add(prefill));
        step.saturating_add(config.load_time(loads))
    }
}

/// Gives a request its next token; returns whether that was the last one.
fn generate(request: &mut Request, moment: &mut Moment<'_>) -> bool {
    let (id, index) = (request.id, request.generated);
    if index == 0 {
        moment.totals.prompt_tokens += u64::from(request.job.prompt_tokens.get());
    }
    request.generated += 1;
    moment.totals.generation_tokens += 1;
    if index == 0 || moment.config.reports.tokens == TokenReports::Every {
        moment.report_token(id, index);
    }
    let wanted = match moment.config.role {
        Role::Prefill => 1,
        Role::Both | Role::Decode(_) => request.job.output_tokens.get(),
    };
    let finished = request.generated >= wanted;
    if finished {
        moment.finished(id);
    }
    finished
}

/// A request runs no more; returns whether its adapter may leave now, which makes room for others.
fn release_adapter(request: &Request, adapters: Option<&mut ResidentAdapters>) -> bool {
    match (adapters, request.job.adapter) {
        (Some(adapters), Some(adapter)) => adapters.release(adapter),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
