//! The state machine of one ext_proc stream, which carries one HTTP request and its response.
//!
//! The order of messages in each body mode is that of Envoy's [ext_proc filter], as seen with Envoy
//! 1.40 where its text leaves it open.
//!
//! [ext_proc filter]: https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/ext_proc_filter

mod request_phase;
mod response_phase;

use pointsman_domain::block::BlockSize;
use pointsman_domain::decision::{Decision, Refusal};
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::observation::{EndCause, Observation, ObservationMode};
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{ProcessingRequest, ProcessingResponse};

use crate::metadata;
use crate::modes::{Modes, RequestPlan};
use crate::refusal::{self, Answer, Cause};
use crate::reply;
use request_phase::RequestPhase;
use response_phase::ResponsePhase;

/// What all streams of one listener share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of one request body that are held at most; a longer body is answered with 413, and so is
    /// one in very many pieces.
    pub body_bytes_max: usize,
    /// The size of the blocks that prompts are cut into.
    pub block_size: BlockSize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 32 * 1024 * 1024,
            block_size: BlockSize::DEFAULT,
        }
    }
}

/// What a stream wants done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send this to the gateway.
    Reply(ProcessingResponse),
    /// Ask the pool where the request goes, and tell [`Stream::decided`]. At most once.
    Ask(Box<RequestFacts>),
    /// Tell the pool what was seen of the response.
    Observed(Observation),
    /// Tell the pool that the request is over. Once; it also comes if nothing was asked, as for a
    /// request that was refused before. Wins over a decision that is still under way.
    Ended(EndCause),
}

/// One ext_proc stream.
pub struct Stream {
    life: Life,
    ended: bool,
    modes: Modes,
    /// In Envoy's observability mode nothing is awaited, and answers are errors.
    observability: bool,
    request: RequestPhase,
    response: ResponsePhase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// No message has come.
    New,
    /// Messages are answered.
    Open,
    /// An immediate response was given; what still comes was sent before the gateway knew.
    Refused,
    /// The gRPC stream is gone.
    Closed,
}

/// What a message leads to, besides its answers.
enum Step {
    Nothing,
    Ask(Box<RequestFacts>),
    Refuse(Answer),
    ResponseEnded,
}

