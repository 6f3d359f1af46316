//! The way to the engine's task.
//!
//! The command channel has no bound of its own: a request has at most three commands in it, and open
//! connections are bounded. The channel back to a request is bounded by its output, which fits the
//! KV memory.

use std::sync::Arc;

use pointsman_engine::job::{Job, JobId, Refusal};
use tokio::sync::{mpsc, oneshot};

use super::Snapshot;
use crate::engine::measures::FinishReason;

/// The way to the engine.
#[derive(Clone, Debug)]
pub(crate) struct DriverHandle {
    commands: mpsc::UnboundedSender<Command>,
}

/// What a request wants of the engine.
#[derive(Debug)]
pub(crate) struct Submission {
    /// One for each choice.
    pub(crate) jobs: Vec<Job>,
    pub(crate) finish_reason: FinishReason,
    /// What the adapter that the jobs need is called, if they need one.
    pub(crate) adapter_name: Option<Arc<str>>,
}

/// A request that the engine has accepted. Dropping it cancels what is not finished yet.
#[derive(Debug)]
pub(crate) struct Generation {
    pub(crate) progress: mpsc::UnboundedReceiver<Progress>,
    pub(super) jobs: Vec<JobId>,
    pub(super) driver: DriverHandle,
}

/// What happened to one choice of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It was admitted, with so many prompt tokens from the cache.
    Admitted { cached_tokens: u32 },
    /// It has one more token.
    Token { choice: usize, index: u32 },
}

/// The engine's task is gone, which only happens when the server ends.
#[derive(Debug)]
pub(crate) struct Gone;

#[derive(Debug)]
pub(super) enum Command {
    Submit {
        submission: Submission,
        driver: DriverHandle,
        reply: oneshot::Sender<Result<Generation, Refusal>>,
    },
    Cancel(Vec<JobId>),
    Snapshot(oneshot::Sender<Snapshot>),
}

impl DriverHandle {
    pub(super) const fn new(commands: mpsc::UnboundedSender<Command>) -> Self {
        Self { commands }
    }

    /// Submits all jobs or none.
    pub(crate) async fn submit(
        &self,
        submission: Submission,
    ) -> Result<Result<Generation, Refusal>, Gone> {
        let (reply, answer) = oneshot::channel();
        let command = Command::Submit {
            submission,
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
