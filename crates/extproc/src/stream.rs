//! The state machine of one ext_proc stream, which carries one HTTP request and its response.
//!
//! The order of messages in each body mode is that of Envoy's [ext_proc filter], as seen with Envoy
//! 1.40 where its text leaves it open.
//!
//! [ext_proc filter]: https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/ext_proc_filter

mod recover;
mod request_phase;
mod response_phase;

use bytes::Bytes;
use pointsman_domain::block::BlockSize;
use pointsman_domain::decision::{Decision, Refusal};
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::observation::{EndCause, Observation, ObservationMode};
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{ProcessingRequest, ProcessingResponse, ProtocolConfiguration};

use crate::metadata;
use crate::modes::{Modes, RequestPlan};
use crate::refusal::{Answer, Cause};
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
    /// What clients see of the engines' load reports.
    pub load_reports: LoadReports,
    /// Who answers the question for the models.
    pub model_list: ModelList,
}

/// Who answers `GET …/v1/models`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ModelList {
    /// The engine that it is routed to, as any other request.
    #[default]
    OfEngine,
    /// The picker, with the models of all engines.
    Merged,
}

/// What becomes of the load reports (ORCA) that engines add to their answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadReports {
    /// They reach the client.
    #[default]
    Kept,
    /// They are removed.
    Removed,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 32 * 1024 * 1024,
            block_size: BlockSize::DEFAULT,
            load_reports: LoadReports::Kept,
            model_list: ModelList::OfEngine,
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
    /// Tell [`Stream::listed`] the models of all engines, at once.
    ListModels,
    /// Tell the pool what was seen of the response.
    Observed(Observation),
    /// Tell the pool that the request is over. Once; it also comes if nothing was asked, as for a
    /// request that was refused before. Wins over a decision that is still under way.
    Ended(EndCause),
}

