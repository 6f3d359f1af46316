//! Everything that the gateway says in the streams of a cell, made once.

use core::time::Duration;

use bytes::Bytes;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{
    HeaderMap, HeaderValue, HttpBody, HttpHeaders, Metadata, ProcessingRequest,
};

use super::cell::{BodyMode, Cell};

/// The messages of a cell.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) mode: BodyMode,
    /// Between two events of the response.
    pub(super) gap: Duration,
    prompts: Vec<Body>,
    pub(super) response: Body,
    request_headers: Vec<HeaderValue>,
    pub(super) response_headers: ProcessingRequest,
}

/// One body and the messages in which the gateway sends it.
#[derive(Debug)]
pub(super) struct Body {
    /// All bytes.
    pub(super) bytes: Bytes,
    /// In pieces, the last one empty, as Envoy ends a body; or in one where it is buffered.
    pub(super) messages: Vec<ProcessingRequest>,
}

impl Script {
    /// The messages of `cell` with these request bodies, of which there is at least one.
    pub(super) fn new(cell: &Cell, prompts: Vec<String>) -> Self {
        let length = prompts.first().map_or(0, String::len);
        let request = |prompt| {
            let bytes = Bytes::from(prompt);
            let pieces = cut(&bytes, PIECE_BYTES_MAX);
            Body::new(bytes, pieces, cell.mode, Request::RequestBody)
        };
        let (bytes, pieces) = events(cell.events);
        Self {
            mode: cell.mode,
            gap: cell.gap,
            prompts: prompts.into_iter().map(request).collect(),
            response: Body::new(bytes, pieces, cell.mode, Request::ResponseBody),
            request_headers: request_headers(length),
            response_headers: message(Request::ResponseHeaders(HttpHeaders {
                headers: Some(HeaderMap {
                    headers: headers(&RESPONSE_HEADERS),
                }),
                end_of_stream: false,
            })),
        }
    }

    /// The first message of the stream with this number.
    pub(super) fn request_headers(&self, number: u64) -> ProcessingRequest {
        let mut headers = self.request_headers.clone();
        let id = format!("00000000-0000-4000-8000-{number:012x}");
        headers.push(header("x-request-id", id));
        let mut message = message(Request::RequestHeaders(HttpHeaders {
            headers: Some(HeaderMap { headers }),
            end_of_stream: false,
        }));
        message.protocol_config = Some(self.mode.protocol_config());
        message
    }

    /// The request body of the stream with this number.
    pub(super) fn prompt(&self, number: u64) -> Option<&Body> {
        let count = u64::try_from(self.prompts.len()).ok()?;
        let place = usize::try_from(number.checked_rem(count)?).ok()?;
        self.prompts.get(place)
    }

    /// How long the response takes in the engine.
    pub(super) fn response_time(&self) -> Duration {
        let pieces = self.response.messages.len();
        self.gap * u32::try_from(pieces.saturating_sub(1)).unwrap_or(u32::MAX)
    }
}

impl Body {
    fn new(
        bytes: Bytes,
        pieces: Vec<Bytes>,
        mode: BodyMode,
        kind: fn(HttpBody) -> Request,
    ) -> Self {
        let piece = |body, end_of_stream| {
            message(kind(HttpBody {
                body,
                end_of_stream,
                end_of_stream_without_message: false,
            }))
        };
        let messages = if mode == BodyMode::Buffered {
            vec![piece(bytes.clone(), true)]
        } else {
            let mut messages: Vec<_> = pieces.into_iter().map(|body| piece(body, false)).collect();
            messages.push(piece(Bytes::new(), true));
            messages
        };
        Self { bytes, messages }
    }
}

/// As Envoy sends them all: with metadata, which is empty unless it is told to forward some.
fn message(request: Request) -> ProcessingRequest {
    ProcessingRequest {
        metadata_context: Some(Metadata::default()),
        request: Some(request),
        ..ProcessingRequest::default()
    }
}

fn request_headers(length: usize) -> Vec<HeaderValue> {
    let mut headers = headers(&REQUEST_HEADERS);
    headers.push(header("content-length", length.to_string()));
    headers
}

fn headers(pairs: &[(&str, &'static str)]) -> Vec<HeaderValue> {
    pairs
        .iter()
        .map(|&(name, value)| header(name, value))
        .collect()
}

fn header(name: &str, value: impl Into<Bytes>) -> HeaderValue {
    HeaderValue {
        key: name.to_owned(),
        value: String::new(),
        raw_value: value.into(),
    }
}

/// A response of so many events, whole and in pieces that share its memory.
fn events(count: usize) -> (Bytes, Vec<Bytes>) {
    let mut text = String::new();
    let mut ends = Vec::with_capacity(count);
    for index in 0..count {
        if index + 1 == count {
            text.push_str(LAST_EVENT);
        } else {
            text.push_str(&format!("{EVENT_HEAD}tok{index} {EVENT_TAIL}"));
        }
        ends.push(text.len());
    }
    let bytes = Bytes::from(text);
    let mut start = 0;
    let pieces = ends
        .into_iter()
        .map(|end| bytes.slice(core::mem::replace(&mut start, end)..end))
        .collect();
    (bytes, pieces)
}

fn cut(bytes: &Bytes, piece_bytes_max: usize) -> Vec<Bytes> {
    bytes
        .chunks(piece_bytes_max)
        .map(|piece| bytes.slice_ref(piece))
        .collect()
}

const REQUEST_HEADERS: [(&str, &str); 8] = [
    (":authority", "llm.example"),
    (":path", "/v1/chat/completions"),
    (":method", "POST"),
    (":scheme", "http"),
    ("content-type", "application/json"),
    ("user-agent", "pointsman-bench"),
    ("accept", "*/*"),
    ("x-forwarded-proto", "http"),
];

const RESPONSE_HEADERS: [(&str, &str); 3] = [
    (":status", "200"),
    ("content-type", "text/event-stream"),
    ("x-envoy-upstream-service-time", "3"),
];

/// Envoy sends what it has read from its client: 131 KB came in one piece, 4 MB in five.
const PIECE_BYTES_MAX: usize = 1 << 20;

const EVENT_HEAD: &str = r#"data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":""#;
const EVENT_TAIL: &str = "\"},\"finish_reason\":null}]}\n\n";
const LAST_EVENT: &str = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\
\"model\":\"m\",\"choices\":[],\"usage\":{\"prompt_tokens\":256,\"total_tokens\":264,\
\"completion_tokens\":8}}\n\ndata: [DONE]\n\n";
