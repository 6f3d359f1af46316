//! Fuzz targets. As plain tests they replay the inputs beside these files, and a few random ones;
//! `make fuzz` looks for new ones.

mod coded;
mod grpc;
mod head;
mod json;
mod multipart;

use bytes::Bytes;
use pointsman_domain::block::{BLOCKS_MAX, BlockSize};
use pointsman_domain::facts::{MEDIA_MAX, ModelName, RequestFacts};

use crate::head::Head;
use crate::read::{Reading, with_body};
use crate::rejection::Rejection;
use crate::rewrite::rewrite;

/// A head of a request to this path.
fn post(path: &str, headers: &[(&str, &str)]) -> Head {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", path.as_bytes());
    for (name, value) in headers {
        head.header(name, value.as_bytes());
    }
    head
}

/// The pieces of an input that is cut where it has the byte [`CUT`].
fn cut(input: &[u8]) -> Vec<Bytes> {
    input
        .split(|byte| *byte == CUT)
        .map(Bytes::copy_from_slice)
        .collect()
}

/// The pieces of an input that may have any byte: the first two tell lengths, taken in turn.
fn cut_by_lengths(input: &[u8]) -> Vec<Bytes> {
    let (lengths, mut rest) = input.split_at(input.len().min(2));
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        let (piece, others) = rest.split_at(rest.len().min(usize::from(*length) + 1));
        pieces.push(Bytes::copy_from_slice(piece));
        rest = others;
        if rest.is_empty() {
            break;
        }
    }
    pieces
}

fn joined(pieces: &[Bytes]) -> Bytes {
    pieces.concat().into()
}

/// What a body says, which is the same however it is cut: in these pieces or else in bytes.
fn read(head: &Head, pieces: &[Bytes]) -> Result<Reading, Rejection> {
    let whole = joined(pieces);
    let reading = with_body(head, core::slice::from_ref(&whole), block());
    assert_eq!(with_body(head, pieces, block()), reading);
    if let [_] = pieces {
        let bytes: Vec<Bytes> = (0..whole.len()).map(|at| whole.slice(at..=at)).collect();
        assert_eq!(with_body(head, &bytes, block()), reading);
    }
    if let Ok(reading) = &reading {
        assert!(reading.facts.prompt.blocks.len() <= BLOCKS_MAX.min(whole.len() * BLOCKS_PER_BYTE));
        assert!(reading.facts.media.len() <= MEDIA_MAX);
    }
    reading
}

/// The body with another model, which is the only thing that changes; `None` where none can be named.
fn renamed(head: &Head, pieces: &[Bytes], reading: &Reading) -> Option<Bytes> {
    let place = reading.model_place.as_ref()?;
    let rewritten = rewrite(pieces.to_vec(), place, OTHER).expect("it is the body that was read");
    let whole = rewrite(vec![joined(pieces)], place, OTHER).expect("it is that body");
    assert_eq!(joined(&rewritten.body), joined(&whole.body));
    assert!(rewritten.body.iter().all(|piece| !piece.is_empty()));
    if !rewritten.is_decoded {
        let again = with_body(head, &rewritten.body, block()).expect("it can be read again");
        assert_eq!(again.facts.model, ModelName::Named(OTHER.into()));
        assert_eq!(nameless(again.facts), nameless(reading.facts.clone()));
    }
    Some(joined(&rewritten.body))
}

/// The facts without what a change of the model changes.
fn nameless(facts: RequestFacts) -> RequestFacts {
    RequestFacts {
        model: ModelName::Unread,
        body_bytes: 0,
        ..facts
    }
}

/// Small blocks, so that short inputs have some.
fn block() -> BlockSize {
    BlockSize::new(4).expect("a size")
}

/// Never part of UTF-8, so that little is lost when no text has it.
const CUT: u8 = 0xfe;

const OTHER: &str = "the \"other\"";

/// A token id that is written with one digit makes four bytes of the prompt's.
const BLOCKS_PER_BYTE: usize = 4;

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 50;
