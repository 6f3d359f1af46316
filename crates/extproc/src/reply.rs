//! Builders of the answers. They set what we own and nothing else: no header is echoed, and none
//! that belongs to a connection or to the body's framing is set.

use core::fmt::Write;

use bytes::Bytes;
use pointsman_domain::decision::Pick;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::header_value_option::HeaderAppendAction;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    BodyMutation, BodyResponse, CommonResponse, GrpcStatus, HeaderMutation, HeaderValue,
    HeaderValueOption, HeadersResponse, HttpBody, HttpStatus, ImmediateResponse,
    ProcessingResponse, StreamedBodyResponse, TrailersResponse,
};
use prost_types::value::Kind;
use prost_types::{Struct, Value};

use crate::metadata::BALANCER_NAMESPACE;
use crate::refusal::Answer;

/// Which way the answered message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the engine.
    Request,
    /// From the engine to the client.
    Response,
}

/// What the gateway is told of a pick, with whichever answer can still change the request's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    destinations: String,
    remove_headers: Vec<String>,
    is_sent_once: bool,
}

/// What becomes of a body in an answer that leaves it with the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyChange {
    /// It goes on as it came.
    Kept,
    /// This goes on in its place.
    Replaced(Bytes),
}

/// Whether a body piece is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceEnd {
    /// More pieces, or trailers, follow.
    Open,
    /// The body ends with this piece.
    Last,
    /// The body ended before this piece, which is empty: it only carries the end.
    Mark,
}

impl PieceEnd {
    /// The end that a body message carries.
    pub const fn of(message: &HttpBody) -> Self {
        if message.end_of_stream_without_message {
            Self::Mark
        } else if message.end_of_stream {
            Self::Last
        } else {
            Self::Open
        }
    }
}

impl Route {
    /// The route to the endpoints of `pick`, best first, for a request of which the headers named in
    /// `remove_headers` must not go on. The destination is overwritten in any case.
    pub fn new(pick: &Pick, mut remove_headers: Vec<String>) -> Self {
        remove_headers.retain(|name| name != DESTINATION_HEADER);
        let mut destinations = String::new();
        for (index, destination) in pick.destinations.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a string cannot fail. The address brackets IPv6 by itself.
            let _ = write!(destinations, "{comma}{}", destination.address);
        }
        Self {
            destinations,
            remove_headers,
            is_sent_once: false,
        }
    }

    /// The same route, with the wish that the gateway does not send the request again when it fails.
    pub fn sent_once(self) -> Self {
        Self {
            is_sent_once: true,
            ..self
        }
    }

    /// The same route, for a request whose body is not the one that came: its length, its checksums
    /// and, if `is_decoded`, its encoding are no longer true.
    pub fn with_other_body(mut self, is_decoded: bool) -> Self {
        let encoding = is_decoded.then_some(&"content-encoding");
        let names = OF_ANOTHER_BODY.iter().chain(encoding);
        self.remove_headers
            .extend(names.map(|&name| name.to_owned()));
        self
    }

    /// The same route, with the wish that the answer comes without compression, so that the model's
    /// name in it can be restored.
    pub fn with_plain_answer(mut self) -> Self {
        self.remove_headers.push("accept-encoding".to_owned());
        self
    }

    /// The same value as the header, for gateways that read it from metadata.
    fn metadata(&self) -> Struct {
        let value = |kind| Value { kind: Some(kind) };
        let destinations = value(Kind::StringValue(self.destinations.clone()));
        let mut fields = vec![(DESTINATION_HEADER.to_owned(), destinations)];
        if self.is_sent_once {
            fields.push((SENT_ONCE_KEY.to_owned(), value(Kind::BoolValue(true))));
        }
        let balancer = value(Kind::StructValue(Struct {
            fields: fields.into_iter().collect(),
        }));
        Struct {
            fields: [(BALANCER_NAMESPACE.to_owned(), balancer)].into(),
        }
    }

    fn into_mutation(self) -> HeaderMutation {
        HeaderMutation {
            set_headers: vec![set(DESTINATION_HEADER, Bytes::from(self.destinations))],
            remove_headers: self.remove_headers,
        }
    }
}

/// Lets request headers pass, with the route if it is given here.
pub fn request_headers(route: Option<Route>) -> ProcessingResponse {
    let (response, dynamic_metadata) = common(route, None);
    ProcessingResponse {
        dynamic_metadata,
        response: Some(Response::RequestHeaders(HeadersResponse { response })),
    }
}

/// Lets response headers pass, without those named in `remove_headers`.
pub fn response_headers(remove_headers: Vec<String>) -> ProcessingResponse {
    without(Direction::Response, remove_headers)
}

/// Lets request headers go on to where they wait for the answer to the body, without those named in
/// `remove_headers`.
pub fn request_headers_without(remove_headers: Vec<String>) -> ProcessingResponse {
    without(Direction::Request, remove_headers)
}

/// Lets one body message pass, with the route if it is given here. Not for duplex modes.
pub fn body(direction: Direction, route: Option<Route>, change: BodyChange) -> ProcessingResponse {
    let mutation = match change {
        BodyChange::Kept => None,
        BodyChange::Replaced(body) if body.is_empty() => Some(Mutation::ClearBody(true)),
        BodyChange::Replaced(body) => Some(Mutation::Body(body)),
    };
    let mutation = mutation.map(|mutation| BodyMutation {
        mutation: Some(mutation),
    });
    body_response(direction, route, mutation)
}

