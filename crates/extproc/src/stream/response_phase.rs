//! The response side: every message is answered at once and by reference, and read as far as
//! usage needs it. Only the name of a model that the request named anew is changed on the way back.

use core::net::SocketAddr;

use bytes::Bytes;
use pointsman_domain::observation::Observation;
use pointsman_observe::model::ModelRestorer;
use pointsman_observe::orca;
use pointsman_observe::reader::{ContentKind, Expected, Reader};
use pointsman_proto::ext_proc::{HeaderMap, HttpBody, HttpHeaders, HttpTrailers};

use super::request_phase::{Nature, Renamed};
use super::{LoadReports, Replies, Step};
use crate::headers::{self, GrpcEnd, ResponseHead};
use crate::modes::{BodyForm, Modes};
use crate::reply::{self, BodyChange, Direction, OF_ANOTHER_BODY, PieceEnd};

/// The response side of one stream.
pub(super) struct ResponsePhase {
    load_reports: LoadReports,
    begun: bool,
    body_came: bool,
    failed: bool,
    /// The status of the headers, where the call itself tells at its end how it went.
    status_held: Option<u16>,
    finished: bool,
    /// It is not read: it is no answer of a model, or reading it panicked.
    unread: bool,
    /// Set by the headers; the first body makes the reader of it.
    kind: Option<ContentKind>,
    reader: Option<Reader>,
    restorer: Option<ModelRestorer>,
    /// What the restorer gave for one message.
    restored: Vec<Bytes>,
}

impl ResponsePhase {
    pub(super) const fn new(load_reports: LoadReports) -> Self {
        Self {
            load_reports,
            begun: false,
            body_came: false,
            failed: false,
            status_held: None,
            finished: false,
            unread: false,
            kind: None,
            reader: None,
            restorer: None,
            restored: Vec::new(),
        }
    }

    pub(super) const fn has_begun(&self) -> bool {
        self.begun
    }

    pub(super) const fn body_came(&self) -> bool {
        self.body_came
    }

    /// Whether the response says that the engine failed.
    pub(super) const fn has_failed(&self) -> bool {
        self.failed
    }

    pub(super) fn headers(
        &mut self,
        message: &HttpHeaders,
        served: Option<SocketAddr>,
        renamed: Option<Renamed>,
        modes: Modes,
        replies: &mut Replies<'_>,
    ) -> Step {
        let map = message.headers.as_ref();
        let mut remove = self.reports(headers::reports(map));
        if !self.begun {
            self.begun = true;
            let head = ResponseHead::read(map);
            let has_body = modes.response_is_shown() && !message.end_of_stream;
            if let Some(renamed) = renamed.filter(|_| has_body) {
                self.restorer = restorer(&renamed, head.kind);
            }
            if self.restorer.is_some() {
                remove.extend(OF_ANOTHER_BODY.map(str::to_owned));
            }
            // First, as the status and the load are then noted for the one who served.
            if let Some(address) = served {
                replies.observed(Observation::Served(address));
            }
            if let Some(status) = head.status {
                self.failed = status >= 500;
                // The text of an error is no output.
                self.unread = !(200..300).contains(&status);
                if head.kind == ContentKind::Grpc && status == 200 {
                    self.status_held = Some(status);
                } else {
                    replies.observed(Observation::Answered { status });
                }
            }
            self.kind = Some(head.kind);
        }
        replies.send(reply::response_headers(remove));
        headers::loads(map).for_each(|load| replies.observed(Observation::Load(load)));
        if message.end_of_stream {
            // A gRPC call that fails at once has its status here, and no trailers.
            self.grpc_ends(map);
            return self.finish(replies);
        }
        Step::Nothing
    }

