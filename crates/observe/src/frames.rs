//! The messages of vLLM's gRPC service.

use bytes::Bytes;
use pointsman_domain::facts::Dialect;
use pointsman_proto::grpc::{Frame, FrameBody, Frames};
use pointsman_proto::vllm::generate_response::Response;
use pointsman_proto::vllm::{EmbedResponse, GenerateResponse};
use prost::Message as _;

use crate::counts::{Count, Counts};
use crate::event::{Event, Finish, Last, Token};
use crate::sight::Answers;

/// Reads the messages of one response.
#[derive(Debug)]
pub(crate) struct Messages {
    frames: Frames,
    method: Method,
    /// Tokens of the answers that are complete.
    output: u64,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    Generate,
    Embed,
}

impl Messages {
    /// A reader for the answers to requests of that dialect, if they are read.
    pub(crate) fn of(dialect: Dialect) -> Option<Self> {
        let method = match dialect {
            Dialect::GrpcGenerate => Method::Generate,
            Dialect::GrpcEmbed => Method::Embed,
            _ => return None,
        };
        Some(Self {
            frames: Frames::new(MESSAGE_BYTES_MAX),
            method,
            output: 0,
        })
    }

    /// Takes the next piece, and tells what the messages mean that end in it.
    pub(crate) fn push(&mut self, piece: &Bytes, mut seen: impl FnMut(Event, Counts)) {
        let Self {
            frames,
            method,
            output,
        } = self;
        frames.push(piece, |frame| {
            let (event, counts) = match (frame, *method) {
                (
                    Frame {
                        compressed: true, ..
                    },
                    _,
                ) => None,
                (
                    Frame {
                        message: FrameBody::PassedOver(_),
                        ..
                    },
                    _,
                ) => None,
                (
                    Frame {
                        message: FrameBody::Whole(message),
                        ..
                    },
                    Method::Generate,
                ) => GenerateResponse::decode(message)
                    .ok()
                    .and_then(|message| generated(message, output)),
                (
                    Frame {
                        message: FrameBody::Whole(message),
                        ..
                    },
                    Method::Embed,
                ) => EmbedResponse::decode(message)
                    .ok()
                    .map(|message| embedded(&message)),
            }
            .unwrap_or((Event::UNKNOWN, Counts::NONE));
            seen(event, counts);
        });
    }
}

/// The meaning of a message, where so many tokens are in answers that are complete.
fn generated(message: GenerateResponse, output: &mut u64) -> Option<(Event, Counts)> {
    let (event, prompt, completion, cached) = match message.response? {
        Response::Chunk(chunk) => (
            Event::UNKNOWN,
            chunk.prompt_tokens,
            output.saturating_add(chunk.completion_tokens.into()),
            chunk.cached_tokens,
        ),
        Response::Complete(complete) => {
            *output = output.saturating_add(complete.completion_tokens.into());
            let event = Event {
                finish: Finish::Answers(Answers::ONE),
                last: Last::IfFinished,
                ..Event::UNKNOWN
            };
            (
                event,
                complete.prompt_tokens,
                *output,
                complete.cached_tokens,
            )
        }
    };
    let mut counts = Counts::NONE;
    counts.set(Count::Prompt, prompt.into());
    counts.set(Count::Completion, completion);
    counts.set(Count::Cached, cached.into());
    Some((event, counts))
}

fn embedded(message: &EmbedResponse) -> (Event, Counts) {
    let mut counts = Counts::NONE;
    counts.set(Count::Prompt, message.prompt_tokens.into());
    let event = Event {
        token: Token::Visible,
        ..Event::DONE
    };
    (event, counts)
}

/// Longest message that is read. The one that completes an answer repeats its token ids, at up to
/// five bytes each.
const MESSAGE_BYTES_MAX: u32 = 1 << 20;

#[cfg(test)]
mod tests;
