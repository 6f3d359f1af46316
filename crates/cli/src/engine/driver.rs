//! The task that owns the engine and steps it in real time.
//!
//! Everyone else talks to it through [`DriverHandle`]. The command channel has no bound of its own:
//! a request has at most two commands in it, and open connections are bounded. The channel back to a
//! request is bounded by its output, which fits the KV memory.

use pointsman_domain::time::Timestamp;
use pointsman_engine::config::EngineConfig;
use pointsman_engine::engine::Engine;
use pointsman_engine::event::EngineEvent;
use pointsman_engine::job::{Job, JobId, Refusal};
use pointsman_engine::stats::EngineStats;
use std::collections::BTreeMap;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::fault::Faults;
use super::pace::Pace;

/// The way to the engine.
#[derive(Clone, Debug)]
pub(crate) struct DriverHandle {
    commands: mpsc::UnboundedSender<Command>,
}

/// A request that the engine has accepted. Dropping it cancels what is not finished yet.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(crate) progress: mpsc::UnboundedReceiver<Progress>,
    jobs: Vec<JobId>,
    driver: DriverHandle,
}

/// What happened to one choice of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It was admitted, with so many prompt tokens from the cache.
    Admitted { cached_tokens: u32 },
    /// It has one more token.
    Token { choice: usize, index: u32 },
}

/// Why a finished request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// By itself.
    Stop,
    /// At the length that the client set.
    Length,
}

/// State and totals of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snapshot {
    pub(crate) stats: EngineStats,
    pub(crate) ended: Ended,
}

/// How many requests ended in which way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    pub(crate) stop: u64,
    pub(crate) length: u64,
    pub(crate) abort: u64,
}

/// The engine's task is gone, which only happens when the server ends.
#[derive(Debug)]
pub(crate) struct Gone;

impl DriverHandle {
    /// Submits one job per choice, all or none.
    pub(crate) async fn submit(
        &self,
        jobs: Vec<Job>,
        finish_reason: FinishReason,
    ) -> Result<Result<Generation, Refusal>, Gone> {
        let (reply, answer) = oneshot::channel();
        let command = Command::Submit {
            jobs,
            finish_reason,
            driver: self.clone(),
            reply,
        };
        self.commands.send(command).map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }

    /// State and totals right now.
    pub(crate) async fn snapshot(&self) -> Result<Snapshot, Gone> {
        let (reply, answer) = oneshot::channel();
        self.commands
            .send(Command::Snapshot(reply))
            .map_err(|_| Gone)?;
        answer.await.map_err(|_| Gone)
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        let jobs = core::mem::take(&mut self.jobs);
        // Without a driver there is nothing left to cancel.
        let _ = self.driver.commands.send(Command::Cancel(jobs));
    }
}

/// The engine with its clock and its listeners.
#[derive(Debug)]
pub(crate) struct Driver {
    engine: Engine,
    pace: Pace,
    time_scale: f64,
    faults: watch::Receiver<Faults>,
    commands: mpsc::UnboundedReceiver<Command>,
    listeners: BTreeMap<JobId, Listener>,
    ended: Ended,
    events: Vec<EngineEvent>,
}

#[derive(Debug)]
enum Command {
    Submit {
        jobs: Vec<Job>,
        finish_reason: FinishReason,
        driver: DriverHandle,
        reply: oneshot::Sender<Result<Generation, Refusal>>,
    },
    Cancel(Vec<JobId>),
    Snapshot(oneshot::Sender<Snapshot>),
}

/// Who hears of one job.
#[derive(Debug)]
struct Listener {
    progress: mpsc::UnboundedSender<Progress>,
    choice: usize,
    finish_reason: FinishReason,
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
            engine: Engine::new(config),
            pace: Pace::new(Instant::now(), time_scale),
            time_scale,
            faults,
            commands,
            listeners: BTreeMap::new(),
            ended: Ended::default(),
            events: Vec::new(),
        };
        (driver, DriverHandle { commands: sender })
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
        for event in self.events.drain(..) {
            match event {
                EngineEvent::Admitted {
                    id, cached_tokens, ..
                } => {
                    if let Some(listener) = self.listeners.get(&id) {
                        listener.tell(Progress::Admitted { cached_tokens });
                    }
                }
                EngineEvent::Token { id, index, .. } => {
                    if let Some(listener) = self.listeners.get(&id) {
                        let choice = listener.choice;
                        listener.tell(Progress::Token { choice, index });
                    }
                }
                EngineEvent::Finished { id, .. } => {
                    match self.listeners.remove(&id).map(|l| l.finish_reason) {
                        Some(FinishReason::Stop) => self.ended.stop += 1,
                        Some(FinishReason::Length) => self.ended.length += 1,
                        None => {}
                    }
                }
                EngineEvent::Resumed { .. } | EngineEvent::Preempted { .. } => {}
            }
        }
        end
    }

    fn obey(&mut self, command: Command) {
        // Steps that were due before the command must not see what it changes.
        self.advance();
        match command {
            Command::Submit {
                jobs,
                finish_reason,
                driver,
                reply,
            } => {
                // If nobody waits for the reply any more, dropping it cancels the request.
                let _ = reply.send(self.submit(jobs, finish_reason, driver));
            }
            Command::Cancel(jobs) => self.cancel(jobs),
            Command::Snapshot(reply) => {
                let _ = reply.send(Snapshot {
                    stats: self.engine.stats(),
                    ended: self.ended,
                });
            }
        }
    }

    fn submit(
        &mut self,
        jobs: Vec<Job>,
        finish_reason: FinishReason,
        driver: DriverHandle,
    ) -> Result<Generation, Refusal> {
        let (sender, progress) = mpsc::unbounded_channel();
        let mut accepted = Vec::with_capacity(jobs.len());
        for (choice, job) in jobs.into_iter().enumerate() {
            match self.engine.submit(job) {
                Ok(id) => accepted.push(id),
                Err(refusal) => {
                    self.cancel(accepted);
                    return Err(refusal);
                }
            }
            if let Some(&id) = accepted.last() {
                let listener = Listener {
                    progress: sender.clone(),
                    choice,
                    finish_reason,
                };
                self.listeners.insert(id, listener);
            }
        }
        Ok(Generation {
            progress,
            jobs: accepted,
            driver,
        })
    }

    fn cancel(&mut self, jobs: Vec<JobId>) {
        for id in jobs {
            if self.engine.cancel(id) {
                self.listeners.remove(&id);
                self.ended.abort += 1;
            }
        }
    }

    fn follow_faults(&mut self) {
        let rate = self.time_scale / self.faults.borrow_and_update().slowdown();
        self.pace.change_rate(Instant::now(), rate);
    }
}

impl Listener {
    fn tell(&self, progress: Progress) {
        // A client that has just left is cancelled by its own drop.
        let _ = self.progress.send(progress);
    }
}
