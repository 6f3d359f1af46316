//! The task that owns the engine and steps it in real time.
//!
//! Everyone else talks to it through [`handle::DriverHandle`].

use std::collections::BTreeMap;
use std::sync::Arc;

use pointsman_domain::time::Timestamp;
use pointsman_engine::config::EngineConfig;
use pointsman_engine::engine::Engine;
use pointsman_engine::event::EngineEvent;
use pointsman_engine::job::{JobId, Refusal};
use pointsman_engine::stats::EngineStats;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use self::handle::{Command, DriverHandle, Generation, Submission};
use self::listener::Listener;
use super::fault::Faults;
use super::lora_info::LoraInfo;
use super::measures::{Course, Measures};
use super::pace::Pace;
use super::unix_seconds;

pub(crate) mod handle;
mod listener;

/// State and totals of the engine.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) stats: EngineStats,
    pub(crate) measures: Measures,
    pub(crate) lora_info: LoraInfo,
}

/// The engine with its clock and its listeners.
#[derive(Debug)]
pub(crate) struct Driver {
    config: EngineConfig,
    engine: Engine,
    pace: Pace,
    time_scale: f64,
    faults: watch::Receiver<Faults>,
    commands: mpsc::UnboundedReceiver<Command>,
    listeners: BTreeMap<JobId, Listener>,
    measures: Measures,
    lora_info: LoraInfo,
    /// The adapters in use may be others than when they were noted last.
    adapters_changed: bool,
    events: Vec<EngineEvent>,
}

impl Driver {
    /// An idle engine that runs `time_scale` times as fast as real time.
    pub(crate) fn new(
        config: EngineConfig,
        time_scale: f64,
        faults: watch::Receiver<Faults>,
    ) -> (Self, DriverHandle) {
        let (sender, commands) = mpsc::unbounded_channel();
        let driver = Self {
            config,
            engine: Engine::new(config),
            pace: Pace::new(Instant::now(), time_scale),
            time_scale,
            faults,
            commands,
            listeners: BTreeMap::new(),
            measures: Measures::new(config.tokens_max()),
            lora_info: LoraInfo::default(),
            adapters_changed: false,
            events: Vec::new(),
        };
        (driver, DriverHandle::new(sender))
    }

    /// Runs until the last handle is dropped.
    pub(crate) async fn run(mut self) {
        self.follow_faults();
        loop {
            let wake = self.advance().map(|end| self.pace.real_at(end));
            tokio::select! {
                command = self.commands.recv() => match command {
                    Some(command) => self.obey(command),
                    None => return,
                },
                Ok(()) = self.faults.changed() => self.follow_faults(),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
    }

    /// Brings the engine to the present and tells everyone what happened.
    fn advance(&mut self) -> Option<Timestamp> {
        let now = self.pace.model_at(Instant::now());
        let end = self.engine.advance(now, &mut self.events);
        self.adapters_changed |= !self.events.is_empty();
        for event in self.events.drain(..) {
            match event {
                EngineEvent::Admitted {
                    id,
                    at,
                    cached_tokens,
                } => {
                    if let Some(listener) = self.listeners.get_mut(&id) {
                        listener.admitted(cached_tokens, self.pace.real_at(at));
                    }
                }
                EngineEvent::Token { id, at, index } => {
                    if let Some(listener) = self.listeners.get_mut(&id) {
                        let at = self.pace.real_at(at);
                        self.measures.token(&mut listener.course, at);
                        listener.token(index);
                    }
                }
                EngineEvent::Finished { id, .. } => {
                    if let Some(listener) = self.listeners.remove(&id) {
                        self.measures
                            .finished(&listener.course, listener.finish_reason);
                    }
                }
                EngineEvent::Resumed { .. }
                | EngineEvent::Preempted { .. }
                | EngineEvent::Cached { .. }
                | EngineEvent::Evicted { .. }
                | EngineEvent::AdapterLoaded { .. } => {}
            }
        }
        if core::mem::take(&mut self.adapters_changed) && self.config.adapters.is_some() {
            self.lora_info.note(&self.engine.adapters(), unix_seconds());
        }
        end
    }

    fn obey(&mut self, command: Command) {
        // Steps that were due before the command must not see what it changes.
        self.advance();
        match command {
            Command::Submit {
                submission,
                driver,
                reply,
            } => {
                // If nobody waits for the reply any more, dropping it cancels the request.
                let _ = reply.send(self.submit(submission, driver));
            }
            Command::Cancel(jobs) => self.cancel(jobs),
            Command::Snapshot(reply) => {
                let _ = reply.send(Snapshot {
                    stats: self.engine.stats(),
                    measures: self.measures.clone(),
                    lora_info: self.lora_info.clone(),
                });
            }
        }
    }

    fn submit(
        &mut self,
        submission: Submission,
        driver: DriverHandle,
    ) -> Result<Generation, Refusal> {
        let (sender, progress) = mpsc::unbounded_channel();
        let arrived = Instant::now();
        self.adapters_changed = true;
        let mut accepted = Vec::with_capacity(submission.jobs.len());
        for (choice, job) in submission.jobs.into_iter().enumerate() {
            if let (Some(id), Some(name)) = (job.adapter, &submission.adapter_name) {
                self.lora_info.name(id, Arc::clone(name));
            }
            let listener = Listener {
                progress: sender.clone(),
                choice,
                finish_reason: submission.finish_reason,
                course: Course::new(job.prompt_tokens.get(), arrived),
            };
            match self.engine.submit(job) {
                Ok(id) => {
                    accepted.push(id);
                    self.listeners.insert(id, listener);
                }
                Err(refusal) => {
                    self.cancel(accepted);
                    return Err(refusal);
                }
            }
        }
        Ok(Generation {
            progress,
            jobs: accepted,
            driver,
        })
    }

    fn cancel(&mut self, jobs: Vec<JobId>) {
        self.adapters_changed = true;
        for id in jobs {
            if self.engine.cancel(id) {
                self.listeners.remove(&id);
                self.measures.ended.abort += 1;
            }
        }
    }

    fn follow_faults(&mut self) {
        let rate = self.time_scale / self.faults.borrow_and_update().slowdown();
        self.pace.change_rate(Instant::now(), rate);
    }
}
