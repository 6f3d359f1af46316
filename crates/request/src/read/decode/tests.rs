use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

mod hostile;
mod zstd_frames;

const TEXT: &[u8] = br#"{"model":"m","prompt":"hello hello hello hello"}"#;

fn decoded(body: &[Bytes], coding: Coding) -> Result<Vec<u8>, Undecodable> {
    let mut text = Vec::new();
    each(body, coding, &mut |chunk| {
        assert!((1..=CHUNK_BYTES).contains(&chunk.len()));
        text.extend_from_slice(chunk);
    })?;
    Ok(text)
}

fn whole(body: &[u8], coding: Coding) -> Result<Vec<u8>, Undecodable> {
    decoded(&[Bytes::copy_from_slice(body)], coding)
}

fn gzip(text: &[u8], level: u32) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    compress_to_vec(text, CompressionLevel::Fastest)
}

/// A text that compresses as prompts do.
fn prose(words: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut text = Vec::new();
    for _ in 0..words {
        state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
        write!(text, "word{} ", (state >> 16) % 5000).unwrap();
    }
    text
}

#[test]
fn what_an_encoder_makes_comes_back() {
    for text in [TEXT, b"", b"x", &prose(100_000), &[0; 3000]] {
        for level in [0, 1, 6, 9] {
            assert_eq!(whole(&gzip(text, level), Coding::Gzip).as_deref(), Ok(text));
        }
        assert_eq!(whole(&zstd(text), Coding::Zstd).as_deref(), Ok(text));
    }
}

#[test]
fn several_members_and_frames_are_one_body() {
    let text = [TEXT, b"", b"more"];
    let expected = text.concat();
    let members = text.map(|text| gzip(text, 6)).concat();
    assert_eq!(whole(&members, Coding::Gzip), Ok(expected.clone()));
    let frames = text.map(zstd).concat();
    assert_eq!(whole(&frames, Coding::Zstd), Ok(expected));
}

#[test]
fn a_member_with_every_optional_field_is_read() {
    let plain = gzip(TEXT, 6);
    let (header, data) = plain.split_at(10);
    let mut full = header.to_vec();
    full[3] = 0b0001_1110;
    full.extend([2, 0, 0xff, 0xff]);
    full.extend(b"name\0comment\0");
    full.extend([0, 0]);
    full.extend(data);
    assert_eq!(whole(&full, Coding::Gzip).as_deref(), Ok(TEXT));
    for end in 0..full.len() {
        assert_eq!(whole(&full[..end], Coding::Gzip), Err(Undecodable), "{end}");
    }
    full[3] |= 0b0010_0000;
    assert_eq!(whole(&full, Coding::Gzip), Err(Undecodable));
}

#[test]
fn a_body_that_is_cut_anywhere_does_not_decode() {
    let text = prose(300);
    for (body, coding) in [(gzip(&text, 6), Coding::Gzip), (zstd(&text), Coding::Zstd)] {
        for end in 0..body.len() {
            assert_eq!(whole(&body[..end], coding), Err(Undecodable), "{end}");
        }
    }
}

#[test]
fn what_follows_the_last_member_or_frame_must_be_one() {
    for (mut body, coding) in [(gzip(TEXT, 6), Coding::Gzip), (zstd(TEXT), Coding::Zstd)] {
        for byte in [0, 0x1f, b'x'] {
            body.push(byte);
            assert_eq!(whole(&body, coding), Err(Undecodable));
        }
    }
}

#[test]
fn a_wrong_checksum_or_length_does_not_decode() {
    let body = gzip(TEXT, 6);
    for from_end in 1..=8 {
        let mut body = body.clone();
        let at = body.len() - from_end;
        body[at] ^= 1;
        assert_eq!(whole(&body, Coding::Gzip), Err(Undecodable), "{from_end}");
    }
}

#[test]
fn a_body_of_the_other_coding_or_of_none_does_not_decode() {
    for (body, coding) in [
        (zstd(TEXT), Coding::Gzip),
        (gzip(TEXT, 6), Coding::Zstd),
        (TEXT.to_vec(), Coding::Gzip),
        (TEXT.to_vec(), Coding::Zstd),
        (Vec::new(), Coding::Gzip),
        (Vec::new(), Coding::Zstd),
    ] {
        assert_eq!(whole(&body, coding), Err(Undecodable));
    }
}

/// The body, cut where `cuts` say.
fn cut(body: &[u8], cuts: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.extend([0, body.len()]);
    cuts.sort_unstable();
    cuts.windows(2)
        .map(|pair| Bytes::copy_from_slice(&body[pair[0]..pair[1]]))
        .collect()
}

proptest! {
    #[test]
    fn how_a_body_is_cut_into_pieces_changes_nothing(
        words in 0..2000_usize,
        level in 0..10_u32,
        cuts in proptest::collection::vec(any::<usize>(), 0..20),
    ) {
        let text = prose(words);
        for (body, coding) in [(gzip(&text, level), Coding::Gzip), (zstd(&text), Coding::Zstd)] {
            prop_assert_eq!(decoded(&cut(&body, &cuts), coding), Ok(text.clone()));
            let bytes: Vec<Bytes> = body.chunks(1).map(Bytes::copy_from_slice).collect();
            prop_assert_eq!(decoded(&bytes, coding), Ok(text.clone()));
        }
    }

    #[test]
    fn any_bytes_come_back(
        text in proptest::collection::vec(any::<u8>(), 0..3000),
        repeats in 1..200_usize,
        level in 0..10_u32,
    ) {
        let text = text.repeat(repeats);
        prop_assert_eq!(whole(&gzip(&text, level), Coding::Gzip), Ok(text.clone()));
        prop_assert_eq!(whole(&zstd(&text), Coding::Zstd), Ok(text));
    }

    #[test]
    fn no_bytes_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
        for coding in [Coding::Gzip, Coding::Zstd] {
            drop(whole(&body, coding));
        }
        let headed = [&gzip(b"", 0)[..10], &body].concat();
        drop(whole(&headed, Coding::Gzip));
    }

    /// What a single wrong bit turns a body into is no body, or by chance the same.
    #[test]
    fn a_body_with_a_wrong_bit_decodes_as_the_reference_does(
        words in 0..200_usize,
        level in 0..10_u32,
        at in any::<usize>(),
        bit in 0..8,
    ) {
        let mut body = gzip(&prose(words), level);
        let at = at % body.len();
        body[at] ^= 1_u8 << bit;
        let mut reference = Vec::new();
        let mut decoder = flate2::read::MultiGzDecoder::new(&*body);
        let expected = std::io::Read::read_to_end(&mut decoder, &mut reference)
            .map(|_| reference)
            .map_err(|_| Undecodable);
        prop_assert_eq!(whole(&body, Coding::Gzip), expected);
    }
}
