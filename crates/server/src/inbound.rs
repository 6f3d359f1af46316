//! The messages that a gateway sends on one stream, cut out of the body of its HTTP request.
//!
//! The library's own reader keeps a buffer of the size of the largest message for as long as the stream
//! is open. Here the memory of a message is freed with the last piece of it that somebody holds, and
//! what has come of one that is not whole yet can be counted.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Body as _;
use pointsman_proto::ext_proc::ProcessingRequest;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::grpc::{Frame, FrameBody, Frames};
use prost::Message as _;
use tonic::body::Body;
use tonic::{Code, Status};

/// What came next.
#[derive(Debug)]
pub(crate) enum Arrival {
    Message(ProcessingRequest),
    /// A part of a message, and not yet its end; or the end of one that was passed over.
    Part,
    /// The gateway's side of the stream has ended, between two messages or by a reset.
    End,
}

/// The gateway's side of a stream. After its end or a failure there is nothing more to ask it for.
pub(crate) struct Inbound {
    body: Body,
    frames: Frames,
    message_bytes_max: usize,
    /// What has come and was not read yet.
    rest: Bytes,
}

impl Inbound {
    /// The messages in `body`. None may be longer than `message_bytes_max`.
    pub(crate) fn new(body: Body, message_bytes_max: usize) -> Self {
        Self {
            body,
            frames: Frames::new(u32::try_from(message_bytes_max).unwrap_or(u32::MAX)),
            message_bytes_max,
            rest: Bytes::new(),
        }
    }

    /// What comes next. It fails at a message that cannot be read, and at a body that breaks off.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Arrival, Status>> {
        loop {
            if !self.rest.is_empty()
                && let Some(arrival) = self.read()?
            {
                return Poll::Ready(Ok(arrival));
            }
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(_trailers) => return Poll::Ready(self.ended()),
                },
                Some(Err(status)) if status.code() == Code::Cancelled => {
                    return Poll::Ready(Ok(Arrival::End));
                }
                Some(Err(status)) => return Poll::Ready(Err(status)),
                None => return Poll::Ready(self.ended()),
            }
        }
    }

    /// Bytes of memory that a message takes that is not whole yet.
    pub(crate) const fn kept_bytes(&self) -> usize {
        self.frames.kept_bytes()
    }

    /// Frees what has come of a message that is not whole yet, and passes over the rest of it.
    pub(crate) fn pass_over(&mut self) {
        self.frames.pass_over();
    }

    /// Reads on in what has come; `None` if that tells nothing.
    fn read(&mut self) -> Result<Option<Arrival>, Status> {
        let is_gathered = self.kept_bytes() > 0;
        let Some(frame) = self.frames.next(&mut self.rest) else {
            let Some(begun) = self.frames.begun() else {
                return Ok(None);
            };
            self.check(begun.compressed, begun.message_bytes as usize)?;
            return Ok(Some(Arrival::Part));
        };
        let Frame {
            compressed,
            message,
        } = frame;
        let message = match message {
            FrameBody::Whole(message) => message,
            FrameBody::PassedOver(bytes) => {
                self.check(compressed, bytes as usize)?;
                return Ok(Some(Arrival::Part));
            }
        };
        self.check(compressed, message.len())?;
        let mut message = ProcessingRequest::decode(message)
            .map_err(|error| Status::internal(error.to_string()))?;
        if !is_gathered && let Some(Request::RequestBody(body)) = &mut message.request {
            // It is held until the decision. In place it would hold the whole buffer that the
            // connection was read into, of which it may be the smallest part.
            body.body = Bytes::copy_from_slice(&body.body);
        }
        Ok(Some(Arrival::Message(message)))
    }

    fn check(&self, compressed: bool, message_bytes: usize) -> Result<(), Status> {
        if compressed {
            return Err(Status::internal(
                "a message is compressed, but no compression was declared",
            ));
        }
        if message_bytes > self.message_bytes_max {
            return Err(Status::out_of_range(format!(
                "a message has {message_bytes} bytes; it may have {}",
                self.message_bytes_max
            )));
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<Arrival, Status> {
        if self.frames.is_between() {
            return Ok(Arrival::End);
        }
        self.frames.pass_over();
        Err(Status::internal("the stream ended within a message"))
    }
}

#[cfg(test)]
mod tests;
