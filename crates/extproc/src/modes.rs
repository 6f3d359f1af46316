//! What a gateway sends without being asked, and which form of answer it takes.
//!
//! Envoy declares its body modes in `protocol_config` of the first message. Other gateways (NGINX
//! Gateway Fabric, older agentgateway) declare nothing, and send headers and body without waiting
//! for an answer to either, as the pickers that they are built for answer only at the end of the
//! body. So a gateway that declares nothing is taken to be duplex, until its silence after the
//! headers shows that it waits for their answer ([`Modes::assume_waiting`]).

use pointsman_domain::observation::ObservationMode;
use pointsman_proto::ext_proc::{BodySendMode, ProtocolConfiguration};

/// The body modes of both directions, as far as they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Modes {
    request: Option<BodySendMode>,
    response: Option<BodySendMode>,
    /// What was not declared was guessed by the gateway's silence.
    is_guessed: bool,
}

/// When a request is routed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestPlan {
    /// At the end of the body; nothing is answered before.
    End,
    /// At the headers, as they are on their way to the engine once they are answered.
    Headers,
    /// At the one body message, which the gateway sends after the answer to the headers; they wait
    /// in the gateway for the answer to the body and can still be changed by it.
    Body {
        /// Whether that message may hold only the first part of the body.
        may_be_partial: bool,
    },
}

/// The form in which a body message is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyForm {
    /// The bytes come back as `streamed_response`, in pieces of at most so many bytes.
    Pieces {
        /// Bytes in a piece.
        bytes_max: usize,
    },
    /// One answer without a mutation per message; the bytes stay in the gateway.
    Plain,
}

impl Modes {
    /// The modes that `config` declares. One that this version does not know counts as undeclared.
    pub(crate) fn declared(config: &ProtocolConfiguration) -> Self {
        Self {
            request: BodySendMode::try_from(config.request_body_mode).ok(),
            response: BodySendMode::try_from(config.response_body_mode).ok(),
            is_guessed: false,
        }
    }

    /// Whether the mode of request bodies is neither declared nor guessed.
    pub(crate) const fn request_is_unknown(self) -> bool {
        self.request.is_none()
    }

    /// Whether the gateway left the mode of request bodies open.
    pub(crate) const fn request_is_undeclared(self) -> bool {
        self.request_is_unknown() || self.is_guessed
    }

    /// Takes the gateway to be one that waits for the answer to the headers.
    pub(crate) const fn assume_waiting(&mut self) {
        self.request = Some(BodySendMode::Streamed);
        self.is_guessed = true;
    }

    /// When the request is routed.
    pub(crate) const fn request_plan(self) -> RequestPlan {
        match self.request {
            None | Some(BodySendMode::FullDuplexStreamed | BodySendMode::Grpc) => RequestPlan::End,
            Some(BodySendMode::None | BodySendMode::Streamed) => RequestPlan::Headers,
            Some(BodySendMode::Buffered) => RequestPlan::Body {
                may_be_partial: false,
            },
            Some(BodySendMode::BufferedPartial) => RequestPlan::Body {
                may_be_partial: true,
            },
        }
    }

    /// How request bodies are answered.
    pub(crate) fn request_form(self) -> BodyForm {
        BodyForm::of(self.request)
    }

    /// How response bodies are answered; where undeclared, as request bodies are.
    pub(crate) fn response_form(self) -> BodyForm {
        BodyForm::of(self.response.or(self.request))
    }

    /// Whether response bodies come here, as far as the gateway told.
    pub(crate) const fn response_is_shown(self) -> bool {
        !matches!(self.response, Some(BodySendMode::None))
    }

    /// How much of the response can be seen, knowing whether a body message has come.
    ///
    /// Our standalone gateway sends no response bodies but those of a sample, which it streams
    /// although the request is duplex.
    pub(crate) const fn observation(self, body_came: bool) -> ObservationMode {
        match (self.request, self.response) {
            (_, None | Some(BodySendMode::None)) if !body_came => ObservationMode::HeadersOnly,
            (Some(BodySendMode::FullDuplexStreamed), Some(BodySendMode::Streamed)) => {
                ObservationMode::Sampled
            }
            _ => ObservationMode::Full,
        }
    }
}

impl BodyForm {
    const fn of(mode: Option<BodySendMode>) -> Self {
        match mode {
            None | Some(BodySendMode::FullDuplexStreamed) => Self::Pieces {
                bytes_max: PIECE_BYTES_MAX,
            },
            // Each body message is one gRPC message, which must not be cut.
            Some(BodySendMode::Grpc) => Self::Pieces {
                bytes_max: usize::MAX,
            },
            Some(
                BodySendMode::None
                | BodySendMode::Streamed
                | BodySendMode::Buffered
                | BodySendMode::BufferedPartial,
            ) => Self::Plain,
        }
    }
}

/// Envoy recommends pieces of at most 64 KiB; this is what today's pickers send.
const PIECE_BYTES_MAX: usize = 62_000;
