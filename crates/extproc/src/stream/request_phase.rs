//! The request side: what is held, when the pool is asked, and which answers are owed until then.

use core::num::NonZeroU32;

use bytes::Bytes;
use pointsman_domain::decision::Pick;
use pointsman_domain::endpoint::SubsetEntry;
use pointsman_domain::facts::{Dialect, ModelName, RequestFacts};
use pointsman_proto::ext_proc::{HttpBody, HttpHeaders};
use pointsman_request::head::Head;
use pointsman_request::owned;
use pointsman_request::read::{self, Reading};
use pointsman_request::rewrite::{self, ModelPlace, Rewritten};

use super::{ModelList, Replies, Settings, Step};
use crate::headers;
use crate::held::{HeldBody, PIECES_MAX, TooLarge};
use crate::modes::{BodyForm, Modes, RequestPlan};
use crate::refusal::{self, Cause};
use crate::reply::{self, BodyChange, Direction, PieceEnd, Route};

/// The request side of one stream.
pub(super) struct RequestPhase {
    settings: Settings,
    progress: Progress,
    head: Head,
    headers_came: bool,
    body_came: bool,
    owned_headers: Vec<String>,
    subset: Option<Vec<SubsetEntry>>,
    held: HeldBody,
    owed: Owed,
    nature: Nature,
    /// Where the held body names its model.
    model_place: Option<ModelPlace>,
    /// The model that the client named, where the body can be made to name another.
    client_model: Option<Box<str>>,
    renamed: Option<Renamed>,
    /// Reading it panicked, and is not tried again.
    unreadable: bool,
}

/// What of a request its response is read by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nature {
    pub(super) dialect: Dialect,
    pub(super) choices: NonZeroU32,
}

/// A model that has one name for the client and another for the engine.
#[derive(Debug)]
pub(super) struct Renamed {
    pub(super) client: Box<str>,
    pub(super) engine: Box<str>,
}

