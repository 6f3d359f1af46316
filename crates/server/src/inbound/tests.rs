//! Messages out of bodies that are cut and broken in every way.

use std::collections::VecDeque;

use pointsman_proto::ext_proc::HttpBody;
use tonic::codegen::http::HeaderMap;

use super::*;

const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// A body that comes in these pieces.
struct Pieces(VecDeque<Result<http_body::Frame<Bytes>, Status>>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Status>>> {
        Poll::Ready(self.0.pop_front())
    }
}

/// Pieces of data.
fn data<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Pieces {
    let piece = |piece| Ok(http_body::Frame::data(Bytes::copy_from_slice(piece)));
    Pieces(pieces.into_iter().map(piece).collect())
}

fn inbound(pieces: Pieces) -> Inbound {
    Inbound::new(Body::new(pieces), MESSAGE_BYTES_MAX)
}

fn next(inbound: &mut Inbound) -> Result<Arrival, Status> {
    match inbound.poll(&mut Context::from_waker(core::task::Waker::noop())) {
        Poll::Ready(arrival) => arrival,
        Poll::Pending => panic!("nothing is awaited here"),
    }
}

/// All messages of a body, and how it ended.
fn messages(pieces: Pieces) -> (Vec<ProcessingRequest>, Result<(), Code>) {
    let mut inbound = inbound(pieces);
    let mut found = Vec::new();
    loop {
        match next(&mut inbound) {
            Ok(Arrival::Message(message)) => found.push(message),
            Ok(Arrival::Part) => {}
            Ok(Arrival::End) => return (found, Ok(())),
            Err(status) => return (found, Err(status.code())),
        }
    }
}

fn body_message(direction: fn(HttpBody) -> Request, bytes: usize) -> ProcessingRequest {
    ProcessingRequest {
        request: Some(direction(HttpBody {
            body: vec![b'x'; bytes].into(),
            ..HttpBody::default()
        })),
        ..ProcessingRequest::default()
    }
}

fn framed(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flags], &length[..], message].concat()
}

/// The body bytes of a message that has some.
fn body_of(message: ProcessingRequest) -> Bytes {
    match message.request {
        Some(Request::RequestBody(body) | Request::ResponseBody(body)) => body.body,
        other => panic!("no body: {other:?}"),
    }
}

#[test]
fn messages_are_the_same_however_their_frames_are_cut() {
    let all = [
        body_message(Request::RequestBody, 40),
        ProcessingRequest::default(),
        body_message(Request::ResponseBody, 3),
    ];
    let bytes: Vec<u8> = all
        .iter()
        .flat_map(|message| framed(0, &message.encode_to_vec()))
        .collect();
    for one in 0..=bytes.len() {
        for other in one..=bytes.len() {
            let pieces = [&bytes[..one], &bytes[one..other], &bytes[other..]];
            assert_eq!(messages(data(pieces)), (all.to_vec(), Ok(())));
        }
    }
    assert_eq!(messages(data(bytes.chunks(1))), (all.to_vec(), Ok(())));
}

#[test]
fn a_body_that_ends_within_a_message_has_failed() {
    let message = body_message(Request::RequestBody, 40);
    let bytes = [
        framed(0, &message.encode_to_vec()),
        framed(0, &message.encode_to_vec()),
    ]
    .concat();
    let between = bytes.len() / 2;
    for end in 0..=bytes.len() {
        let mut cut = data([&bytes[..end]]);
        let ended = if end % between == 0 {
            Ok(())
        } else {
            Err(Code::Internal)
        };
        assert_eq!(messages(data([&bytes[..end]])).1, ended, "at {end}");
        let trailers = http_body::Frame::trailers(HeaderMap::new());
        cut.0.push_back(Ok(trailers));
        assert_eq!(messages(cut).1, ended, "at {end}, with trailers");
    }
}

