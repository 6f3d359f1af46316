//! The pool behind its lock, and the streams that wait for its answers.
//!
//! One non-poisoning mutex guards the pool and the waiting streams together, so that no decision can
//! fall between an offer and its registration. Nothing is parsed, rendered or awaited inside.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pointsman_domain::decision::Decision;
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::observation::{EndCause, Observation};
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::config::RuntimeConfig;
use pointsman_pipeline::pool::{Detail, EndpointState, Input, Output, Pool, Sizes};
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::error;

use crate::clock::Clock;
use crate::record::Recorder;

/// One pool of this process.
#[derive(Debug)]
pub(crate) struct PoolDoor {
    clock: Clock,
    inside: Mutex<Inside>,
    next_id: AtomicU64,
    explain_every: u64,
    deadline_moved: Notify,
    recorder: Arc<Recorder>,
    lives: mpsc::UnboundedSender<Lives>,
}

#[derive(Debug)]
struct Inside {
    pool: Pool,
    waiting: BTreeMap<RequestId, oneshot::Sender<Decision>>,
}

/// Endpoint lives that began or ended. At most one such message follows an input, and inputs that
/// change lives come from discovery and scrapes only, so the channel stays as short as these are slow.
#[derive(Debug)]
pub(crate) struct Lives {
    pub(crate) added: Vec<(EndpointId, EndpointSpec)>,
    pub(crate) removed: Vec<EndpointId>,
}

/// The answer to an offer.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Decided at once.
    Now(Decision),
    /// Held; the decision comes later.
    Later(oneshot::Receiver<Decision>),
}

/// One request's hold on the pool: ends it when dropped, however its stream ended.
#[derive(Debug)]
pub(crate) struct Ticket {
    door: Arc<PoolDoor>,
    id: RequestId,
    open: bool,
}

impl PoolDoor {
    /// A pool, and the channel on which it tells of endpoint lives.
    pub(crate) fn new(
        config: RuntimeConfig,
        seed: u64,
        explain_every: u64,
        recorder: Arc<Recorder>,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Lives>) {
        let (lives, watched) = mpsc::unbounded_channel();
        let door = Self {
            clock: Clock::start(),
            inside: Mutex::new(Inside {
                pool: Pool::new(config, seed),
                waiting: BTreeMap::new(),
            }),
            next_id: AtomicU64::new(1),
            explain_every,
            deadline_moved: Notify::new(),
            recorder,
            lives,
        };
        (Arc::new(door), watched)
    }

    /// Asks where a request goes.
    pub(crate) fn offer(self: &Arc<Self>, facts: Box<RequestFacts>) -> (Ticket, Answer) {
        let id = RequestId(self.next_id.fetch_add(1, Ordering::Relaxed));
        let explained = self.explain_every > 0 && id.0.is_multiple_of(self.explain_every);
        let detail = if explained {
            Detail::Explained
        } else {
            Detail::Brief
        };
        let ticket = Ticket {
            door: Arc::clone(self),
            id,
            open: true,
        };
        let mut outputs = Vec::with_capacity(2);
        let answer = {
            let mut inside = self.inside.lock();
            let now = self.clock.now();
            let input = Input::Offer { id, facts, detail };
            guarded(
                &mut inside.pool,
                now,
                Some(id),
                &mut outputs,
                |pool, outputs| {
                    pool.input(now, input, outputs);
                },
            );
            let own = outputs.iter().find_map(|output| match output {
                Output::Decided {
                    id: decided,
                    decision,
                } if *decided == id => Some(decision.clone()),
                _ => None,
            });
            own.map_or_else(
                || {
                    let (sender, receiver) = oneshot::channel();
                    inside.waiting.insert(id, sender);
                    Answer::Later(receiver)
                },
                Answer::Now,
            )
        };
        if matches!(answer, Answer::Later(_)) {
            self.deadline_moved.notify_one();
        }
        self.pass_on(outputs);
        (ticket, answer)
    }

    /// Gives any other input to the pool.
    pub(crate) fn input(&self, input: Input) {
        let mut outputs = Vec::new();
        {
            let mut inside = self.inside.lock();
            let now = self.clock.now();
            let Inside { pool, waiting } = &mut *inside;
            guarded(pool, now, None, &mut outputs, |pool, outputs| {
                pool.input(now, input, outputs)
            });
            for output in &outputs {
                if let Output::Decided { id, decision } = output
                    && let Some(sender) = waiting.remove(id)
                {
                    // A stream that has just gone needs no answer: its ticket ends the request.
                    let _gone = sender.send(decision.clone());
                }
            }
        }
        self.pass_on(outputs);
    }

    /// Sleeps until the pool's deadlines and expires what they belong to, for ever.
    pub(crate) async fn expire_in_time(self: Arc<Self>) {
        loop {
            let deadline = self.inside.lock().pool.next_deadline();
            match deadline {
                None => self.deadline_moved.notified().await,
                Some(at) => tokio::select! {
                    () = self.deadline_moved.notified() => {}
                    () = tokio::time::sleep_until(self.clock.instant(at)) => self.input(Input::Expire),
                },
            }
        }
    }

    /// The endpoints' states, for people and gauges.
    pub(crate) fn endpoints(&self) -> Vec<EndpointState> {
        self.inside.lock().pool.endpoints(self.clock.now())
    }

    /// The pool's sizes.
    pub(crate) fn sizes(&self) -> Sizes {
        self.inside.lock().pool.sizes()
    }

    fn pass_on(&self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Decided { .. } => {}
                Output::Event(event) => self.recorder.record(event),
                Output::Endpoints { added, removed } => {
                    // The watcher is gone only when the process ends.
                    let _ending = self.lives.send(Lives { added, removed });
                }
            }
        }
    }
}

/// Does `work` with the pool. If that panics the process lives: the pool is rebuilt from its open
/// requests, and the offer `lost`, if it was one, gets a pick by load.
fn guarded(
    pool: &mut Pool,
    now: Timestamp,
    lost: Option<RequestId>,
    outputs: &mut Vec<Output>,
    work: impl FnOnce(&mut Pool, &mut Vec<Output>),
) {
    let mut done = Vec::new();
    if catch_unwind(AssertUnwindSafe(|| work(pool, &mut done))).is_err() {
        error!(
            ?lost,
            "the pool panicked and is rebuilt: report this with the lines before"
        );
        // What it said before it failed may not be true.
        done.clear();
        pool.recover(now, lost, &mut done);
    }
    outputs.append(&mut done);
}

impl Ticket {
    /// Tells the pool what was seen in the response.
    pub(crate) fn observe(&self, observation: Observation) {
        self.door.input(Input::Observed {
            id: self.id,
            observation,
        });
    }

    /// Ends the request. What is dropped without this was cut.
    pub(crate) fn end(mut self, cause: EndCause) {
        self.close(cause);
    }

    fn close(&mut self, cause: EndCause) {
        if core::mem::take(&mut self.open) {
            self.door.inside.lock().waiting.remove(&self.id);
            self.door.input(Input::Ended { id: self.id, cause });
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.close(EndCause::Cut);
    }
}

#[cfg(test)]
mod tests;
