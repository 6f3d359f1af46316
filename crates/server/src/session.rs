//! One ext_proc stream: the gateway's messages into the state machine, its actions to the pool, its
//! replies back.
//!
//! The session is itself the stream of replies that the HTTP server polls, so it needs no task and
//! no channel: when the gateway resets the stream the session is dropped, and its ticket with it.

mod call;

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use pointsman_domain::decision::{Decision, Refusal};
use pointsman_extproc::stream::{Action, Settings, Stream as Machine, Wait};
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::processing_response::Response as Reply;
use pointsman_proto::ext_proc::{ProcessingRequest, ProcessingResponse};
use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep};
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::body::Body;
use tonic::{Code, Status};
use tracing::error;

use crate::held::{HeldBytes, HeldShare};
use crate::inbound::{Arrival, Inbound};
use crate::models::ModelTable;
use crate::pool::{Answer, Panicked, PoolDoor, Ticket};

/// The ext_proc service of one pool.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) door: Arc<PoolDoor>,
    pub(crate) settings: Settings,
    /// Bytes that one message may have.
    pub(crate) message_bytes_max: usize,
    pub(crate) held: Arc<HeldBytes>,
    /// The models of all endpoints, where the settings let it answer which there are.
    pub(crate) models: Option<Arc<ModelTable>>,
    /// Counts the open streams.
    pub(crate) open: TaskTracker,
    /// Ends the streams that can end without harm.
    pub(crate) leave: CancellationToken,
}

/// One stream.
pub(crate) struct Session {
    door: Arc<PoolDoor>,
    models: Option<Arc<ModelTable>>,
    inbound: Inbound,
    message_bytes_max: usize,
    machine: Machine,
    ticket: Option<Ticket>,
    answer: Option<oneshot::Receiver<Decision>>,
    /// Runs while something must come in time.
    timer: Option<(Wait, Pin<Box<Sleep>>)>,
    opened: Instant,
    /// The gateway's side has ended; only an answer that is on its way is still awaited.
    input_ended: bool,
    actions: Vec<Action>,
    replies: VecDeque<ProcessingResponse>,
    /// Body bytes in those replies.
    reply_bytes: usize,
    held: HeldShare,
    finished: bool,
    /// What the stream ends with, if not well.
    failure: Option<Status>,
    /// Ready when the process ends and waits no longer.
    leave: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: TaskTrackerToken,
}

impl Service {
    /// A stream of which the gateway's messages are in `body`.
    fn open(&self, body: Body) -> Session {
        Session {
            door: Arc::clone(&self.door),
            models: self.models.clone(),
            inbound: Inbound::new(body, self.message_bytes_max),
            message_bytes_max: self.message_bytes_max,
            machine: Machine::new(self.settings),
            ticket: None,
            answer: None,
            timer: None,
            opened: Instant::now(),
            input_ended: false,
            actions: Vec::new(),
            replies: VecDeque::new(),
            reply_bytes: 0,
            held: HeldShare::new(Arc::clone(&self.held)),
            finished: false,
            failure: None,
            leave: Box::pin(self.leave.clone().cancelled_owned()),
            _open: self.open.token(),
        }
    }
}