#[test]
fn a_reset_is_an_end_and_a_fault_of_the_connection_is_told() {
    let message = body_message(Request::RequestBody, 40);
    let bytes = framed(0, &message.encode_to_vec());
    for (fault, ended) in [
        (Status::cancelled("reset"), Ok(())),
        (Status::unknown("broken"), Err(Code::Unknown)),
    ] {
        let mut pieces = data([&bytes[..], &bytes[..20]]);
        pieces.0.push_back(Err(fault));
        assert_eq!(messages(pieces), (vec![message.clone()], ended));
    }
}

#[test]
fn a_message_that_is_too_long_or_compressed_is_refused_at_its_header() {
    let longest = body_message(Request::RequestBody, MESSAGE_BYTES_MAX - 8);
    let longest = framed(0, &longest.encode_to_vec());
    assert_eq!(longest.len(), 5 + MESSAGE_BYTES_MAX);
    assert_eq!(messages(data([&longest[..]])).1, Ok(()));
    let claim = u32::try_from(MESSAGE_BYTES_MAX + 1).unwrap().to_be_bytes();
    let too_long = [&[0], &claim[..]].concat();
    for (bytes, code) in [
        (too_long, Code::OutOfRange),
        (vec![0, 0xff, 0xff, 0xff, 0xff], Code::OutOfRange),
        (vec![1, 0, 0, 0, 9], Code::Internal),
        (vec![0x80, 0, 0, 0, 9], Code::Internal),
        (framed(1, b""), Code::Internal),
    ] {
        let mut refused = inbound(data([&bytes[..], &[b'x'; 100]]));
        assert_eq!(next(&mut refused).unwrap_err().code(), code, "{bytes:?}");
        assert_eq!(refused.kept_bytes(), 0);
    }
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    let bytes = framed(0, b"\xff\xff\xff");
    assert_eq!(messages(data([&bytes[..]])), (vec![], Err(Code::Internal)));
}

#[test]
fn b23_what_is_held_of_a_message_shares_no_memory_with_anything_else() {
    const PIECE_BYTES: usize = 16 << 10;
    for bytes in [10, 5_000, 100_000] {
        let message = body_message(Request::RequestBody, bytes);
        let sent = framed(0, &message.encode_to_vec());
        let mut inbound = inbound(data(sent.chunks(PIECE_BYTES)));
        let received = loop {
            match next(&mut inbound).unwrap() {
                Arrival::Message(message) => break message,
                Arrival::Part => assert!(inbound.kept_bytes() <= sent.len()),
                Arrival::End => panic!("ended early"),
            }
        };
        assert_eq!(inbound.kept_bytes(), 0);
        let body = body_of(received);
        assert_eq!(body.len(), bytes);
        assert!(body.is_unique(), "dropping it frees it, the stream open");
    }
}

#[test]
fn a_response_body_in_one_piece_is_not_copied() {
    let message = body_message(Request::ResponseBody, 100).encode_to_vec();
    let piece = Bytes::from(framed(0, &message));
    let frame = Ok(http_body::Frame::data(piece.clone()));
    let (found, _) = messages(Pieces([frame].into()));
    let [message] = <[_; 1]>::try_from(found).unwrap();
    assert!(piece.as_ptr_range().contains(&body_of(message).as_ptr()));
}

#[test]
fn a_message_that_is_passed_over_is_freed_and_the_next_one_read() {
    let large = framed(
        0,
        &body_message(Request::RequestBody, 1_000).encode_to_vec(),
    );
    let small = body_message(Request::ResponseBody, 1);
    let rest = [&large[500..], &framed(0, &small.encode_to_vec())].concat();
    let mut inbound = inbound(data([&large[..500], &rest[..]]));
    assert!(matches!(next(&mut inbound), Ok(Arrival::Part)));
    assert!(inbound.kept_bytes() >= 495);
    inbound.pass_over();
    assert_eq!(inbound.kept_bytes(), 0);
    assert!(matches!(next(&mut inbound), Ok(Arrival::Part)));
    let Ok(Arrival::Message(message)) = next(&mut inbound) else {
        panic!("the next one is read");
    };
    assert_eq!(message, small);
    assert!(matches!(next(&mut inbound), Ok(Arrival::End)));
}
