//! The response side: every message is answered at once and by reference, and read as far as
//! usage needs it.

use core::net::SocketAddr;

use bytes::Bytes;
use pointsman_domain::observation::Observation;
use pointsman_observe::reader::{ContentKind, Reader};
use pointsman_proto::ext_proc::{HttpBody, HttpHeaders, HttpTrailers};

use super::{Replies, Step};
use crate::headers::{self, ResponseHead};
use crate::modes::BodyForm;
use crate::reply::{self, Direction, PieceEnd};

/// The response side of one stream.
#[derive(Default)]
pub(super) struct ResponsePhase {
    begun: bool,
    body_came: bool,
    output_came: bool,
    failed: bool,
    finished: bool,
    /// Set by the headers; the first body makes the reader of it.
    kind: Option<ContentKind>,
    reader: Option<Reader>,
}

impl ResponsePhase {
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
        replies: &mut Replies<'_>,
    ) -> Step {
        replies.send(reply::headers(Direction::Response, None));
        if !self.begun {
            self.begun = true;
            let head = ResponseHead::read(message.headers.as_ref());
            // First, as the status is then noted for the one who served.
            if let Some(address) = served {
                replies.observed(Observation::Served(address));
            }
            if let Some(status) = head.status {
                self.failed = status >= 500;
                replies.observed(Observation::Headers { status });
            }
            self.kind = Some(head.kind);
        }
        if message.end_of_stream {
            // A gRPC call that fails at once has its status here, and no trailers.
            self.failed |= headers::grpc_failed(message.headers.as_ref());
            return self.finish(replies);
        }
        Step::Nothing
    }

    pub(super) fn body(
        &mut self,
        message: HttpBody,
        form: BodyForm,
        replies: &mut Replies<'_>,
    ) -> Step {
        self.body_came = true;
        let end = PieceEnd::of(&message);
        match form {
            BodyForm::Plain => replies.send(reply::body(Direction::Response, None)),
            BodyForm::Pieces { .. } if self.finished => {}
            BodyForm::Pieces { bytes_max } => {
                reply::pieces([message.body.clone()], bytes_max, end, |piece, end| {
                    replies.send(reply::piece(Direction::Response, None, piece, end));
                });
            }
        }
        if self.finished {
            return Step::Nothing;
        }
        self.read(&message.body, replies);
        if end != PieceEnd::Open {
            return self.finish(replies);
        }
        Step::Nothing
    }

    pub(super) fn trailers(&mut self, message: &HttpTrailers, replies: &mut Replies<'_>) -> Step {
        replies.send(reply::trailers(Direction::Response, None));
        self.failed |= headers::grpc_failed(message.trailers.as_ref());
        self.finish(replies)
    }

    fn read(&mut self, body: &Bytes, replies: &mut Replies<'_>) {
        if body.is_empty() {
            return;
        }
        if !self.output_came {
            self.output_came = true;
            replies.observed(Observation::FirstOutput);
        }
        let kind = self.kind.take().unwrap_or(ContentKind::Other);
        self.reader
            .get_or_insert_with(|| Reader::new(kind))
            .chunk(body);
    }

    fn finish(&mut self, replies: &mut Replies<'_>) -> Step {
        if core::mem::replace(&mut self.finished, true) {
            return Step::Nothing;
        }
        if let Some(mut reader) = self.reader.take() {
            reader.finish();
            if let Some(usage) = reader.usage() {
                replies.observed(Observation::Usage(usage));
            }
        }
        Step::ResponseEnded
    }
}
