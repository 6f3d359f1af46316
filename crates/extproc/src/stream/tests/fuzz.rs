//! A fuzz target. As a plain test it replays the inputs beside this file, and a few random ones;
//! `make fuzz` looks for new ones.

use super::invariants::{Event, check, play};
use super::*;

/// The settings of a stream are in the first four bytes of an input, and the events follow: each is a
/// byte that tells what happens and one that tells how, and a body another that is its length.
#[test]
fn messages() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let mut input = Input(input);
            let mut exchange = exchange(&mut input);
            while let Some(event) = event(&mut input) {
                play(&mut exchange, event);
                assert!(exchange.stream.held_bytes() <= HELD_BYTES_MAX);
            }
            check(exchange);
        });
}

/// Bytes to decide by.
struct Input<'i>(&'i [u8]);

impl<'i> Input<'i> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn bytes(&mut self, count: u8) -> &'i [u8] {
        let (bytes, rest) = self.0.split_at(self.0.len().min(count.into()));
        self.0 = rest;
        bytes
    }
}

/// A stream on which nothing has happened.
fn exchange(input: &mut Input<'_>) -> Exchange {
    let mut next = || input.byte().unwrap_or_default();
    let (flags, request, response, others) = (next(), next(), next(), next());
    let is = |bit: u8| flags & (1 << bit) != 0;
    let config = ProtocolConfiguration {
        // One more than there are, and one less than none.
        request_body_mode: i32::from(request % 8) - 1,
        response_body_mode: i32::from(response % 8) - 1,
        send_body_without_waiting_for_header_response: is(0),
    };
    let hint = metadata_text(
        "envoy.lb.subset_hint",
        "x-gateway-destination-endpoint-subset",
        "10.0.0.1:8000,10.0.0.2",
    );
    Exchange {
        stream: Stream::new(Settings {
            body_bytes_max: BODY_BYTES_MAX,
            load_reports: if is(1) {
                LoadReports::Removed
            } else {
                LoadReports::Kept
            },
            model_list: if is(2) {
                ModelList::Merged
            } else {
                ModelList::OfEngine
            },
            ..Settings::default()
        }),
        config: is(3).then_some(config),
        observability: others == 1,
        metadata: is(4).then_some(hint),
        ..Exchange::undeclared()
    }
}

/// The next thing that happens.
fn event(input: &mut Input<'_>) -> Option<Event> {
    let (what, how) = (input.byte()?, input.byte()?);
    let refusal = Refusal::ALL[usize::from(how) % Refusal::ALL.len()];
    Some(match what % 20 {
        0 => Event::Picked,
        1 => Event::Decided(refusal),
        2 => Event::Refuse(refusal),
        3 => Event::Listed(how.is_multiple_of(2).then_some(Bytes::from_static(b"{}"))),
        4 => Event::Overdue(
            [
                Wait::FirstMessage,
                Wait::UndeclaredBody,
                Wait::Body,
                Wait::Leave,
            ][usize::from(how % 4)],
        ),
        5 if how == 0 => Event::Closed,
        5 => Event::Panicked(message(how, how / 2, input), how.is_multiple_of(2)),
        what => Event::Message(message(what, how, input)),
    })
}

fn message(what: u8, how: u8, input: &mut Input<'_>) -> Request {
    let ends = if how.is_multiple_of(2) {
        Ends::Later
    } else {
        Ends::Here
    };
    let how = usize::from(how / 2);
    match what % 7 {
        0 => request_headers(
            ["POST", "GET", "HEAD"][how % 3],
            PATHS[how / 3 % PATHS.len()],
            ends,
        ),
        1 | 2 => Request::RequestBody(body(how, ends, input)),
        3 => Request::RequestTrailers(HttpTrailers::default()),
        4 => response_headers(
            ["200", "404", "503", "x"][how % 4],
            KINDS[how / 4 % KINDS.len()],
            ends,
        ),
        5 => Request::ResponseBody(body(how, ends, input)),
        _ => response_trailers(&[("grpc-status", ["0", "10", "14"][how % 3])]),
    }
}

fn body(how: usize, ends: Ends, input: &mut Input<'_>) -> HttpBody {
    let body = match how % 4 {
        0 => chat(),
        1 => Bytes::new(),
        2 => Bytes::from(vec![b'x'; 40 * how]),
        _ => {
            let length = input.byte().unwrap_or_default();
            Bytes::copy_from_slice(input.bytes(length))
        }
    };
    HttpBody {
        end_of_stream_without_message: how / 4 % 8 == 7,
        ..http_body(body, ends)
    }
}

const PATHS: [&str; 4] = [
    "/v1/chat/completions",
    "/v1/models",
    "/v1/files",
    "/v1/messages",
];

const KINDS: [&str; 4] = [
    "text/event-stream",
    "application/json",
    "application/grpc",
    "text/plain",
];

/// Small, so that short inputs reach it.
const BODY_BYTES_MAX: usize = 4096;

/// A body and what its pieces cost beside their bytes, of which there are few.
const HELD_BYTES_MAX: usize = BODY_BYTES_MAX + 2048 * PIECE_OVERHEAD_BYTES;

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 200;