/// The model is to be named anew, in a body that cannot be changed.
struct ModelFixed;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// More of the request is awaited.
    Gathering,
    /// The models of all engines were asked for.
    Listing,
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
            body_came: false,
            owned_headers: Vec::new(),
            subset: None,
            held: HeldBody::default(),
            owed: Owed::default(),
            nature: Nature {
                dialect: Dialect::Passthrough,
                choices: NonZeroU32::MIN,
            },
            model_place: None,
            client_model: None,
            renamed: None,
            unreadable: false,
        }
    }

    pub(super) const fn nature(&self) -> Nature {
        self.nature
    }

    /// The names of a model that was named anew, once.
    pub(super) const fn take_renamed(&mut self) -> Option<Renamed> {
        self.renamed.take()
    }

    pub(super) fn held_pieces(&self) -> usize {
        self.held.pieces().len()
    }

    pub(super) const fn held_bytes(&self) -> usize {
        self.held.memory_bytes()
    }

    /// Whether the end of the request did not come.
    pub(super) const fn is_gathering(&self) -> bool {
        matches!(self.progress, Progress::Gathering)
    }

    pub(super) const fn headers_came(&self) -> bool {
        self.headers_came
    }

    pub(super) const fn is_asked(&self) -> bool {
        matches!(self.progress, Progress::Asked)
    }

    /// Whether the request can still be refused.
    pub(super) const fn is_open(&self) -> bool {
        matches!(
            self.progress,
            Progress::Gathering | Progress::Listing | Progress::Asked
        )
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
        self.nature.dialect = self.head.dialect();
        let plan = modes.request_plan();
        if message.end_of_stream
            && self.settings.model_list == ModelList::Merged
            && !replies.muted
            && self.head.asks_for_models()
        {
            self.progress = Progress::Listing;
            return Step::ListModels;
        }
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
            replies.send(reply::request_headers_without(names));
        }
        Step::Nothing
    }

    pub(super) fn body(
        &mut self,
        message: HttpBody,
        modes: Modes,
        replies: &mut Replies<'_>,
    ) -> Step {
        self.body_came = true;
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
            (Progress::Listing | Progress::Asked, _) if self.owed.bodies >= PIECES_MAX => {
                self.too_large()
            }
            (Progress::Listing | Progress::Asked, _) => {
                self.owed.bodies += 1;
                Step::Nothing
            }
            (Progress::Routed | Progress::Abandoned, _) => {
                replies.send(reply::body(Direction::Request, None, BodyChange::Kept));
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
            Progress::Listing | Progress::Asked => {
                self.owed.trailers = true;
                Step::Nothing
            }
            Progress::Routed | Progress::Abandoned => {
                replies.send(reply::request_trailers(None));
                Step::Nothing
            }
        }
    }

    /// Asks on the headers alone, if they came and nothing came after them.
    pub(super) fn route_on_headers(&mut self) -> Option<Box<RequestFacts>> {
        self.awaits_first_body().then(|| self.facts_without_body())
    }

    /// Whether the headers came and nothing after them.
    pub(super) const fn awaits_first_body(&self) -> bool {
        self.is_gathering() && self.owed.headers && !self.body_came
    }

    /// Asks without the body, if nothing was asked yet.
    pub(super) fn route_unread(&mut self) -> Option<Box<RequestFacts>> {
        self.is_gathering().then(|| {
            self.held.take();
            self.facts_without_body()
        })
    }

    /// Answers all that is owed. The route goes with the first answer, in which the gateway can
    /// still change the headers.
    pub(super) fn settle(&mut self, pick: &Pick, modes: Modes, replies: &mut Replies<'_>) -> Step {
        let Ok(renamed) = self.rename(pick) else {
            return self.refuse(Cause::ModelFixed);
        };
        self.progress = Progress::Routed;
        let owed = core::mem::take(&mut self.owed);
        let mut route = Route::new(pick, core::mem::take(&mut self.owned_headers));
        if owed.trailers {
            // Envoy sends a body twice that it keeps for a second try, once the answer to trailers
            // sets it going again (envoyproxy/envoy#45470).
            route = route.sent_once();
        }
        if let Some(renamed) = &renamed {
            route = route.with_other_body(renamed.is_decoded);
            if self.renamed.is_some() && modes.response_is_shown() {
                route = route.with_plain_answer();
            }
        }
        let mut route = Some(route);
        if owed.headers {
            replies.send(reply::request_headers(route.take()));
        }
        let mut change = BodyChange::Kept;
        if let BodyForm::Pieces { bytes_max } = modes.request_form() {
            // Trailers end the body by themselves.
            let end = match owed.body_end {
                Some(end) if !owed.trailers => end,
                _ => PieceEnd::Open,
            };
            let body = self.held.take();
            let body = renamed.map_or(body, |renamed| renamed.body);
            reply::pieces(body, bytes_max, end, |piece, end| {
                replies.send(reply::piece(Direction::Request, route.take(), piece, end));
            });
        } else {
            self.held.take();
            if let Some(renamed) = renamed {
                change = BodyChange::Replaced(renamed.body.concat().into());
            }
        }
        for _ in 0..owed.bodies {
            let change = core::mem::replace(&mut change, BodyChange::Kept);
            replies.send(reply::body(Direction::Request, route.take(), change));
        }
        if owed.trailers {
            replies.send(reply::request_trailers(route.take()));
        }
        Step::Nothing
    }

    /// The body with the model that the pick names; `None` if it is the one that the client named.
    fn rename(&mut self, pick: &Pick) -> Result<Option<Rewritten>, ModelFixed> {
        let place = self.model_place.take();
        let Some(engine) = &pick.model else {
            return Ok(None);
        };
        let place = place.ok_or(ModelFixed)?;
        let body = rewrite::rewrite(self.held.take(), &place, engine).ok_or(ModelFixed)?;
        if let Some(client) = self.client_model.take() {
            self.renamed = Some(Renamed {
                client,
                engine: engine.clone(),
            });
        }
        Ok(Some(body))
    }

    /// Takes the models of all engines; `None` unless they were asked for.
    pub(super) fn listed(&mut self, list: Option<Bytes>) -> Option<Step> {
        if self.progress != Progress::Listing {
            return None;
        }
        Some(match list {
            Some(list) => Step::Refuse(refusal::models(list)),
            None => self.ask_without_body(),
        })
    }

    /// From now on the request is routed by load, whatever its body says.
    pub(super) fn read_no_more(&mut self) {
        self.unreadable = true;
        if self.progress == Progress::Gathering {
            // What was asked about is whole, and can still be sent with another model.
            self.model_place = None;
        }
    }

    /// Takes headers without reading them.
    pub(super) fn headers_unread(&mut self, is_end: bool, modes: Modes) -> Step {
        if self.progress != Progress::Gathering {
            return Step::Nothing;
        }
        self.headers_came = true;
        self.owed.headers = true;
        // Which of them came is not known.
        self.owned_headers = owned::NAMES.map(str::to_owned).to_vec();
        if is_end || modes.request_plan() != RequestPlan::End {
            return self.ask_without_body();
        }
        Step::Nothing
    }

    /// Takes a body message without reading it. `pieces` were held before it.
    pub(super) fn body_unread(
        &mut self,
        message: HttpBody,
        pieces: usize,
        modes: Modes,
        replies: &mut Replies<'_>,
    ) -> Step {
        let is_gathering = self.progress == Progress::Gathering;
        if modes.request_plan() == RequestPlan::End {
            if !is_gathering {
                return Step::Nothing;
            }
            let was_held = self.held.pieces().len() > pieces;
            let body = if was_held { Bytes::new() } else { message.body };
            return self.hold(HttpBody { body, ..message });
        }
        if is_gathering {
            self.owed.bodies = self.owed.bodies.max(1);
            return self.ask_without_body();
        }
        self.body(message, modes, replies)
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
        if self.unreadable {
            return self.ask_without_body();
        }
        match read::with_body(&self.head, self.held.pieces(), self.settings.block_size) {
            Ok(reading) => self.ask(reading),
            Err(rejection) => self.refuse(Cause::Rejected(&rejection)),
        }
    }

    /// The gateway keeps the body too. Here it is held only where it may have to name another model.
    fn ask_at_body(&mut self, message: HttpBody, may_be_partial: bool) -> Step {
        if message.body.len() > self.settings.body_bytes_max {
            return self.too_large();
        }
        let is_partial = may_be_partial && !message.end_of_stream;
        let body = [message.body];
        match read::with_body(&self.head, &body, self.settings.block_size) {
            Ok(reading) => {
                if reading.model_place.is_some() {
                    let [body] = body;
                    // It fits, as it was measured above.
                    let _fits = self.held.push(body, self.settings.body_bytes_max);
                }
                self.ask(reading)
            }
            Err(_) if is_partial => self.ask_without_body(),
            Err(rejection) => self.refuse(Cause::Rejected(&rejection)),
        }
    }

    fn ask(&mut self, reading: Reading) -> Step {
        self.nature.choices = reading.facts.choices;
        self.model_place = reading.model_place;
        if let (Some(_), ModelName::Named(name)) = (&self.model_place, &reading.facts.model) {
            self.client_model = Some(name.clone());
        }
        Step::Ask(self.asked(reading.facts))
    }

    fn ask_without_body(&mut self) -> Step {
        Step::Ask(self.facts_without_body())
    }

    fn facts_without_body(&mut self) -> Box<RequestFacts> {
        let facts = if self.unreadable {
            RequestFacts::passthrough(self.settings.block_size)
        } else {
            read::without_body(&self.head, self.settings.block_size)
        };
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
        self.refuse(Cause::BodyTooLarge {
            bytes_max: self.settings.body_bytes_max,
        })
    }

    /// An answer in place of an engine's, in the form of the request's dialect.
    pub(super) fn refuse(&self, cause: Cause<'_>) -> Step {
        Step::Refuse(refusal::answer(self.nature.dialect, cause))
    }
}
