//! The engine: a queue, a batch, and steps.
//!
//! A step begins with a plan and ends with its results. What it is made of is the batch's matter:
//! `continuous` goes by the rules of vLLM, `article` by those of the founding article.

use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;

use crate::article;
use crate::config::{Batching, EngineConfig};
use crate::continuous;
use crate::event::EngineEvent;
use crate::job::{AdapterId, Job, JobId, Refusal};
use crate::queue::Queue;
use crate::request::Request;
use crate::stats::{Adapters, EngineStats, EngineTotals};
use crate::step::{Moment, Step};

/// A model of one inference engine.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    queue: Queue,
    batch: Batch,
    step: Option<Step>,
    jobs: u64,
    totals: EngineTotals,
}

/// The requests that have a slot, and the rules that they run by.
#[derive(Debug)]
enum Batch {
    Continuous(continuous::Batch),
    Article(article::Batch),
}

impl Engine {
    /// An idle engine with an empty cache.
    pub fn new(config: EngineConfig) -> Self {
        let batch = match config.batching {
            Batching::Continuous(rules) => {
                Batch::Continuous(continuous::Batch::new(rules, &config))
            }
            Batching::Article(rules) => Batch::Article(article::Batch::new(rules, &config)),
        };
        Self {
            config,
            queue: Queue::new(&config),
            batch,
            step: None,
            jobs: 0,
            totals: EngineTotals::default(),
        }
    }

    /// Puts `job` at the end of the queue. It is looked at when the next step begins: call
    /// [`Self::advance`] or [`Self::end_due`] before this, so that no earlier step is still due, and
    /// [`Self::advance`] or [`Self::begin`] after it, so that an idle engine begins. A transfer of
    /// its prompt begins at the time that this later call tells.
    pub fn submit(&mut self, job: Job) -> Result<JobId, Refusal> {
        self.config.check(job.prompt_tokens, job.output_tokens)?;
        let waiting_max = self.config.waiting_max;
        if self.queue.len() >= waiting_max {
            return Err(Refusal::QueueFull { waiting_max });
        }
        let id = JobId(self.jobs);
        self.jobs += 1;
        self.queue.submit(Request::new(id, job));
        Ok(id)
    }

    /// Drops a request and frees its slot and memory at once; a step in progress still takes its
    /// time. Returns whether there was such a request.
    pub fn cancel(&mut self, id: JobId) -> bool {
        let was_running = match &mut self.batch {
            Batch::Continuous(batch) => batch.cancel(id, &mut self.queue),
            Batch::Article(batch) => batch.cancel(id),
        };
        was_running || self.queue.cancel(id)
    }

    /// Ends the step in progress if it ends at or before `now`; begins none.
    pub fn end_due(&mut self, now: Timestamp, events: &mut Vec<EngineEvent>) {
        let Some(step) = self.step.take_if(|step| step.end <= now) else {
            return;
        };
        step.count(&mut self.totals);
        let mut moment = Moment {
            at: step.end,
            config: &self.config,
            queue: &mut self.queue,
            totals: &mut self.totals,
            events,
        };
        match &mut self.batch {
            Batch::Continuous(batch) => batch.end(&mut moment),
            Batch::Article(batch) => batch.end(&step, &mut moment),
        }
    }

    /// Begins a step at `now` if none is in progress and there is work. Returns when the step in
    /// progress ends, at which time [`Self::end_due`] is to be called; while nothing can run, when
    /// the next prompt arrives; or `None` if the engine is idle.
    pub fn begin(&mut self, now: Timestamp, events: &mut Vec<EngineEvent>) -> Option<Timestamp> {
        self.queue.begin_transfers(now);
        if self.step.is_none() {
            self.queue.let_in(now);
            let mut moment = Moment {
                at: now,
                config: &self.config,
                queue: &mut self.queue,
                totals: &mut self.totals,
                events,
            };
            self.step = match &mut self.batch {
                Batch::Continuous(batch) => batch.begin(&mut moment),
                Batch::Article(batch) => batch.begin(&mut moment),
            };
        }
        self.due()
    }

    /// Brings the engine to `now`: ends each step whose end has come, and begins the next one where
    /// it ended. Returns what [`Self::begin`] does, and is to be called again at that time. Calling
    /// it more often changes nothing.
    pub fn advance(&mut self, now: Timestamp, events: &mut Vec<EngineEvent>) -> Option<Timestamp> {
        while let Some(due) = self.due().filter(|&due| due <= now) {
            self.end_due(due, events);
            self.begin(due, events);
        }
        self.begin(now, events)
    }

    /// What the engine tells about itself.
    pub fn stats(&self) -> EngineStats {
        let (running, held_blocks) = match &self.batch {
            Batch::Continuous(batch) => (batch.running(), batch.held_blocks()),
            Batch::Article(batch) => (batch.running(), batch.held_blocks()),
        };
        EngineStats {
            running,
            waiting: self.queue.len(),
            deferred: self.queue.deferred(),
            kv_usage: Unit::ratio(held_blocks as f64, f64::from(self.config.blocks.get())),
            totals: self.totals,
        }
    }

    /// The adapters that its requests need.
    pub fn adapters(&self) -> Adapters {
        let running = match &self.batch {
            Batch::Continuous(batch) => batch.adapters().collect(),
            Batch::Article(batch) => batch.adapters().collect(),
        };
        Adapters {
            running: sorted(running),
            waiting: sorted(self.queue.adapters().collect()),
        }
    }

    /// When something is to be done next.
    fn due(&self) -> Option<Timestamp> {
        match &self.step {
            Some(step) => Some(step.end),
            None => self.queue.next_arrival(),
        }
    }
}

fn sorted(mut adapters: Vec<AdapterId>) -> Vec<AdapterId> {
    adapters.sort_unstable();
    adapters.dedup();
    adapters
}

#[cfg(test)]
pub(crate) mod tests;