impl Stream {
    /// A stream on which nothing has come yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            life: Life::New,
            ended: false,
            modes: Modes::default(),
            observability: false,
            request: RequestPhase::new(settings),
            response: ResponsePhase::default(),
        }
    }

    /// Takes the next message.
    pub fn message(&mut self, message: ProcessingRequest, actions: &mut Vec<Action>) {
        match self.life {
            Life::New => {
                self.life = Life::Open;
                self.observability = message.observability_mode;
                if let Some(config) = &message.protocol_config {
                    self.modes = Modes::declared(config);
                }
            }
            Life::Open => {}
            Life::Refused | Life::Closed => return,
        }
        let Some(request) = message.request else {
            return;
        };
        let metadata = message.metadata_context.as_ref();
        let mut replies = Replies {
            actions,
            muted: self.observability,
        };
        let step = match request {
            Request::RequestHeaders(headers) => {
                self.request.hint(metadata::subset(metadata));
                self.request.headers(&headers, self.modes, &mut replies)
            }
            Request::RequestBody(body) => {
                self.request.hint(metadata::subset(metadata));
                self.request.body(body, self.modes, &mut replies)
            }
            Request::RequestTrailers(_) => {
                self.request.hint(metadata::subset(metadata));
                self.request.trailers(&mut replies)
            }
            Request::ResponseHeaders(headers) => {
                self.request.abandon();
                let served = metadata::served(metadata);
                self.response.headers(&headers, served, &mut replies)
            }
            Request::ResponseBody(body) => {
                self.request.abandon();
                let form = self.modes.response_form();
                self.response.body(body, form, &mut replies)
            }
            Request::ResponseTrailers(trailers) => {
                self.request.abandon();
                self.response.trailers(&trailers, &mut replies)
            }
        };
        self.take(step, actions);
    }

    /// Nothing came for a while after the headers. A gateway that declared no body mode may be
    /// waiting for their answer, so the request is routed on its headers; in any other state this
    /// does nothing. A gateway that sends bodies unasked does so at once, so a tenth of a second is
    /// long enough, and it must be less than Envoy's message timeout, 200 ms by default.
    pub fn body_overdue(&mut self, actions: &mut Vec<Action>) {
        if self.life == Life::Open
            && self.modes.request_is_undeclared()
            && let Some(facts) = self.request.route_on_headers()
        {
            self.modes.assume_waiting();
            actions.push(Action::Ask(facts));
        }
    }

    /// Whether [`body_overdue`](Self::body_overdue) would do something now.
    pub fn awaits_undeclared_body(&self) -> bool {
        self.life == Life::Open
            && self.modes.request_is_undeclared()
            && self.request.awaits_first_body()
    }

    /// Whether a body is being held of which more must come before the pool can be asked. A client
    /// that sends no more of it for long is to be told of by [`body_stalled`](Self::body_stalled).
    ///
    /// Not so where the gateway itself gathers the body, as then nothing is held here, and nothing is
    /// seen of a body that comes slowly.
    pub const fn gathers_body(&self) -> bool {
        matches!(self.life, Life::Open)
            && matches!(self.modes.request_plan(), RequestPlan::End)
            && self.request.gathers_body()
    }

    /// Nothing more of the body came for too long: refuses the request and frees what is held. Does
    /// nothing unless the stream [gathers a body](Self::gathers_body).
    pub fn body_stalled(&mut self, actions: &mut Vec<Action>) {
        if self.gathers_body() {
            let answer = refusal::answer(Cause::BodyStalled);
            self.take(Step::Refuse(answer), actions);
        }
    }

    /// Takes the pool's answer. One that comes too late, or that nobody asked for, is ignored.
    pub fn decided(&mut self, decision: &Decision, actions: &mut Vec<Action>) {
        if self.life != Life::Open || !self.request.is_asked() {
            return;
        }
        match decision {
            Decision::Picked(pick) if !pick.destinations.is_empty() => {
                let mut replies = Replies {
                    actions,
                    muted: self.observability,
                };
                self.request.settle(pick, self.modes, &mut replies);
            }
            Decision::Picked(_) => self.refuse(Refusal::NoEndpoints, actions),
            Decision::Refused(refusal) => self.refuse(*refusal, actions),
        }
    }

    /// Refuses the request here, for instance when memory for held bodies is used up, or when the
    /// picker's own deadline passed. Does nothing before the first message, and once the request is
    /// on its way.
    pub fn refuse(&mut self, refusal: Refusal, actions: &mut Vec<Action>) {
        if self.life == Life::Open && self.request.is_open() {
            let answer = refusal::answer(Cause::Refused(refusal));
            self.take(Step::Refuse(answer), actions);
        }
    }

    /// Whether a gateway that ends its side of the stream now still reads ours, so that the stream is
    /// not closed before the decision. NGINX Gateway Fabric declares no modes, and ends its side once
    /// it has sent the request; Envoy declares them, and does so when the client leaves.
    pub const fn outlives_input(&self) -> bool {
        self.modes.request_is_undeclared() && self.request.is_asked()
    }

    /// The gRPC stream is gone, cleanly or by a reset.
    ///
    /// Where bodies are not sent, Envoy ends the stream in the same way at the end of the response
    /// and when the client leaves; both count as the end of the response once its headers came.
    pub fn closed(&mut self, actions: &mut Vec<Action>) {
        self.life = Life::Closed;
        self.request.abandon();
        let unseen_end = self.mode() == ObservationMode::HeadersOnly && self.response.has_begun();
        let cause = if unseen_end {
            self.response_cause()
        } else {
            EndCause::Cut
        };
        self.end(cause, actions);
    }

    /// Whether the gateway goes on unharmed if we end the stream now: the request is on its way, and
    /// the response's body does not come here, or comes as a copy of what the gateway keeps.
    pub fn can_be_left(&self) -> bool {
        let request_is_complete =
            self.modes.request_plan() == RequestPlan::End || self.response.has_begun();
        self.request.is_routed() && request_is_complete && self.mode() != ObservationMode::Full
    }

    /// Bytes of memory that the held body takes now, with what each of its pieces costs beside its
    /// bytes.
    pub const fn held_bytes(&self) -> usize {
        self.request.held_bytes()
    }

    /// How much of the response the gateway lets us see. Where the gateway declared nothing, this is
    /// headers only until a response body comes.
    pub const fn mode(&self) -> ObservationMode {
        self.modes.observation(self.response.body_came())
    }

    fn take(&mut self, step: Step, actions: &mut Vec<Action>) {
        match step {
            Step::Nothing => {}
            Step::Ask(facts) => actions.push(Action::Ask(facts)),
            Step::Refuse(answer) => {
                self.life = Life::Refused;
                self.request.abandon();
                if !self.observability {
                    actions.push(Action::Reply(reply::immediate(answer)));
                }
                self.end(EndCause::Refused, actions);
            }
            Step::ResponseEnded => self.end(self.response_cause(), actions),
        }
    }

    /// The cause of an end that the response itself told. A response to a request that was never
    /// routed is the gateway's own, for instance after its timeout.
    const fn response_cause(&self) -> EndCause {
        if !self.request.is_routed() && !self.observability {
            EndCause::Cut
        } else if self.response.has_failed() {
            EndCause::EngineError
        } else {
            EndCause::Complete
        }
    }

    fn end(&mut self, cause: EndCause, actions: &mut Vec<Action>) {
        if !core::mem::replace(&mut self.ended, true) {
            actions.push(Action::Ended(cause));
        }
    }
}

/// Takes the answers of a phase; drops them where none may be given.
struct Replies<'a> {
    actions: &'a mut Vec<Action>,
    muted: bool,
}

impl Replies<'_> {
    fn send(&mut self, response: ProcessingResponse) {
        if !self.muted {
            self.actions.push(Action::Reply(response));
        }
    }

    fn observed(&mut self, observation: Observation) {
        self.actions.push(Action::Observed(observation));
    }
}

#[cfg(test)]
mod tests;
