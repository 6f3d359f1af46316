//! One ext_proc stream: the gateway's messages into the state machine, its actions to the pool, its
//! replies back.
//!
//! The session is itself the stream of replies that the gRPC server polls, so it needs no task and
//! no channel: when the gateway resets the stream the session is dropped, and its ticket with it.

use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use pointsman_domain::decision::{Decision, Refusal};
use pointsman_extproc::stream::{Action, Settings, Stream as Machine};
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::external_processor_server::ExternalProcessor;
use pointsman_proto::ext_proc::processing_response::Response as Reply;
use pointsman_proto::ext_proc::{ProcessingRequest, ProcessingResponse};
use tokio::sync::oneshot;
use tokio::time::Sleep;
use tokio_stream::Stream;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::{Request, Response, Status, Streaming};

use crate::held::{HeldBytes, HeldShare};
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

/// One stream.
pub(crate) struct Session {
    door: Arc<PoolDoor>,
    inbound: Streaming<ProcessingRequest>,
    machine: Machine,
    ticket: Option<Ticket>,
    answer: Option<oneshot::Receiver<Decision>>,
    /// Runs while more of the request should come.
    body_timer: Option<Pin<Box<Sleep>>>,
    /// The gateway's side has ended; only an answer that is on its way is still awaited.
    input_ended: bool,
    actions: Vec<Action>,
    replies: VecDeque<ProcessingResponse>,
    /// Body bytes in those replies.
    reply_bytes: usize,
    held: HeldShare,
    finished: bool,
    /// Ready when the process ends and waits no longer.
    leave: Pin<Box<WaitForCancellationFutureOwned>>,
    _open: TaskTrackerToken,
}

impl Service {
    /// A service for one pool. `open` counts its streams; at `leave` those end that can without harm.
    pub(crate) const fn new(
        door: Arc<PoolDoor>,
        settings: Settings,
        held: Arc<HeldBytes>,
        open: TaskTracker,
        leave: CancellationToken,
    ) -> Self {
        Self {
            door,
            settings,
            held,
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
            body_timer: None,
            input_ended: false,
            actions: Vec::new(),
            replies: VecDeque::new(),
            reply_bytes: 0,
            held: HeldShare::new(Arc::clone(&self.held)),
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
            if let Some(reply) = session.next_reply() {
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
            if !session.poll_body_timer(cx) {
                return Poll::Pending;
            }
        }
    }
}

impl Session {
    fn message(&mut self, message: ProcessingRequest) {
        self.body_timer = None;
        self.machine.message(message, &mut self.actions);
        if !self.account() {
            // What is refused here must not be asked about, if this was the last piece.
            self.actions
                .retain(|action| !matches!(action, Action::Ask(_)));
            self.machine.refuse(Refusal::HoldFull, &mut self.actions);
        }
        self.act();
    }

    /// Whether the time has just passed in which more of the request should have come.
    fn poll_body_timer(&mut self, cx: &mut Context<'_>) -> bool {
        let is_undeclared = self.machine.awaits_undeclared_body();
        if !is_undeclared && !self.machine.gathers_body() {
            self.body_timer = None;
            return false;
        }
        let wait = if is_undeclared {
            BODY_OVERDUE
        } else {
            BODY_STALLED
        };
        let timer = self
            .body_timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        if timer.as_mut().poll(cx).is_pending() {
            return false;
        }
        self.body_timer = None;
        if is_undeclared {
            self.machine.body_overdue(&mut self.actions);
        } else {
            self.machine.body_stalled(&mut self.actions);
        }
        self.act();
        true
    }

    fn next_reply(&mut self) -> Option<ProcessingResponse> {
        let reply = self.replies.pop_front()?;
        let bytes = body_bytes(&reply);
        if bytes > 0 {
            self.reply_bytes = self.reply_bytes.saturating_sub(bytes);
            self.account();
        }
        Some(reply)
    }

    /// Counts what is held, be it for the decision or until the gateway reads it; `false` if that
    /// passes the process's limit.
    fn account(&mut self) -> bool {
        self.held
            .set(self.machine.held_bytes().saturating_add(self.reply_bytes))
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

/// A gateway that sends bodies unasked does so at once; less than Envoy's message timeout of 200 ms.
const BODY_OVERDUE: Duration = Duration::from_millis(100);
/// A client that has not sent more of its body by then holds memory that others need.
const BODY_STALLED: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