    pub(super) fn body(
        &mut self,
        message: HttpBody,
        form: BodyForm,
        nature: Nature,
        replies: &mut Replies<'_>,
    ) -> Step {
        self.body_came = true;
        let end = PieceEnd::of(&message);
        match form {
            BodyForm::Plain => {
                let change = self.change(&message.body, end);
                replies.send(reply::body(Direction::Response, None, change));
            }
            BodyForm::Pieces { .. } if self.finished => {}
            BodyForm::Pieces { bytes_max } => self.pass(&message.body, bytes_max, end, replies),
        }
        if self.finished {
            return Step::Nothing;
        }
        self.read(&message.body, nature, replies);
        if end != PieceEnd::Open {
            return self.finish(replies);
        }
        Step::Nothing
    }

    pub(super) fn trailers(
        &mut self,
        message: &HttpTrailers,
        form: BodyForm,
        replies: &mut Replies<'_>,
    ) -> Step {
        if let BodyForm::Pieces { bytes_max } = form {
            self.restore(&Bytes::new(), PieceEnd::Last);
            self.send_restored(bytes_max, PieceEnd::Open, replies);
        }
        let map = message.trailers.as_ref();
        let remove = self.reports(headers::reports(map));
        replies.send(reply::response_trailers(remove));
        headers::loads(map).for_each(|load| replies.observed(Observation::Load(load)));
        self.grpc_ends(map);
        self.finish(replies)
    }

    /// The stream ended before the response did.
    pub(super) fn cut(&mut self, replies: &mut Replies<'_>) {
        if let Some(reader) = self.reader.take() {
            reader.cut(&mut |seen| replies.observed(seen));
        }
    }

    /// From now on the response passes as it comes.
    pub(super) fn read_no_more(&mut self) {
        self.unread = true;
        self.reader = None;
        self.restorer = None;
        self.restored.clear();
    }

    /// Bytes of the messages so far that were not passed on yet.
    pub(super) fn withheld(&self) -> Bytes {
        let held = self.restorer.as_ref().map(ModelRestorer::held);
        held.map_or_else(Bytes::new, Bytes::copy_from_slice)
    }

    /// Passes a body message on without reading it, behind what was withheld before it.
    pub(super) fn body_unread(
        &mut self,
        message: HttpBody,
        withheld: Bytes,
        form: BodyForm,
        replies: &mut Replies<'_>,
    ) -> Step {
        self.body_came = true;
        let end = PieceEnd::of(&message);
        match form {
            BodyForm::Plain => {
                let change = if withheld.is_empty() {
                    BodyChange::Kept
                } else {
                    BodyChange::Replaced([withheld, message.body].concat().into())
                };
                replies.send(reply::body(Direction::Response, None, change));
            }
            BodyForm::Pieces { .. } if self.finished => {}
            BodyForm::Pieces { bytes_max } => {
                send_pieces([withheld, message.body], bytes_max, end, replies);
            }
        }
        if end != PieceEnd::Open {
            return self.finish(replies);
        }
        Step::Nothing
    }

    /// Passes trailers on without reading them, behind what was withheld before them.
    pub(super) fn trailers_unread(
        &mut self,
        withheld: Bytes,
        form: BodyForm,
        replies: &mut Replies<'_>,
    ) -> Step {
        if let BodyForm::Pieces { bytes_max } = form {
            send_pieces([withheld], bytes_max, PieceEnd::Open, replies);
        }
        let remove = self.reports(orca::NAMES.into_iter());
        replies.send(reply::response_trailers(remove));
        self.finish(replies)
    }

    /// Passes headers on without reading them.
    pub(super) fn headers_unread(&mut self, is_end: bool, replies: &mut Replies<'_>) -> Step {
        self.begun = true;
        let remove = self.reports(orca::NAMES.into_iter());
        replies.send(reply::response_headers(remove));
        if is_end {
            return self.finish(replies);
        }
        Step::Nothing
    }

    /// Passes one body message on, by reference, in pieces that the gateway takes.
    fn pass(&mut self, body: &Bytes, bytes_max: usize, end: PieceEnd, replies: &mut Replies<'_>) {
        if self.restorer.is_none() {
            send_pieces([body.clone()], bytes_max, end, replies);
        } else {
            self.restore(body, end);
            self.send_restored(bytes_max, end, replies);
        }
    }

