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
use pointsman_pipeline::record::Step;
use pointsman_proto::ext_proc::ImmediateResponse;
use tokio::sync::{Notify, mpsc, oneshot};
use tracing::error;

use crate::clock::Clock;
use crate::record::Recorder;
use crate::recording::Tape;

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
    tape: Tape,
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

/// What can panic without an end of the process.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Panicked {
    /// The state machine of one stream.
    Stream,
    /// The pool, at one input.
    Pool,
}

/// One request's hold on the pool: ends it when dropped, however its stream ended.
#[derive(Debug)]
pub(crate) struct Ticket {
    door: Arc<PoolDoor>,
    id: RequestId,
    open: bool,
}

impl PoolDoor {
    /// A pool whose steps go to `tape`, and the channel on which it tells of endpoint lives.
    pub(crate) fn new(
        config: RuntimeConfig,
        seed: u64,
        explain_every: u64,
        recorder: Arc<Recorder>,
        tape: Tape,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<Lives>) {
        let (lives, watched) = mpsc::unbounded_channel();
        let door = Self {
            clock: Clock::start(),
            inside: Mutex::new(Inside {
                pool: Pool::new(config, seed),
                tape,
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
        let offer = Input::Offer { id, facts, detail };
        self.run(offer, |inside, now, input, outputs| {
            inside.waiting.insert(id, sender);
            inside.pool.input(now, input, outputs);
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
        self.run(input, |inside, now, input, outputs| {
            inside.pool.input(now, input, outputs)
        });
    }

    /// Records nothing more.
    pub(crate) fn end_recording(&self) {
        self.inside.lock().tape.end();
    }

    /// Counts a request that was answered in place of an engine.
    pub(crate) fn answered_here(&self, answer: &ImmediateResponse) {
        let status = answer.status.as_ref().map_or(0, |status| status.code);
        self.recorder.metrics.answered_here(status);
    }

    /// Counts a fault of ours that cost no more than one request's comfort.
    pub(crate) fn panicked(&self, what: Panicked) {
        self.recorder.metrics.panicked(what);
    }

    /// Gives an input to the pool that it panics over.
    #[cfg(test)]
    pub(crate) fn panic_over(&self, input: Input) {
        self.run(input, |_, _, _, _| panic!("a stage failed"));
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

    /// Does `work`, which gives `input` to the pool, under the pool's lock, answers the streams that
    /// wait for what it decides, and records its events.
    fn run(
        &self,
        input: Input,
        work: impl FnOnce(&mut Inside, Timestamp, Input, &mut Vec<Output>),
    ) {
        let mut events = Vec::with_capacity(1);
        {
            let mut inside = self.inside.lock();
            let (outputs, panicked) = inside.guarded(self.clock.now(), input, work);
            if panicked {
                self.panicked(Panicked::Pool);
            }
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
    /// Does `work`, leaves what came of it on the tape, and tells whether it panicked. A panic does not
    /// cost the process: see [`recover`](Self::recover).
    fn guarded(
        &mut self,
        now: Timestamp,
        input: Input,
        work: impl FnOnce(&mut Self, Timestamp, Input, &mut Vec<Output>),
    ) -> (Vec<Output>, bool) {
        let offered = match &input {
            Input::Offer { id, .. } => Some(*id),
            _ => None,
        };
        let taped = self.tape.is_on().then(|| input.clone());
        let mut outputs = Vec::with_capacity(2);
        let panicked =
            catch_unwind(AssertUnwindSafe(|| work(self, now, input, &mut outputs))).is_err();
        if panicked {
            error!(
                ?offered,
                "the pool panicked and is rebuilt: report this with the lines before"
            );
            // What was decided stands in the pool's tables; its events may not be true.
            outputs.retain(|output| !matches!(output, Output::Event(_)));
        }
        if let Some(input) = taped {
            let step = if panicked {
                Step::Panicked(input)
            } else {
                Step::Input(input)
            };
            self.tape.take(now, step, &outputs);
        }
        if panicked {
            self.recover(now, offered, &mut outputs);
        }
        (outputs, panicked)
    }

    /// Rebuilds the pool from its open requests: the request `lost` gets a pick by load, and who
    /// waited and got lost is told no.
    fn recover(&mut self, now: Timestamp, lost: Option<RequestId>, outputs: &mut Vec<Output>) {
        let mut recovered = Vec::new();
        self.pool.recover(now, lost, &mut recovered);
        if self.tape.is_on() {
            self.tape.take(now, Step::Recover { lost }, &recovered);
        }
        outputs.append(&mut recovered);
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
