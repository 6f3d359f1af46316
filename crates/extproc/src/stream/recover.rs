//! What a stream does after a fault of ours: the message whose reading panicked is answered all the
//! same, and from then on the stream reads nothing. The request goes by load, the response passes.

use bytes::Bytes;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{HttpBody, ProcessingRequest, ProtocolConfiguration};

use super::{Action, Life, Replies, Step, Stream};
use crate::refusal::Cause;

/// A message as it stood before it was read, by reference; enough to answer it without reading it.
#[derive(Clone, Debug)]
pub struct Unread {
    part: Part,
    observability: bool,
    config: Option<ProtocolConfiguration>,
    /// Pieces of the request's body that were held before.
    pieces: usize,
    /// Bytes of the response that were withheld before.
    withheld: Bytes,
}

#[derive(Clone, Debug)]
enum Part {
    RequestHeaders { is_end: bool },
    RequestBody(HttpBody),
    RequestTrailers,
    ResponseHeaders { is_end: bool },
    ResponseBody(HttpBody),
    ResponseTrailers,
    Nothing,
}

impl Stream {
    /// Notes a message before [`message`](Self::message) reads it, for [`recover`](Self::recover).
    pub fn unread(&self, message: &ProcessingRequest) -> Unread {
        let part = match &message.request {
            Some(Request::RequestHeaders(headers)) => Part::RequestHeaders {
                is_end: headers.end_of_stream,
            },
            Some(Request::RequestBody(body)) => Part::RequestBody(body.clone()),
            Some(Request::RequestTrailers(_)) => Part::RequestTrailers,
            Some(Request::ResponseHeaders(headers)) => Part::ResponseHeaders {
                is_end: headers.end_of_stream,
            },
            Some(Request::ResponseBody(body)) => Part::ResponseBody(body.clone()),
            Some(Request::ResponseTrailers(_)) => Part::ResponseTrailers,
            None => Part::Nothing,
        };
        Unread {
            part,
            observability: message.observability_mode,
            config: message.protocol_config,
            pieces: self.request.held_pieces(),
            withheld: self.response.withheld(),
        }
    }

    /// [`message`](Self::message) panicked over a message. What it had asked for is to be dropped; this
    /// answers the message without reading it.
    pub fn recover(&mut self, unread: Unread, actions: &mut Vec<Action>) {
        if self.life == Life::New {
            self.open(unread.observability, unread.config.as_ref());
        }
        if self.life != Life::Open {
            return;
        }
        let mut replies = Replies {
            actions,
            muted: self.observability,
        };
        let form = self.modes.response_form();
        if unread.part.is_of_request() {
            self.request.read_no_more();
        } else {
            self.request.abandon();
            self.response.read_no_more();
        }
        let step = match unread.part {
            Part::RequestHeaders { is_end } => self.request.headers_unread(is_end, self.modes),
            Part::RequestBody(body) => {
                self.request
                    .body_unread(body, unread.pieces, self.modes, &mut replies)
            }
            Part::RequestTrailers => self.request.trailers(&mut replies),
            Part::ResponseHeaders { is_end } => self.response.headers_unread(is_end, &mut replies),
            Part::ResponseBody(body) => {
                self.response
                    .body_unread(body, unread.withheld, form, &mut replies)
            }
            Part::ResponseTrailers => {
                self.response
                    .trailers_unread(unread.withheld, form, &mut replies)
            }
            Part::Nothing => Step::Nothing,
        };
        self.take(step, actions);
    }

    /// [`decided`](Self::decided) panicked: the body may be lost, so the request is answered here.
    pub fn fail(&mut self, actions: &mut Vec<Action>) {
        self.request.read_no_more();
        if self.life == Life::Open && !self.response.has_begun() {
            self.take(self.request.refuse(Cause::Failed), actions);
        }
    }
}

impl Part {
    const fn is_of_request(&self) -> bool {
        matches!(
            self,
            Self::RequestHeaders { .. }
                | Self::RequestBody(_)
                | Self::RequestTrailers
                | Self::Nothing
        )
    }
}
