//! What must come back of one direction of a stream: an answer to the headers, then the body.

use bytes::Bytes;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::{BodyResponse, CommonResponse};

use super::cell::BodyMode;
use super::exchange::Failure;
use super::script::Body;

/// The answers to one direction that are still to come.
#[derive(Debug)]
pub(super) struct Expected {
    headers_answered: bool,
    body: ExpectedBody,
}

#[derive(Debug)]
enum ExpectedBody {
    /// Every byte, in the same order, and one end behind the last of them.
    Echo { rest: Bytes, ended: bool },
    /// An answer to each message, which leaves the bytes as they are.
    Answers { remaining: usize },
}

impl Expected {
    /// The answers to a request with this body.
    pub(super) fn of_request(mode: BodyMode, body: &Body) -> Self {
        Self::new(mode.is_duplex(), body)
    }

    /// The answers to a response with this body.
    pub(super) fn of_response(mode: BodyMode, body: &Body) -> Self {
        match mode {
            BodyMode::HeadersOnly => Self {
                headers_answered: false,
                body: ExpectedBody::Answers { remaining: 0 },
            },
            BodyMode::Duplex => Self::new(true, body),
            BodyMode::Streamed | BodyMode::Buffered => Self::new(false, body),
        }
    }

    fn new(is_duplex: bool, body: &Body) -> Self {
        let body = if is_duplex {
            ExpectedBody::Echo {
                rest: body.bytes.clone(),
                ended: false,
            }
        } else {
            ExpectedBody::Answers {
                remaining: body.messages.len(),
            }
        };
        Self {
            headers_answered: false,
            body,
        }
    }

    /// Takes the answer to the headers.
    pub(super) fn headers(&mut self) -> Result<(), Failure> {
        if core::mem::replace(&mut self.headers_answered, true) {
            return Err(Failure::Unexpected("a second answer to the headers"));
        }
        Ok(())
    }

    /// Takes an answer to the body.
    pub(super) fn body(&mut self, answer: BodyResponse) -> Result<(), Failure> {
        if !self.headers_answered {
            return Err(Failure::Unexpected(
                "an answer to the body before the headers'",
            ));
        }
        let mutation = answer
            .response
            .and_then(|CommonResponse { body_mutation, .. }| body_mutation)
            .and_then(|body| body.mutation);
        match (&mut self.body, mutation) {
            (ExpectedBody::Echo { ended: true, .. }, _) => Err(Failure::Echo("more after its end")),
            (ExpectedBody::Echo { rest, ended }, Some(Mutation::StreamedResponse(piece))) => {
                if rest.get(..piece.body.len()) != Some(&piece.body[..]) {
                    return Err(Failure::Echo("other bytes than were sent"));
                }
                let _same = rest.split_to(piece.body.len());
                *ended = piece.end_of_stream || piece.end_of_stream_without_message;
                if *ended && !rest.is_empty() {
                    return Err(Failure::Echo("it ends early"));
                }
                Ok(())
            }
            (ExpectedBody::Echo { .. }, _) => Err(Failure::Echo("not in streamed form")),
            (ExpectedBody::Answers { remaining }, None) => {
                *remaining = remaining
                    .checked_sub(1)
                    .ok_or(Failure::Unexpected("more answers than body messages"))?;
                Ok(())
            }
            (ExpectedBody::Answers { .. }, Some(_)) => Err(Failure::Echo("the body is replaced")),
        }
    }

    /// Whether the headers are answered.
    pub(super) const fn has_headers(&self) -> bool {
        self.headers_answered
    }

    /// Whether everything has come.
    pub(super) const fn is_complete(&self) -> bool {
        self.headers_answered
            && match self.body {
                ExpectedBody::Echo { ended, .. } => ended,
                ExpectedBody::Answers { remaining } => remaining == 0,
            }
    }
}

#[cfg(test)]
mod tests;
