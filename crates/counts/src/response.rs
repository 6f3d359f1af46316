//! Streams in the middle of a response.

use std::net::SocketAddr;

use bytes::Bytes;
use pointsman_domain::decision::{Decision, Destination, Pick};
use pointsman_domain::endpoint::EndpointId;
use pointsman_extproc::stream::{Action, Settings, Stream};
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderValue, HttpBody, HttpHeaders, ProcessingRequest,
    ProtocolConfiguration,
};

use crate::body::{self, MODEL, Text};

/// A stream, and the message that comes next.
pub struct Exchange {
    /// The stream.
    pub stream: Box<Stream>,
    /// The message.
    pub message: ProcessingRequest,
    /// Room for what the stream wants done.
    pub actions: Vec<Action>,
}

/// What a chunk of a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chunk {
    /// Bytes of a kind that is passed on unread.
    Opaque,
    /// An event with one token of the answer.
    Token,
    /// The last events: the usage and the end.
    Usage,
}

/// A duplex stream whose response has begun, just before the next chunk of it comes.
pub fn before_chunk(chunk: Chunk) -> Exchange {
    let mut stream = Box::new(Stream::new(Settings::default()));
    let mut actions = Vec::with_capacity(ACTIONS_MAX);
    let request = body::chat(1024, Text::Plain);
    let first = ProcessingRequest {
        protocol_config: Some(duplex()),
        ..message(Request::RequestHeaders(headers(&[
            (":method", "POST"),
            (":path", "/v1/chat/completions"),
        ])))
    };
    stream.message(first, &mut actions);
    let body = Bytes::from(request.body.concat());
    let body = message(Request::RequestBody(http_body(body, End::Here)));
    stream.message(body, &mut actions);
    stream.decided(&decision(), &mut actions);

    let mut play = |request| stream.message(message(request), &mut actions);
    play(Request::ResponseHeaders(headers(&[
        (":status", "200"),
        ("content-type", chunk.content_type()),
    ])));
    // The usage is told once.
    let before = match chunk {
        Chunk::Usage => Chunk::Token,
        chunk => chunk,
    };
    play(Request::ResponseBody(http_body(before.bytes(), End::Later)));
    actions.clear();
    Exchange {
        stream,
        message: message(Request::ResponseBody(http_body(chunk.bytes(), End::Later))),
        actions,
    }
}

impl Chunk {
    const fn content_type(self) -> &'static str {
        match self {
            Self::Opaque => "application/octet-stream",
            Self::Token | Self::Usage => "text/event-stream; charset=utf-8",
        }
    }

    /// The bytes, as vLLM writes them.
    fn bytes(self) -> Bytes {
        let rest = match self {
            Self::Opaque | Self::Token => {
                "\"choices\":[{\"index\":0,\"delta\":{\"content\":\" figures\"},\"logprobs\":null,\
                 \"finish_reason\":null,\"token_ids\":null}]}\n\n"
            }
            Self::Usage => {
                "\"choices\":[],\"usage\":{\"prompt_tokens\":4096,\"total_tokens\":4352,\
                 \"completion_tokens\":256,\"prompt_tokens_details\":{\"cached_tokens\":3072}}}\n\n\
                 data: [DONE]\n\n"
            }
        };
        Bytes::from(format!(
            "data: {{\"id\":\"chatcmpl-4f0c2f7a9d5e4f6c8a1b3e5d7f9a0b2c\",\
             \"object\":\"chat.completion.chunk\",\"created\":1764460800,\"model\":\"{MODEL}\",{rest}"
        ))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Here,
    Later,
}

fn message(request: Request) -> ProcessingRequest {
    ProcessingRequest {
        request: Some(request),
        ..ProcessingRequest::default()
    }
}

fn duplex() -> ProtocolConfiguration {
    let mode = BodySendMode::FullDuplexStreamed.into();
    ProtocolConfiguration {
        request_body_mode: mode,
        response_body_mode: mode,
        send_body_without_waiting_for_header_response: false,
    }
}

fn headers(headers: &[(&str, &str)]) -> HttpHeaders {
    let header = |&(name, value): &(&str, &str)| HeaderValue {
        key: name.to_owned(),
        value: String::new(),
        raw_value: Bytes::copy_from_slice(value.as_bytes()),
    };
    HttpHeaders {
        headers: Some(HeaderMap {
            headers: headers.iter().map(header).collect(),
        }),
        end_of_stream: false,
    }
}

fn http_body(body: Bytes, end: End) -> HttpBody {
    HttpBody {
        body,
        end_of_stream: end == End::Here,
        end_of_stream_without_message: false,
    }
}

fn decision() -> Decision {
    let destination = Destination {
        endpoint: EndpointId {
            slot: 0,
            generation: 1,
        },
        address: SocketAddr::from(([10, 0, 0, 1], 8000)),
    };
    Decision::Picked(Pick {
        destinations: [destination].into_iter().collect(),
        model: None,
    })
}

/// More than the messages of one exchange bring.
const ACTIONS_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use pointsman_domain::observation::{Observation, ObservationMode};
    use pointsman_domain::units::Tokens;

    use super::*;

    #[test]
    fn each_chunk_is_passed_on_in_one_piece_and_only_the_last_says_something() {
        for chunk in [Chunk::Opaque, Chunk::Token, Chunk::Usage] {
            let mut exchange = before_chunk(chunk);
            assert_eq!(exchange.stream.mode(), ObservationMode::Full);
            exchange
                .stream
                .message(exchange.message, &mut exchange.actions);
            let told = match exchange.actions.as_slice() {
                [Action::Reply(_), told @ ..] => told.len(),
                other => panic!("{chunk:?}: {other:?}"),
            };
            assert_eq!(told > 0, chunk == Chunk::Usage, "{:?}", exchange.actions);
        }
    }

    #[test]
    fn the_usage_is_read_where_there_is_one() {
        for (chunk, prompt) in [
            (Chunk::Opaque, None),
            (Chunk::Token, None),
            (Chunk::Usage, Some(Tokens(4096))),
        ] {
            let mut exchange = before_chunk(chunk);
            exchange
                .stream
                .message(exchange.message, &mut exchange.actions);
            let end = message(Request::ResponseBody(http_body(Bytes::new(), End::Here)));
            exchange.stream.message(end, &mut exchange.actions);
            let found = exchange.actions.iter().find_map(|action| match action {
                Action::Observed(Observation::Usage(usage)) => Some(usage.prompt),
                _ => None,
            });
            assert_eq!(found, prompt, "{chunk:?}");
        }
    }
}
