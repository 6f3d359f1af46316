//! Each order of messages is played through [`Exchange`], which writes down what went in (`>`),
//! what the pool was asked or told (`!`), and what was answered (`<`).

mod duplex;
mod fuzz;
mod invariants;
mod limits;
mod other_modes;
mod properties;
mod renaming;
mod responses;
mod table;
mod transcript;

use core::cell::Cell;
use core::fmt::Write;

use bytes::Bytes;
use pointsman_domain::decision::{Destination, Pick};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::Dialect;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderValue, HttpBody, HttpHeaders, HttpTrailers, Metadata,
    ProtocolConfiguration, StreamedBodyResponse,
};
use prost_types::value::Kind;
use prost_types::{Struct, Value};

use transcript::{line_of_action, line_of_request};

use super::*;
use crate::held::PIECE_OVERHEAD_BYTES;
use crate::reply::Direction;

/// A stream with all that happened on it.
struct Exchange {
    stream: Stream,
    config: Option<ProtocolConfiguration>,
    observability: bool,
    metadata: Option<Metadata>,
    /// What came of the response's body that is to come back in pieces.
    response: Vec<u8>,
    actions: Vec<Action>,
    transcript: String,
}

impl Exchange {
    /// A stream of a gateway that declares these modes.
    fn declared(request: BodySendMode, response: BodySendMode) -> Self {
        let config = ProtocolConfiguration {
            request_body_mode: request.into(),
            response_body_mode: response.into(),
            send_body_without_waiting_for_header_response: false,
        };
        Self {
            config: Some(config),
            ..Self::undeclared()
        }
    }

    fn duplex() -> Self {
        Self::declared(
            BodySendMode::FullDuplexStreamed,
            BodySendMode::FullDuplexStreamed,
        )
    }

    fn undeclared() -> Self {
        Self {
            stream: Stream::new(Settings::default()),
            config: None,
            observability: false,
            metadata: None,
            response: Vec::new(),
            actions: Vec::new(),
            transcript: String::new(),
        }
    }

    fn send(&mut self, request: Request) -> &mut Self {
        let line = line_of_request(&request);
        let message = ProcessingRequest {
            metadata_context: self.metadata.take(),
            observability_mode: self.observability,
            protocol_config: self.config.take(),
            request: Some(request),
        };
        self.step(&line, |stream, actions| stream.message(message, actions))
    }

    fn post(&mut self) -> &mut Self {
        self.send(request_headers("POST", "/v1/chat/completions", Ends::Later))
    }

    fn body(&mut self, body: &Bytes, ends: Ends) -> &mut Self {
        self.send(Request::RequestBody(http_body(body.clone(), ends)))
    }

    fn trailers(&mut self) -> &mut Self {
        self.send(Request::RequestTrailers(HttpTrailers::default()))
    }

    fn picked(&mut self) -> &mut Self {
        let decision = Decision::Picked(pick("10.0.0.1:8000"));
        self.step("picked", |stream, actions| {
            stream.decided(&decision, actions)
        })
    }

    fn step(&mut self, line: &str, act: impl FnOnce(&mut Stream, &mut Vec<Action>)) -> &mut Self {
        writeln!(self.transcript, "> {line}").unwrap();
        let before = self.actions.len();
        act(&mut self.stream, &mut self.actions);
        for action in &self.actions[before..] {
            self.transcript.push_str(&line_of_action(action));
        }
        self
    }

    /// What was asked; fails unless exactly one thing was.
    fn asked(&self) -> &RequestFacts {
        let mut asked = self.actions.iter().filter_map(|action| match action {
            Action::Ask(facts) => Some(facts),
            _ => None,
        });
        let facts = asked.next().expect("nothing was asked");
        assert!(asked.next().is_none(), "it was asked twice");
        facts
    }

    fn streamed(&self, direction: Direction) -> Vec<StreamedBodyResponse> {
        self.actions
            .iter()
            .filter_map(|action| streamed_of(action, direction))
            .collect()
    }
}

/// Panics if the test that runs here [told so](PANICS).
pub(super) fn panic_if_told() {
    assert!(!PANICS.get(), "told to panic");
}

thread_local! {
    /// Whether a reader of a response is to panic at its end.
    static PANICS: Cell<bool> = const { Cell::new(false) };
}

fn undeclared_overdue(stream: &mut Stream, actions: &mut Vec<Action>) {
    stream.overdue(Wait::UndeclaredBody, actions);
}

fn body_stalled(stream: &mut Stream, actions: &mut Vec<Action>) {
    stream.overdue(Wait::Body, actions);
}

/// Whether more of a body must come in time.
fn gathers(exchange: &Exchange) -> bool {
    exchange.stream.waits_for() == Some(Wait::Body)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    Later,
    Here,
}

fn chat() -> Bytes {
    Bytes::from_static(br#"{"model":"m1","messages":[{"role":"user","content":"hi"}]}"#)
}

fn pick(address: &str) -> Pick {
    let destination = Destination {
        endpoint: EndpointId {
            slot: 0,
            generation: 1,
        },
        address: address.parse().unwrap(),
    };
    Pick {
        destinations: [destination].into_iter().collect(),
        model: None,
    }
}

fn header_map(headers: &[(&str, &str)]) -> Option<HeaderMap> {
    let header = |&(name, value): &(&str, &str)| HeaderValue {
        key: name.to_owned(),
        value: String::new(),
        raw_value: Bytes::copy_from_slice(value.as_bytes()),
    };
    Some(HeaderMap {
        headers: headers.iter().map(header).collect(),
    })
}

fn request_headers(method: &str, path: &str, ends: Ends) -> Request {
    Request::RequestHeaders(HttpHeaders {
        headers: header_map(&[(":method", method), (":path", path)]),
        end_of_stream: ends == Ends::Here,
    })
}

fn response_headers(status: &str, content_type: &str, ends: Ends) -> Request {
    Request::ResponseHeaders(HttpHeaders {
        headers: header_map(&[(":status", status), ("content-type", content_type)]),
        end_of_stream: ends == Ends::Here,
    })
}

fn response_body(body: &str, ends: Ends) -> Request {
    Request::ResponseBody(http_body(Bytes::copy_from_slice(body.as_bytes()), ends))
}

fn response_trailers(trailers: &[(&str, &str)]) -> Request {
    Request::ResponseTrailers(HttpTrailers {
        trailers: header_map(trailers),
    })
}

fn http_body(body: Bytes, ends: Ends) -> HttpBody {
    HttpBody {
        body,
        end_of_stream: ends == Ends::Here,
        end_of_stream_without_message: false,
    }
}

fn metadata_text(namespace: &str, key: &str, value: &str) -> Metadata {
    let kind = Some(Kind::StringValue(value.to_owned()));
    let fields = [(key.to_owned(), Value { kind })].into();
    Metadata {
        filter_metadata: [(namespace.to_owned(), Struct { fields })].into(),
    }
}

fn streamed_of(action: &Action, wanted: Direction) -> Option<StreamedBodyResponse> {
    let Action::Reply(ProcessingResponse {
        response: Some(response),
        ..
    }) = action
    else {
        return None;
    };
    let (direction, body) = match response {
        Response::RequestBody(body) => (Direction::Request, body),
        Response::ResponseBody(body) => (Direction::Response, body),
        _ => return None,
    };
    let mutation = body.response.as_ref()?.body_mutation.as_ref()?;
    match &mutation.mutation {
        Some(Mutation::StreamedResponse(streamed)) if direction == wanted => Some(streamed.clone()),
        _ => None,
    }
}
