//! Compressed bodies.

use std::io::Read as _;

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::*;
use crate::head::Coding;
use crate::read::decode::{Undecodable, each};

/// What a body decodes to, which is the same however it is cut.
fn decoded(pieces: &[Bytes], coding: Coding) -> Result<Vec<u8>, Undecodable> {
    let of = |pieces: &[Bytes]| {
        let mut text = Vec::new();
        each(pieces, coding, &mut |chunk| text.extend_from_slice(chunk)).map(|()| text)
    };
    let whole = joined(pieces);
    let text = of(core::slice::from_ref(&whole));
    assert_eq!(of(pieces), text);
    text
}

/// An input is a body, cut where it has the byte [`CUT`], that is put into gzip here.
#[test]
fn gzip_json() {
    let path = "/v1/chat/completions";
    let head = post(path, &[("content-encoding", "gzip")]);
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let plain_pieces = cut(input);
            let plain_head = post(path, &[]);
            let plain = with_body(&plain_head, &plain_pieces, block());
            let body = Bytes::from(stored(&joined(&plain_pieces)));
            let at = input.first().map_or(0, |at| usize::from(*at)) % body.len();
            let pieces = [body.slice(..at), body.slice(at..)];
            let coded = with_body(&head, &pieces, block());
            match (plain, coded) {
                (Ok(plain), Ok(coded)) if !input.is_empty() => {
                    let plain_name = renamed(&plain_head, &plain_pieces, &plain);
                    assert_eq!(renamed(&head, &pieces, &coded), plain_name);
                    let of_body = plain.facts.body_bytes == 0;
                    assert!(of_body || nameless(coded.facts) == nameless(plain.facts));
                }
                (Err(plain), Err(coded)) => assert_eq!(coded, plain),
                (plain, coded) => assert!(joined(&plain_pieces).is_empty(), "{plain:?} {coded:?}"),
            }
        });
}

/// Two lengths of pieces, then a body.
#[test]
fn gzip_bytes() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| drop(decoded(&cut_by_lengths(input), Coding::Gzip)));
}

/// Two lengths of pieces, then deflated data, which is put into gzip with the checksum that another
/// decoder finds right for it.
#[test]
fn deflate() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let Some((lengths, data)) = input.split_first_chunk::<2>() else {
                return;
            };
            let inflated = inflated(data);
            let (text, used) = inflated.clone().unwrap_or((Vec::new(), data.len()));
            let body = member(data.get(..used).expect("a part of it"), &text);
            let body = [lengths.as_slice(), &body].concat();
            let ours = decoded(&cut_by_lengths(&body), Coding::Gzip).ok();
            if text.len() <= EXPANDED_BYTES_MAX {
                assert!(ours == inflated.map(|(text, _)| text));
            }
        });
}

/// A text in a member of gzip that does not compress it.
fn stored(text: &[u8]) -> Vec<u8> {
    let [low, high] = u16::try_from(text.len())
        .expect("a short text")
        .to_le_bytes();
    member(&[&[1, low, high, !low, !high], text].concat(), text)
}

/// A member of gzip with this deflated data, which is the text.
fn member(data: &[u8], text: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(text);
    let header = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let (sum, amount) = (crc.sum().to_le_bytes(), crc.amount().to_le_bytes());
    [header, data, &sum, &amount].concat()
}

/// What another decoder makes of deflated data, and of how much of it.
///
/// It takes what repeats bytes before the beginning, and we do not. So we give it something before the
/// beginning, twice: where that makes a difference, the data is not valid.
fn inflated(data: &[u8]) -> Option<(Vec<u8>, usize)> {
    let of = |before: u8| {
        let mut before = [&[0, 0, 0x80, 0xff, 0x7f][..], &[before; WINDOW_BYTES]].concat();
        let length = before.len();
        before.extend_from_slice(data);
        let mut text = Vec::new();
        let mut decoder = DeflateDecoder::new(before.as_slice());
        decoder.read_to_end(&mut text).ok()?;
        let used = usize::try_from(decoder.total_in()).ok()?;
        Some((text.split_off(WINDOW_BYTES), used - length))
    };
    let once = of(0)?;
    (of(1)? == once).then_some(once)
}

/// Two lengths of pieces, then a body.
#[test]
fn zstd_bytes() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| drop(decoded(&cut_by_lengths(input), Coding::Zstd)));
}

/// As much comes out of every body.
const EXPANDED_BYTES_MAX: usize = 1024 * 1024;

/// How far a repetition can reach.
const WINDOW_BYTES: usize = 32 * 1024;
