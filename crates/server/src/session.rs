//! One ext_proc stream: the gateway's messages into the state machine, its actions to the pool, its
//! replies back.
//!
//! The session is itself the stream of replies that the gRPC server polls, so it needs no task and
//! no channel: when the gateway resets the stream the session is dropped, and its ticket with it.

use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use pointsman_domain::decision::{Decision, Refusal};
use pointsman_extproc::stream::{Action, Settings, Stream as Machine};
use pointsman_proto::ext_proc::external_processor_server::ExternalProcessor;
use pointsman_proto::ext_proc::{ProcessingRequest, ProcessingResponse};
use tokio::sync::oneshot;
use tokio::time::Sleep;
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::{Request, Response, Status, Streaming};

use crate::pool::{Answer, PoolDoor, Ticket};

/// The ext_proc service of one pool.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    door: Arc<PoolDoor>,
    settings: Settings,
    held: Arc<HeldBytes>,
    open: TaskTracker,
    leave: CancellationToken,
}

/// Body bytes that all sessions hold, against the process's limit.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    held: AtomicUsize,
    max: usize,
}

/// One stream.
pub(crate) struct Session {
    door: Arc<PoolDoor>,
    inbound: Streaming<ProcessingRequest>,
    machine: Machine,
    ticket: Option<Ticket>,
    answer: Option<oneshot::Receiver<Decision>>,
    /// Runs while a gateway that declared no body mode may be waiting for us.
    body_overdue: Option<Pin<Box<Sleep>>>,
    /// The gateway's side has ended; only an answer that is on its way is still awaited.
    input_ended: bool,
    actions: Vec<Action>,
    replies: VecDeque<ProcessingResponse>,
    held: HeldShare,
    finished: bool,
    /// Ready when the process ends and waits no longer.
    leave: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: TaskTrackerToken,
}

/// A session's part of the held bytes, given back when it is dropped.
#[derive(Debug)]
struct HeldShare {
    all: Arc<HeldBytes>,
    bytes: usize,
}

impl Service {
    /// A service for one pool. `open` counts its streams; at `leave` those end that can without harm.
    pub(crate) fn new(
        door: Arc<PoolDoor>,
        settings: Settings,
        held_bytes_max: usize,
        open: TaskTracker,
        leave: CancellationToken,
    ) -> Self {
        let held = HeldBytes {
            held: AtomicUsize::new(0),
            max: held_bytes_max,
        };
        Self {
            door,
            settings,
            held: Arc::new(held),
            open,
            leave,
        }
    }
}

#[tonic::async_trait]
impl ExternalProcessor for Service {
    type ProcessStream = Session;

    async fn process(
        &self,
        request: Request<Streaming<ProcessingRequest>>,
    ) -> Result<Response<Session>, Status> {
        Ok(Response::new(Session {
            door: Arc::clone(&self.door),
            inbound: request.into_inner(),
            machine: Machine::new(self.settings),
            ticket: None,
            answer: None,
            body_overdue: None,
            input_ended: false,
            actions: Vec::new(),
            replies: VecDeque::new(),
            held: HeldShare {
                all: Arc::clone(&self.held),
                bytes: 0,
            },
            finished: false,
            leave: Box::pin(self.leave.clone().cancelled_owned()),
            _open: self.open.token(),
        }))
    }
}

impl Stream for Session {
    type Item = Result<ProcessingResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let session = &mut *self;
        loop {
            if let Some(reply) = session.replies.pop_front() {
                return Poll::Ready(Some(Ok(reply)));
            }
            if session.finished {
                return Poll::Ready(None);
            }
            if let Some(answer) = &mut session.answer
                && let Poll::Ready(decision) = Pin::new(answer).poll(cx)
            {
                session.answer = None;
                // The pool drops a sender only after the request has ended.
                let decision = decision.unwrap_or(Decision::Refused(Refusal::ShuttingDown));
                session.decided(&decision);
                continue;
            }
            if session.input_ended {
                if session.machine.outlives_input() {
                    return Poll::Pending;
                }
                session.closed();
                continue;
            }
            match Pin::new(&mut session.inbound).poll_next(cx) {
                Poll::Ready(Some(Ok(message))) => {
                    session.message(message);
                    continue;
                }
                Poll::Ready(None) => {
                    session.input_ended = true;
                    continue;
                }
                // A reset is how Envoy ends a stream that we did not close: a normal end.
                Poll::Ready(Some(Err(_))) => {
                    session.closed();
                    continue;
                }
                Poll::Pending => {}
            }
            if session.machine.can_be_left() && session.leave.as_mut().poll(cx).is_ready() {
                session.closed();
                continue;
            }
            if !session.poll_body_overdue(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl Session {
    fn message(&mut self, message: ProcessingRequest) {
        self.machine.message(message, &mut self.actions);
        if !self.held.set(self.machine.held_bytes()) {
            self.machine.refuse(Refusal::HoldFull, &mut self.actions);
        }
        self.act();
    }

    /// Whether the time for a first piece of body has just passed.
    fn poll_body_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        if !self.machine.awaits_undeclared_body() {
            self.body_overdue = None;
            return false;
        }
        let overdue = self
            .body_overdue
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(BODY_OVERDUE)));
        if overdue.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.body_overdue = None;
        self.machine.body_overdue(&mut self.actions);
        self.act();
        true
    }

    fn decided(&mut self, decision: &Decision) {
        self.machine.decided(decision, &mut self.actions);
        self.act();
    }

    fn closed(&mut self) {
        self.finished = true;
        self.machine.closed(&mut self.actions);
        self.act();
    }

    /// Carries out what the machine asks for, until it asks for nothing more.
    fn act(&mut self) {
        let mut actions = core::mem::take(&mut self.actions);
        for action in actions.drain(..) {
            match action {
                Action::Reply(reply) => self.replies.push_back(reply),
                Action::Ask(facts) => {
                    let (ticket, answer) = self.door.offer(facts);
                    self.ticket = Some(ticket);
                    match answer {
                        Answer::Now(decision) => {
                            self.machine.decided(&decision, &mut self.actions);
                        }
                        Answer::Later(receiver) => self.answer = Some(receiver),
                    }
                }
                Action::Observed(observation) => {
                    if let Some(ticket) = &self.ticket {
                        ticket.observe(observation);
                    }
                }
                Action::Ended(cause) => {
                    self.answer = None;
                    if let Some(ticket) = self.ticket.take() {
                        ticket.end(cause);
                    }
                }
            }
        }
        if self.actions.is_empty() {
            // The drained vector keeps its room for the next message.
            self.actions = actions;
        } else {
            self.act();
        }
        self.held.set(self.machine.held_bytes());
    }
}

impl Drop for Session {
    /// A reset takes the stream away without another poll. What that end means is for the machine to
    /// say, as Envoy ends a complete response in this way too.
    fn drop(&mut self) {
        if !self.finished {
            self.closed();
        }
    }
}

impl HeldShare {
    /// Makes this share `bytes`; `false` if that passes the process's limit.
    fn set(&mut self, bytes: usize) -> bool {
        let grown = bytes.saturating_sub(self.bytes);
        let shrunk = self.bytes.saturating_sub(bytes);
        self.bytes = bytes;
        self.all.held.fetch_sub(shrunk, Ordering::Relaxed);
        let before = self.all.held.fetch_add(grown, Ordering::Relaxed);
        grown == 0 || before.saturating_add(grown) <= self.all.max
    }
}

impl Drop for HeldShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// A gateway that sends bodies unasked does so at once; less than Envoy's message timeout of 200 ms.
const BODY_OVERDUE: Duration = Duration::from_millis(100);
