//! The pool behind its lock, and the streams that wait for its answers.
//!
//! One non-poisoning mutex guards the pool and the waiting streams together, so that no decision can
//! fall between an offer and its registration. Nothing is parsed, awaited or turned into text inside.

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
use pointsman_proto::ext_proc::ImmediateResponse;
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
        let (sender, mut receiver) = oneshot::channel();
        self.run(Some(id), |inside, now, outputs| {
            inside.waiting.insert(id, sender);
            inside
                .pool
                .input(now, Input::Offer { id, facts, detail }, outputs);
        });
        let answer = match receiver.try_recv() {
            Ok(decision) => Answer::Now(decision),
            Err(_) => {
                self.deadline_moved.notify_one();
                Answer::Later(receiver)
            }
        };
        (ticket, answer)
    }

    /// Gives any other input to the pool.
    pub(crate) fn input(&self, input: Input) {
        self.run(None, |inside, now, outputs| {
            inside.pool.input(now, input, outputs)
        });
    }

    /// Counts a request that was answered in place of an engine.
    pub(crate) fn answered_here(&self, answer: &ImmediateResponse) {
        let status = answer.status.as_ref().map_or(0, |status| status.code);
        self.recorder.metrics.answered_here(status);
    }

    /// Who records this pool's events.
    #[cfg(test)]
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
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

    /// Does `work` with the pool under its lock, answers the streams that wait for what it decides,
    /// and records its events. `offered` is the request that `work` offers, if it does.
    fn run(
        &self,
        offered: Option<RequestId>,
        work: impl FnOnce(&mut Inside, Timestamp, &mut Vec<Output>),
    ) {
        let mut events = Vec::with_capacity(1);
        {
            let mut inside = self.inside.lock();
            let outputs = inside.guarded(self.clock.now(), offered, work);
            for output in outputs {
                match output {
                    Output::Decided { id, decision } => inside.answer(id, decision),
                    Output::Event(event) => events.push(event),
                    Output::Endpoints { added, removed } => {
                        // Inside the lock, so that lives are told in their order. The watcher is
                        // gone only when the process ends.
                        let _ending = self.lives.send(Lives { added, removed });
                    }
                }
            }
        }
        for event in events {
            self.recorder.record(event);
        }
    }
}

impl Inside {
    /// Does `work`. If that panics the process lives: the pool is rebuilt from its open requests, the
    /// request `offered` gets a pick by load, and who waited and got lost is told no.
    fn guarded(
        &mut self,
        now: Timestamp,
        offered: Option<RequestId>,
        work: impl FnOnce(&mut Self, Timestamp, &mut Vec<Output>),
    ) -> Vec<Output> {
        let mut outputs = Vec::with_capacity(2);
        if catch_unwind(AssertUnwindSafe(|| work(self, now, &mut outputs))).is_err() {
            error!(
                ?offered,
                "the pool panicked and is rebuilt: report this with the lines before"
            );
            // What was decided stands in the pool's tables; its events may not be true.
            outputs.retain(|output| !matches!(output, Output::Event(_)));
            self.pool.recover(now, offered, &mut outputs);
            let is_decided = |id| {
                outputs
                    .iter()
                    .any(|o| matches!(o, Output::Decided { id: other, .. } if *other == id))
            };
            let pool = &self.pool;
            // A dropped sender is a refusal.
            self.waiting
                .retain(|&id, _| pool.is_held(id) || is_decided(id));
        }
        outputs
    }

    fn answer(&mut self, id: RequestId, decision: Decision) {
        if let Some(sender) = self.waiting.remove(&id) {
            // A stream that has just gone needs no answer: its ticket ends the request.
            let _gone = sender.send(decision);
        }
    }
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