impl Stream for Session {
    type Item = Result<ProcessingResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let session = &mut *self;
        loop {
            if let Some(reply) = session.next_reply() {
                return Poll::Ready(Some(Ok(reply)));
            }
            if session.finished {
                return Poll::Ready(session.failure.take().map(Err));
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
            if let Poll::Ready(arrival) = session.inbound.poll(cx) {
                match arrival {
                    Ok(Arrival::Message(message)) => session.message(message),
                    Ok(Arrival::Part) => session.part(),
                    Ok(Arrival::End) => session.input_ended = true,
                    Err(status) => session.broke(status),
                }
                continue;
            }
            if session.machine.can_be_left() && session.leave.as_mut().poll(cx).is_ready() {
                session.closed();
                continue;
            }
            if !session.poll_timer(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl Session {
    fn message(&mut self, message: ProcessingRequest) {
        self.timer = None;
        self.read(message);
        if !self.account() {
            // What is refused here must not be asked about, if this was the last piece.
            self.actions
                .retain(|action| !matches!(action, Action::Ask(_)));
            self.machine.refuse(Refusal::HoldFull, &mut self.actions);
        }
        self.act();
    }

    /// A part of a message has come. It counts as held, so that messages which never end do not pass the
    /// limit.
    fn part(&mut self) {
        let fits = self.account();
        if !fits {
            self.machine.refuse(Refusal::HoldFull, &mut self.actions);
        }
        let wait = self.machine.waits_for();
        if !self.actions.is_empty() || wait == Some(Wait::Leave) {
            // Nothing of the request is read any more.
            self.inbound.pass_over();
        } else if !fits && wait == Some(Wait::FirstMessage) {
            // There is no request yet that could be refused.
            self.inbound.pass_over();
            let failure = Status::resource_exhausted("the memory for messages is used up");
            self.failure = Some(failure);
            self.closed();
        }
        self.act();
    }

    /// Whether the time has just passed in which something should have come.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(wait) = self.machine.waits_for() else {
            self.timer = None;
            return false;
        };
        if self
            .timer
            .as_ref()
            .is_none_or(|(for_what, _)| *for_what != wait)
        {
            let end = self.end_of(wait);
            self.timer = Some((wait, Box::pin(tokio::time::sleep_until(end))));
        }
        let passed = self
            .timer
            .as_mut()
            .is_some_and(|(_, timer)| timer.as_mut().poll(cx).is_ready());
        if passed {
            self.timer = None;
            self.machine.overdue(wait, &mut self.actions);
            self.finished = self.machine.is_closed();
            self.act();
        }
        passed
    }

    /// When a wait that begins now has lasted too long.
    fn end_of(&self, wait: Wait) -> Instant {
        let now = Instant::now();
        match wait {
            Wait::UndeclaredBody => now + BODY_OVERDUE,
            Wait::FirstMessage | Wait::Leave => now + SILENCE,
            // A client that sends a byte now and then must not hold memory for ever.
            Wait::Body => (now + SILENCE).min(self.opened + BODY_WHOLE),
        }
    }

    fn next_reply(&mut self) -> Option<ProcessingResponse> {
        let reply = self.replies.pop_front()?;
        self.reply_bytes = self.reply_bytes.saturating_sub(body_bytes(&reply));
        self.account();
        if self.replies.is_empty() {
            self.replies.shrink_to(ROOM);
        }
        Some(reply)
    }

    /// Counts what is held, be it until its message is whole, for the decision, or until the gateway
    /// reads it; `false` if that passes the process's limit.
    fn account(&mut self) -> bool {
        let bodies = self.machine.held_bytes().saturating_add(self.reply_bytes);
        let bodies = bodies.saturating_add(self.inbound.kept_bytes());
        // The few that most messages lead to are part of what a stream costs anyway.
        let replies = self.replies.len().saturating_sub(ROOM);
        let beside = replies.saturating_mul(size_of::<ProcessingResponse>());
        self.held.set(bodies.saturating_add(beside))
    }

    fn decided(&mut self, decision: &Decision) {
        self.settle(decision);
        self.act();
    }

    /// Has the machine read a message. If that panics, the fault costs no more than what would have
    /// been read: the stream goes on without reading, and all others do not notice.
    fn read(&mut self, message: ProcessingRequest) {
        let unread = self.machine.unread(&message);
        let read = |machine: &mut Machine, actions: &mut Vec<Action>| {
            #[cfg(test)]
            tests::panic_if_told(&message);
            machine.message(message, actions);
        };
        if self.guarded("message", read) {
            return;
        }
        let recover = |machine: &mut Machine, actions: &mut Vec<Action>| {
            machine.recover(unread, actions);
        };
        if !self.guarded("recovery", recover) {
            self.failure = Some(Status::internal("the endpoint picker failed at a message"));
            self.closed();
        }
    }

    /// Has the machine answer what waits for the decision.
    fn settle(&mut self, decision: &Decision) {
        let settle = |machine: &mut Machine, actions: &mut Vec<Action>| {
            machine.decided(decision, actions);
        };
        if !self.guarded("decision", settle) {
            self.machine.fail(&mut self.actions);
        }
    }

    /// Has the machine answer with the models of all endpoints.
    fn list_models(&mut self) {
        let models = self.models.as_ref().and_then(|table| table.merged());
        let list = |machine: &mut Machine, actions: &mut Vec<Action>| {
            machine.listed(models, actions);
        };
        if !self.guarded("list of models", list) {
            self.machine.fail(&mut self.actions);
        }
    }

    /// Runs a part of the machine; `false` if it panicked, and then nothing of what it asked for is
    /// left.
    fn guarded(
        &mut self,
        part: &'static str,
        work: impl FnOnce(&mut Machine, &mut Vec<Action>),
    ) -> bool {
        let Self {
            machine, actions, ..
        } = self;
        let before = actions.len();
        let worked = catch_unwind(AssertUnwindSafe(|| work(machine, actions))).is_ok();
        if !worked {
            error!(
                part,
                "a stream panicked and goes on unread: report this with the lines before"
            );
            self.door.panicked(Panicked::Stream);
            self.actions.truncate(before);
        }
        worked
    }

    /// No message comes any more, nor can one be read. Where Envoy ended the stream by a reset, which is
    /// how it ends one that we did not close, nobody reads the status.
    fn broke(&mut self, status: Status) {
        if status.code() == Code::OutOfRange {
            self.machine
                .overlong(self.message_bytes_max, &mut self.actions);
            self.act();
        }
        if self.replies.is_empty() {
            self.failure = Some(status);
            self.closed();
        } else {
            self.input_ended = true;
        }
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
                Action::Reply(reply) => {
                    if let Some(Reply::ImmediateResponse(answer)) = &reply.response {
                        self.door.answered_here(answer);
                    }
                    self.reply_bytes += body_bytes(&reply);
                    self.replies.push_back(reply);
                }
                Action::Ask(facts) => {
                    let (ticket, answer) = self.door.offer(facts);
                    self.ticket = Some(ticket);
                    match answer {
                        Answer::Now(decision) => {
                            self.settle(&decision);
                        }
                        Answer::Later(receiver) => self.answer = Some(receiver),
                    }
                }
                Action::ListModels => self.list_models(),
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
            // The drained vector keeps some room for the next message.
            actions.shrink_to(ROOM);
            self.actions = actions;
        } else {
            self.act();
        }
        self.account();
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

/// Bytes of body that the gateway gets back with a reply.
fn body_bytes(reply: &ProcessingResponse) -> usize {
    let (Some(Reply::RequestBody(body)) | Some(Reply::ResponseBody(body))) = &reply.response else {
        return 0;
    };
    let common = body.response.as_ref();
    match common.and_then(|common| common.body_mutation.as_ref()?.mutation.as_ref()) {
        Some(Mutation::StreamedResponse(piece)) => piece.body.len(),
        Some(Mutation::Body(body)) => body.len(),
        Some(Mutation::ClearBody(_)) | None => 0,
    }
}

/// Actions and replies for which a stream keeps room: as many as a message leads to, but for the end of
/// a large body.
const ROOM: usize = 16;
/// A gateway that sends bodies unasked does so at once; less than Envoy's message timeout of 200 ms.
const BODY_OVERDUE: Duration = Duration::from_millis(100);
/// A client that has not sent more of its body by then holds memory that others need.
const SILENCE: Duration = Duration::from_secs(30);
/// By then all of a body has come, counted from the opening of its stream.
const BODY_WHOLE: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests;
