//! The request side: what is held, when the pool is asked, and which answers are owed until then.

use pointsman_domain::decision::Pick;
use pointsman_domain::endpoint::SubsetEntry;
use pointsman_domain::facts::RequestFacts;
use pointsman_proto::ext_proc::{HttpBody, HttpHeaders};
use pointsman_request::head::Head;
use pointsman_request::read;

use super::{Replies, Settings, Step};
use crate::headers;
use crate::held::{HeldBody, PIECES_MAX, TooLarge};
use crate::modes::{BodyForm, Modes, RequestPlan};
use crate::refusal::{self, Cause};
use crate::reply::{self, Direction, PieceEnd, Route};

/// The request side of one stream.
pub(super) struct RequestPhase {
    settings: Settings,
    progress: Progress,
    head: Head,
    headers_came: bool,
    owned_headers: Vec<String>,
    subset: Option<Vec<SubsetEntry>>,
    held: HeldBody,
    owed: Owed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// More of the request is awaited.
    Gathering,
    /// The pool was asked.
    Asked,
    /// The pick was passed on.
    Routed,
    /// The request will not be routed any more.
    Abandoned,
}

/// Messages that wait for their answer until the decision.
#[derive(Debug, Default)]
struct Owed {
    headers: bool,
    /// Body messages of modes with plain answers, at most as many as a held body may have pieces:
    /// each becomes an answer at once when the decision comes.
    bodies: usize,
    /// The end of a held body, if a body message brought it.
    body_end: Option<PieceEnd>,
    trailers: bool,
}