    fn send_restored(&mut self, bytes_max: usize, end: PieceEnd, replies: &mut Replies<'_>) {
        send_pieces(self.restored.drain(..), bytes_max, end, replies);
    }

    /// What becomes of a body message whose bytes stay with the gateway.
    ///
    /// What the restorer holds back at the last message before trailers is lost, which is the
    /// beginning of a name in a text that breaks off there.
    fn change(&mut self, body: &Bytes, end: PieceEnd) -> BodyChange {
        if self.restorer.is_none() {
            return BodyChange::Kept;
        }
        self.restore(body, end);
        let is_kept = match self.restored.as_slice() {
            [] => body.is_empty(),
            [only] => only.len() == body.len() && only.as_ptr() == body.as_ptr(),
            _ => false,
        };
        let change = if is_kept {
            BodyChange::Kept
        } else {
            BodyChange::Replaced(self.restored.concat().into())
        };
        self.restored.clear();
        change
    }

    fn restore(&mut self, body: &Bytes, end: PieceEnd) {
        let Some(restorer) = &mut self.restorer else {
            return;
        };
        let restored = &mut self.restored;
        restorer.chunk(body.clone(), &mut |piece| restored.push(piece));
        if end != PieceEnd::Open {
            restorer.finish(&mut |piece| restored.push(piece));
            self.restorer = None;
        }
    }

    /// The names of load reports that the client is not to see.
    fn reports<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<String> {
        match self.load_reports {
            LoadReports::Kept => Vec::new(),
            LoadReports::Removed => names.map(str::to_ascii_lowercase).collect(),
        }
    }

    fn read(&mut self, body: &Bytes, nature: Nature, replies: &mut Replies<'_>) {
        if body.is_empty() || self.unread {
            return;
        }
        let kind = self.kind.take().unwrap_or(ContentKind::Other);
        let expected = Expected {
            kind,
            dialect: nature.dialect,
            choices: nature.choices,
        };
        self.reader
            .get_or_insert_with(|| Reader::new(expected))
            .chunk(body, &mut |seen| replies.observed(seen));
    }

    /// Takes the end of a gRPC call, if this is one.
    fn grpc_ends(&mut self, map: Option<&HeaderMap>) {
        let Some(end) = GrpcEnd::read(map) else {
            return;
        };
        self.failed |= end.has_failed();
        if let Some(status) = &mut self.status_held {
            *status = end.http_status();
        }
    }

    /// Tells the status that waited for the end.
    pub(super) fn tell_status(&mut self, replies: &mut Replies<'_>) {
        if let Some(status) = self.status_held.take() {
            replies.observed(Observation::Answered { status });
        }
    }

    fn finish(&mut self, replies: &mut Replies<'_>) -> Step {
        if self.finished {
            return Step::Nothing;
        }
        self.restorer = None;
        if let Some(mut reader) = self.reader.take() {
            #[cfg(test)]
            super::tests::panic_if_told();
            reader.finish(&mut |seen| replies.observed(seen));
        }
        self.tell_status(replies);
        // Last, as what panics before it must be able to come here again.
        self.finished = true;
        Step::ResponseEnded
    }
}

/// What gives the client its name of the model back; `None` for a body that names no model.
fn restorer(renamed: &Renamed, kind: ContentKind) -> Option<ModelRestorer> {
    let restorer = ModelRestorer::new(&renamed.engine, &renamed.client, kind);
    restorer.may_change().then_some(restorer)
}

fn send_pieces(
    body: impl IntoIterator<Item = Bytes>,
    bytes_max: usize,
    end: PieceEnd,
    replies: &mut Replies<'_>,
) {
    reply::pieces(body, bytes_max, end, |piece, end| {
        replies.send(reply::piece(Direction::Response, None, piece, end));
    });
}