/// Gives one piece of a body back, as duplex modes want it.
pub fn piece(
    direction: Direction,
    route: Option<Route>,
    body: Bytes,
    end: PieceEnd,
) -> ProcessingResponse {
    let streamed = StreamedBodyResponse {
        body,
        end_of_stream: end == PieceEnd::Last,
        end_of_stream_without_message: end == PieceEnd::Mark,
    };
    let mutation = BodyMutation {
        mutation: Some(Mutation::StreamedResponse(streamed)),
    };
    body_response(direction, route, Some(mutation))
}

/// Lets request trailers pass. A route comes too late for the headers here, and goes into metadata
/// alone.
pub fn request_trailers(route: Option<Route>) -> ProcessingResponse {
    ProcessingResponse {
        dynamic_metadata: route.map(|route| route.metadata()),
        response: Some(Response::RequestTrailers(TrailersResponse::default())),
    }
}

/// Lets response trailers pass, without those named in `remove_headers`.
pub fn response_trailers(remove_headers: Vec<String>) -> ProcessingResponse {
    ProcessingResponse {
        dynamic_metadata: None,
        response: Some(Response::ResponseTrailers(TrailersResponse {
            header_mutation: removal(remove_headers),
        })),
    }
}

/// Answers the client in place of an engine.
pub fn immediate(answer: Answer) -> ProcessingResponse {
    let set_headers = answer
        .headers
        .into_iter()
        .map(|(name, value)| set(name, Bytes::from_static(value.as_bytes())))
        .collect();
    ProcessingResponse {
        dynamic_metadata: None,
        response: Some(Response::ImmediateResponse(ImmediateResponse {
            status: Some(HttpStatus {
                code: i32::from(answer.status),
            }),
            headers: Some(HeaderMutation {
                set_headers,
                remove_headers: Vec::new(),
            }),
            body: answer.body,
            grpc_status: answer.grpc_status.map(|status| GrpcStatus { status }),
            details: answer.details.to_owned(),
        })),
    }
}

/// Cuts a body, which came as `parts`, into pieces of at most `bytes_max` bytes that share its
/// memory, and marks the last one with `end`. An end without bytes gets an empty piece.
pub fn pieces(
    parts: impl IntoIterator<Item = Bytes>,
    bytes_max: usize,
    end: PieceEnd,
    mut send: impl FnMut(Bytes, PieceEnd),
) {
    let mut pieces = parts
        .into_iter()
        .flat_map(|part| cut(part, bytes_max))
        .peekable();
    if end == PieceEnd::Last && pieces.peek().is_none() {
        send(Bytes::new(), PieceEnd::Last);
    }
    while let Some(piece) = pieces.next() {
        let is_last = end == PieceEnd::Last && pieces.peek().is_none();
        send(
            piece,
            if is_last {
                PieceEnd::Last
            } else {
                PieceEnd::Open
            },
        );
    }
    if end == PieceEnd::Mark {
        send(Bytes::new(), PieceEnd::Mark);
    }
}

fn cut(mut body: Bytes, bytes_max: usize) -> impl Iterator<Item = Bytes> {
    core::iter::from_fn(move || {
        let length = body.len().min(bytes_max);
        (length > 0).then(|| body.split_to(length))
    })
}

fn without(direction: Direction, remove_headers: Vec<String>) -> ProcessingResponse {
    let response = CommonResponse {
        header_mutation: removal(remove_headers),
        ..CommonResponse::default()
    };
    let response = HeadersResponse {
        response: Some(response),
    };
    ProcessingResponse {
        dynamic_metadata: None,
        response: Some(match direction {
            Direction::Request => Response::RequestHeaders(response),
            Direction::Response => Response::ResponseHeaders(response),
        }),
    }
}

fn removal(remove_headers: Vec<String>) -> Option<HeaderMutation> {
    (!remove_headers.is_empty()).then_some(HeaderMutation {
        set_headers: Vec::new(),
        remove_headers,
    })
}

fn body_response(
    direction: Direction,
    route: Option<Route>,
    body_mutation: Option<BodyMutation>,
) -> ProcessingResponse {
    let (response, dynamic_metadata) = common(route, body_mutation);
    let response = BodyResponse { response };
    ProcessingResponse {
        dynamic_metadata,
        response: Some(match direction {
            Direction::Request => Response::RequestBody(response),
            Direction::Response => Response::ResponseBody(response),
        }),
    }
}

fn common(
    route: Option<Route>,
    body_mutation: Option<BodyMutation>,
) -> (Option<CommonResponse>, Option<Struct>) {
    let dynamic_metadata = route.as_ref().map(Route::metadata);
    let response = CommonResponse {
        // Another route may match now that the destination header is set.
        clear_route_cache: route.is_some(),
        header_mutation: route.map(Route::into_mutation),
        body_mutation,
        ..CommonResponse::default()
    };
    (Some(response), dynamic_metadata)
}

/// Envoy refuses a header with both kinds of value, and older ones ignore `value`; without the
/// explicit action some gateways append to what the client sent.
fn set(name: &str, raw_value: Bytes) -> HeaderValueOption {
    HeaderValueOption {
        header: Some(HeaderValue {
            key: name.to_owned(),
            value: String::new(),
            raw_value,
        }),
        append_action: HeaderAppendAction::OverwriteIfExistsOrAdd.into(),
    }
}

/// Where the destination goes, as a header and as a key of metadata.
pub const DESTINATION_HEADER: &str = "x-gateway-destination-endpoint";

/// Headers that tell of the body's bytes, and are not true of others.
pub(crate) const OF_ANOTHER_BODY: [&str; 5] = [
    "content-length",
    "content-md5",
    "digest",
    "content-digest",
    "repr-digest",
];

/// The key of metadata under which our Envoy is asked not to send a request again.
pub const SENT_ONCE_KEY: &str = "x-pointsman-sent-once";

#[cfg(test)]
mod tests;