/// What a stream waits for that must come in time. The shell keeps the time, and tells
/// [`Stream::overdue`].
///
/// There is none for a decision, as the pool has deadlines of its own, and none for a response: an
/// answer may take hours, and as long as the gateway keeps the stream open, it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The first message that says something, of a stream that was opened.
    FirstMessage,
    /// The body, from a gateway that declares no body mode. It may be waiting for us.
    UndeclaredBody,
    /// More of a body that is held.
    Body,
    /// The end of a stream on which the request was answered in place of an engine. All that the
    /// gateway still needs is on its way to it.
    Leave,
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
    ListModels,
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
            response: ResponsePhase::new(settings.load_reports),
        }
    }

    /// Takes the next message.
    pub fn message(&mut self, message: ProcessingRequest, actions: &mut Vec<Action>) {
        match self.life {
            Life::New => self.open(message.observability_mode, message.protocol_config.as_ref()),
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
                let renamed = self.request.take_renamed();
                self.response
                    .headers(&headers, served, renamed, self.modes, &mut replies)
            }
            Request::ResponseBody(body) => {
                self.request.abandon();
                let form = self.modes.response_form();
                let nature = self.request.nature();
                self.response.body(body, form, nature, &mut replies)
            }
            Request::ResponseTrailers(trailers) => {
                self.request.abandon();
                let form = self.modes.response_form();
                self.response.trailers(&trailers, form, &mut replies)
            }
        };
        self.take(step, actions);
    }

    /// What must come in time now, if anything.
    pub fn waits_for(&self) -> Option<Wait> {
        match self.life {
            Life::New => Some(Wait::FirstMessage),
            Life::Open if self.awaits_undeclared_body() => Some(Wait::UndeclaredBody),
            Life::Open if self.gathers_body() => Some(Wait::Body),
            Life::Open if self.awaits_headers() => Some(Wait::FirstMessage),
            Life::Refused => Some(Wait::Leave),
            Life::Open | Life::Closed => None,
        }
    }

    /// What the stream [waits for](Self::waits_for) did not come in time; does nothing if it waits for
    /// something else by now.
    ///
    /// A gateway that declares no body mode is taken to be waiting itself, and the request is routed
    /// on its headers. A body that stalls is refused, which frees what is held. A stream on which
    /// nothing comes at all is over, and so is one that the gateway keeps open behind its answer.
    pub fn overdue(&mut self, wait: Wait, actions: &mut Vec<Action>) {
        if self.waits_for() != Some(wait) {
            return;
        }
        match wait {
            Wait::FirstMessage | Wait::Leave => self.closed(actions),
            Wait::UndeclaredBody => {
                if let Some(facts) = self.request.route_on_headers() {
                    self.modes.assume_waiting();
                    self.take(Step::Ask(facts), actions);
                }
            }
            Wait::Body => self.take(self.request.refuse(Cause::BodyStalled), actions),
        }
    }

    fn awaits_undeclared_body(&self) -> bool {
        self.modes.request_is_unknown() && self.request.awaits_first_body()
    }

    /// Whether nothing has come that the pool could be asked with.
    const fn awaits_headers(&self) -> bool {
        self.request.is_gathering() && !self.request.headers_came()
    }

    /// Whether a body is being held of which more must come before the pool can be asked.
    ///
    /// Not so where the gateway itself gathers the body, as then nothing is held here, and nothing is
    /// seen of a body that comes slowly.
    fn gathers_body(&self) -> bool {
        self.modes.request_plan() == RequestPlan::End && self.request.is_gathering()
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
                let step = self.request.settle(pick, self.modes, &mut replies);
                self.take(step, actions);
            }
            Decision::Picked(_) => self.refuse(Refusal::NoEndpoints, actions),
            Decision::Refused(refusal) => self.refuse(*refusal, actions),
        }
    }

    /// Answers the question for the models with `list`, a JSON text; where none is known, the request
    /// goes on as any other. Does nothing unless that [was asked](Action::ListModels).
    pub fn listed(&mut self, list: Option<Bytes>, actions: &mut Vec<Action>) {
        if self.life == Life::Open
            && let Some(step) = self.request.listed(list)
        {
            self.take(step, actions);
        }
    }

    /// Refuses the request here, for instance when memory for held bodies is used up, or when the
    /// picker's own deadline passed. Does nothing before the first message, and once the request is
    /// on its way.
    pub fn refuse(&mut self, refusal: Refusal, actions: &mut Vec<Action>) {
        if self.life == Life::Open && self.request.is_open() {
            self.take(self.request.refuse(Cause::Refused(refusal)), actions);
        }
    }

    /// A message came that is longer than the `bytes_max` that one may have, and was not read. Only a body
    /// is so long.
    pub fn overlong(&mut self, bytes_max: usize, actions: &mut Vec<Action>) {
        if self.life == Life::Open && self.request.is_gathering() {
            self.take(
                self.request.refuse(Cause::BodyTooLarge { bytes_max }),
                actions,
            );
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
        let mut replies = Replies {
            actions,
            muted: true,
        };
        let cause = if unseen_end {
            self.response.tell_status(&mut replies);
            self.response_cause()
        } else {
            self.response.cut(&mut replies);
            EndCause::Cut
        };
        self.end(cause, actions);
    }

    /// Whether the stream is over.
    pub const fn is_closed(&self) -> bool {
        matches!(self.life, Life::Closed)
    }

    /// Whether the gateway goes on unharmed if we end the stream now: it has our answer in place of an
    /// engine's; or the request is on its way, and the response's body does not come here, or comes
    /// as a copy of what the gateway keeps.
    pub fn can_be_left(&self) -> bool {
        if self.life == Life::Refused {
            return true;
        }
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

    /// Takes what the first message declares.
    fn open(&mut self, observability: bool, config: Option<&ProtocolConfiguration>) {
        self.life = Life::Open;
        self.observability = observability;
        if let Some(config) = config {
            self.modes = Modes::declared(config);
        }
    }

    fn take(&mut self, step: Step, actions: &mut Vec<Action>) {
        match step {
            Step::Nothing => {}
            Step::Ask(mut facts) => {
                facts.observation = self.mode();
                actions.push(Action::Ask(facts));
            }
            Step::ListModels => actions.push(Action::ListModels),
            Step::Refuse(answer) => {
                // Nothing can be refused where we only look on: the request goes its way.
                if self.observability
                    && let Some(facts) = self.request.route_unread()
                {
                    return self.take(Step::Ask(facts), actions);
                }
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
