//! Reads the pieces of one response body as they pass.

mod progress;

use core::num::NonZeroU32;

use bytes::Bytes;
use pointsman_domain::facts::Dialect;
use pointsman_domain::observation::Observation;

use crate::assembly::Assembly;
use crate::frames::Messages;
use crate::needles::Needles;
use crate::sight::{Reading, Scope};
use crate::split::Framing;
use progress::Progress;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Server-sent events.
    EventStream,
    /// One JSON text.
    Json,
    /// A JSON text in each line.
    NdJson,
    /// Messages of gRPC.
    Grpc,
    /// Anything else, and anything compressed: not read.
    Other,
}

impl ContentKind {
    /// The kind that a content-type header names.
    pub fn of(content_type: &[u8]) -> Self {
        let essence = content_type
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        let is = |known: &str| essence.eq_ignore_ascii_case(known.as_bytes());
        let grpc = essence
            .split_at_checked(GRPC.len())
            .filter(|(start, rest)| {
                start.eq_ignore_ascii_case(GRPC) && (rest.is_empty() || rest.starts_with(b"+"))
            });
        if is("text/event-stream") {
            Self::EventStream
        } else if is("application/json") {
            Self::Json
        } else if is("application/x-ndjson") || is("application/ndjson") {
            Self::NdJson
        } else if grpc.is_some() {
            Self::Grpc
        } else {
            Self::Other
        }
    }
}

/// What is known of a response before its body comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// How its body is written, by its headers.
    pub kind: ContentKind,
    /// The form of API that the request spoke.
    pub dialect: Dialect,
    /// How many answers the request asked for.
    pub choices: NonZeroU32,
}

/// Finds in one response body how far the answer is, and the usage. Never fails: what it cannot read
/// says nothing.
///
/// It tells of [`Observation::FirstOutput`], [`Observation::FirstVisible`] and
/// [`Observation::Finished`] in this order and each at most once, and then of one
/// [`Observation::Usage`]: as soon as the engine's last count is known, or else at the end.
#[derive(Debug)]
pub struct Reader {
    body: Body,
    progress: Progress,
}

#[derive(Debug)]
enum Body {
    Events(Box<(Assembly, Needles)>),
    Json(Box<Reading>),
    Messages(Messages),
    Unread,
    /// All is known that can be.
    Settled,
}

impl Reader {
    /// A reader of a body that is expected to be like that.
    pub fn new(expected: Expected) -> Self {
        let Expected { kind, dialect, .. } = expected;
        let events =
            |framing| Body::Events(Box::new((Assembly::new(framing), Needles::of(dialect))));
        let body = match kind {
            ContentKind::EventStream => events(Framing::Events),
            ContentKind::NdJson => events(Framing::Lines),
            ContentKind::Json => Body::Json(Box::new(Reading::new(Scope::Counts))),
            ContentKind::Grpc => Messages::of(dialect).map_or(Body::Unread, Body::Messages),
            ContentKind::Other => Body::Unread,
        };
        Self {
            body,
            progress: Progress::new(expected),
        }
    }

    /// Takes the next piece of the body, and tells `seen` what is new.
    pub fn chunk(&mut self, bytes: &Bytes, seen: &mut impl FnMut(Observation)) {
        let progress = &mut self.progress;
        match &mut self.body {
            Body::Settled => return,
            _ if bytes.is_empty() => return,
            Body::Events(events) => {
                let (assembly, needles) = events.as_mut();
                assembly.push(bytes, |data| progress.data(data, needles, seen));
            }
            Body::Json(reading) => {
                progress.output(seen);
                reading.push(bytes);
            }
            Body::Messages(messages) => {
                messages.push(bytes, |event, counts| progress.event(event, counts, seen));
            }
            Body::Unread => progress.output(seen),
        }
        if self.progress.is_settled() {
            self.body = Body::Settled;
        }
    }

    /// The body broke off. Of what is not told yet only the counts are known: the engine reported them
    /// for as far as it got.
    pub fn cut(mut self, seen: &mut impl FnMut(Observation)) {
        self.progress.cut(seen);
    }

    /// Takes the end of the body: what is not told yet is told now, and memory is given back.
    pub fn finish(&mut self, seen: &mut impl FnMut(Observation)) {
        let progress = &mut self.progress;
        match core::mem::replace(&mut self.body, Body::Settled) {
            Body::Events(events) => {
                let (assembly, needles) = *events;
                assembly.finish(|data| progress.data(data, &needles, seen));
            }
            Body::Json(reading) => {
                if let Ok(facts) = reading.finish() {
                    progress.body(&facts);
                }
            }
            Body::Messages(_) | Body::Unread | Body::Settled => {}
        }
        progress.settle(seen);
    }
}

const GRPC: &[u8] = b"application/grpc";

#[cfg(test)]
mod tests;
