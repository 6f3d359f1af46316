//! A streamed answer as a response body.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use bytes::Bytes;
use http_body::{Body, Frame};

use super::answer::Answer;
use super::driver::handle::{Generation, Progress};

/// Server-sent events, as the engine makes the tokens. Dropping it cancels the request.
#[derive(Debug)]
pub(crate) struct EventStream {
    generation: Generation,
    answer: Answer,
    usage: UsageEvent,
    tokens_left: Option<u32>,
    state: State,
}

/// Whether a stream ends with an event that carries the usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsageEvent {
    Sent,
    Omitted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The last event is written.
    Complete,
    /// The connection is to be broken once what was written is sent.
    Cut,
    /// The connection is to be broken now.
    Broken,
}

impl EventStream {
    /// Streams `answer`; with `cut_after` the connection breaks after so many tokens.
    pub(crate) const fn new(
        generation: Generation,
        answer: Answer,
        usage: UsageEvent,
        cut_after: Option<u32>,
    ) -> Self {
        Self {
            generation,
            answer,
            usage,
            tokens_left: cut_after,
            state: State::Open,
        }
    }

    fn write(&mut self, progress: Progress, buffer: &mut Vec<u8>) {
        let complete = self.answer.note(progress);
        if let Progress::Token { choice, index } = progress {
            self.answer.write_token(choice, index, buffer);
            self.tokens_left = self.tokens_left.map(|tokens| tokens.saturating_sub(1));
        }
        if self.tokens_left == Some(0) {
            self.state = State::Cut;
        } else if complete {
            if self.usage == UsageEvent::Sent {
                self.answer.write_usage(buffer);
            }
            buffer.extend_from_slice(b"data: [DONE]\n\n");
            self.state = State::Complete;
        }
    }
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let mut buffer = Vec::new();
        while self.state == State::Open && buffer.len() < FRAME_BYTES {
            let next = self.generation.progress.poll_recv(context);
            if next.is_pending() && !buffer.is_empty() {
                break;
            }
            match ready!(next) {
                Some(progress) => self.write(progress, &mut buffer),
                // The engine stops before the answer is complete only when the server does.
                None => self.state = State::Cut,
            }
        }
        if !buffer.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(buffer.into()))));
        }
        match self.state {
            State::Cut => {
                // The server flushes when a body has nothing to give, and not before an error.
                self.state = State::Broken;
                context.waker().wake_by_ref();
                Poll::Pending
            }
            State::Broken => Poll::Ready(Some(Err(io::Error::other("the stream is cut")))),
            State::Open | State::Complete => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.state == State::Complete
    }
}

/// Events that wait are sent together up to about this size.
const FRAME_BYTES: usize = 16 << 10;