impl RequestPhase {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            progress: Progress::Gathering,
            head: Head::new(),
            headers_came: false,
            owned_headers: Vec::new(),
            subset: None,
            held: HeldBody::default(),
            owed: Owed::default(),
        }
    }

    pub(super) const fn held_bytes(&self) -> usize {
        self.held.memory_bytes()
    }

    /// Whether the headers came and the end of the request did not.
    pub(super) const fn gathers_body(&self) -> bool {
        matches!(self.progress, Progress::Gathering) && self.headers_came
    }

    pub(super) const fn is_asked(&self) -> bool {
        matches!(self.progress, Progress::Asked)
    }

    /// Whether the request can still be refused.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.progress, Progress::Gathering | Progress::Asked)
    }

    pub(super) const fn is_routed(&self) -> bool {
        matches!(self.progress, Progress::Routed)
    }

    /// Takes the subset hint of a message; the latest one counts.
    pub(super) fn hint(&mut self, subset: Option<Vec<SubsetEntry>>) {
        if subset.is_some() {
            self.subset = subset;
        }
    }

    pub(super) fn headers(
        &mut self,
        message: &HttpHeaders,
        modes: Modes,
        replies: &mut Replies<'_>,
    ) -> Step {
        if self.headers_came || self.progress != Progress::Gathering {
            return Step::Nothing;
        }
        self.headers_came = true;
        self.owed.headers = true;
        self.owned_headers = headers::read_request(message.headers.as_ref(), &mut self.head);
        let plan = modes.request_plan();
        if message.end_of_stream || plan == RequestPlan::Headers {
            return self.ask_without_body();
        }
        let bytes_max = self.settings.body_bytes_max as u64;
        if self
            .head
            .content_length()
            .is_some_and(|bytes| bytes > bytes_max)
        {
            return self.too_large();
        }
        if let RequestPlan::Body { .. } = plan {
            self.owed.headers = false;
            // What the client must not set goes now: where trailers follow at once, the route comes
            // too late to overwrite it.
            let names = core::mem::take(&mut self.owned_headers);
            replies.send(reply::headers_without(names));
        }
        Step::Nothing
    }

    pub(super) fn body(
        &mut self,
        message: HttpBody,
        modes: Modes,
        replies: &mut Replies<'_>,
    ) -> Step {
        let plan = modes.request_plan();
        match (self.progress, plan) {
            (Progress::Gathering, RequestPlan::End) => self.hold(message),
            // What comes after the end of the body is a repetition, as Envoy is known to send. In
            // duplex modes answers are not matched to messages, so there is none to give.
            (_, RequestPlan::End) => Step::Nothing,
            (Progress::Gathering, RequestPlan::Headers) => {
                self.owed.bodies += 1;
                self.ask_without_body()
            }
            (Progress::Gathering, RequestPlan::Body { may_be_partial }) => {
                self.owed.bodies += 1;
                self.ask_at_body(message, may_be_partial)
            }
            (Progress::Asked, _) if self.owed.bodies >= PIECES_MAX => self.too_large(),
            (Progress::Asked, _) => {
                self.owed.bodies += 1;
                Step::Nothing
            }
            (Progress::Routed | Progress::Abandoned, _) => {
                replies.send(reply::body(Direction::Request, None));
                Step::Nothing
            }
        }
    }

    pub(super) fn trailers(&mut self, replies: &mut Replies<'_>) -> Step {
        match self.progress {
            Progress::Gathering => {
                self.owed.trailers = true;
                self.ask_with_held_body()
            }
            Progress::Asked => {
                self.owed.trailers = true;
                Step::Nothing
            }
            Progress::Routed | Progress::Abandoned => {
                replies.send(reply::trailers(Direction::Request, None));
                Step::Nothing
            }
        }
    }

    /// Asks on the headers alone, if they came and nothing came after them.
    pub(super) fn route_on_headers(&mut self) -> Option<Box<RequestFacts>> {
        self.awaits_first_body().then(|| self.facts_without_body())
    }

    /// Whether the headers came and nothing after them.
    pub(super) fn awaits_first_body(&self) -> bool {
        self.progress == Progress::Gathering && self.owed.headers && self.held.pieces().is_empty()
    }

    /// Answers all that is owed. The route goes with the first answer, in which the gateway can
    /// still change the headers.
    pub(super) fn settle(&mut self, pick: &Pick, modes: Modes, replies: &mut Replies<'_>) {
        self.progress = Progress::Routed;
        let owed = core::mem::take(&mut self.owed);
        let mut route = Route::new(pick, core::mem::take(&mut self.owned_headers));
        if owed.trailers {
            // Envoy sends a body twice that it keeps for a second try, once the answer to trailers
            // sets it going again (envoyproxy/envoy#45470).
            route = route.sent_once();
        }
        let mut route = Some(route);
        if owed.headers {
            replies.send(reply::headers(Direction::Request, route.take()));
        }
        if let BodyForm::Pieces { bytes_max } = modes.request_form() {
            // Trailers end the body by themselves.
            let end = match owed.body_end {
                Some(end) if !owed.trailers => end,
                _ => PieceEnd::Open,
            };
            reply::pieces(self.held.take(), bytes_max, end, |piece, end| {
                replies.send(reply::piece(Direction::Request, route.take(), piece, end));
            });
        }
        for _ in 0..owed.bodies {
            replies.send(reply::body(Direction::Request, route.take()));
        }
        if owed.trailers {
            replies.send(reply::trailers(Direction::Request, route.take()));
        }
    }

    /// Drops what is held; a request that is not on its way yet never will be.
    pub(super) fn abandon(&mut self) {
        if self.is_open() {
            self.progress = Progress::Abandoned;
            self.held.take();
        }
    }

    fn hold(&mut self, message: HttpBody) -> Step {
        let end = PieceEnd::of(&message);
        if let Err(TooLarge) = self.held.push(message.body, self.settings.body_bytes_max) {
            return self.too_large();
        }
        if end == PieceEnd::Open {
            return Step::Nothing;
        }
        self.owed.body_end = Some(end);
        self.ask_with_held_body()
    }

    fn ask_with_held_body(&mut self) -> Step {
        if self.held.pieces().is_empty() && self.owed.body_end.is_none() {
            return self.ask_without_body();
        }
        match read::with_body(&self.head, self.held.pieces(), self.settings.block_size) {
            Ok(facts) => Step::Ask(self.asked(facts)),
            Err(rejection) => Step::Refuse(refusal::answer(Cause::Rejected(&rejection))),
        }
    }

    /// The gateway keeps the body, so it is read and dropped.
    fn ask_at_body(&mut self, message: HttpBody, may_be_partial: bool) -> Step {
        if message.body.len() > self.settings.body_bytes_max {
            return self.too_large();
        }
        let is_partial = may_be_partial && !message.end_of_stream;
        match read::with_body(&self.head, &[message.body], self.settings.block_size) {
            Ok(facts) => Step::Ask(self.asked(facts)),
            Err(_) if is_partial => self.ask_without_body(),
            Err(rejection) => Step::Refuse(refusal::answer(Cause::Rejected(&rejection))),
        }
    }

    fn ask_without_body(&mut self) -> Step {
        Step::Ask(self.facts_without_body())
    }

    fn facts_without_body(&mut self) -> Box<RequestFacts> {
        let facts = read::without_body(&self.head, self.settings.block_size);
        self.asked(facts)
    }

    fn asked(&mut self, mut facts: RequestFacts) -> Box<RequestFacts> {
        self.progress = Progress::Asked;
        self.head = Head::new();
        facts.subset = self.subset.take();
        facts.body_bytes = self.held.bytes() as u64;
        Box::new(facts)
    }

    fn too_large(&self) -> Step {
        Step::Refuse(refusal::answer(Cause::BodyTooLarge {
            bytes_max: self.settings.body_bytes_max,
        }))
    }
}
