//! What the response phase tells of a request.

use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::load::LoadSample;
use crate::units::Tokens;

/// How much of a response the gateway lets us see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationMode {
    /// Headers and trailers only; the end is seen as the end of the stream.
    HeadersOnly,
    /// The body too, for a sample of requests.
    Sampled,
    /// The body of every response.
    Full,
}

/// One fact seen in a response.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Observation {
    /// The engine answered with this status. It is known with the headers, or, as a call of gRPC tells
    /// it last, at the end.
    Answered {
        /// HTTP status; of a call of gRPC the one that comes nearest.
        status: u16,
    },
    /// The gateway says which endpoint really served.
    Served(SocketAddr),
    /// The first output came: of a token stream its first token, of any other body its first byte.
    FirstOutput,
    /// The first token came that a reader of the answer sees, and that is no thought.
    FirstVisible,
    /// The engine has finished its answer, all choices of it; what still comes is no output.
    Finished,
    /// The engine reported its token counts; the last report counts.
    Usage(Usage),
    /// The engine reported its load beside the answer. What it did not tell is `None`.
    Load(LoadSample),
}

/// Token counts as an engine reports them at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt: Tokens,
    /// Tokens of the answer.
    pub output: Tokens,
    /// Tokens of the prompt that came from cache, where the engine tells it.
    pub cached: Option<Tokens>,
    /// Tokens of the answer that were thoughts, where the engine tells it.
    pub reasoning: Option<Tokens>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The response was complete.
    Complete,
    /// The response was complete, and said that the engine failed.
    EngineError,
    /// The stream ended before the response did: the client left, or the engine cut it.
    Cut,
    /// The pool refused it.
    Refused,
}

impl EndCause {
    /// The value of metric labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::EngineError => "engine_error",
            Self::Cut => "cut",
            Self::Refused => "refused",
        }
    }
}
