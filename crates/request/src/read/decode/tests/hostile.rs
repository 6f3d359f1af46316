//! Bodies that were made to cost much.

use super::*;

/// Writes bits, the lowest of each byte first.
struct Writer {
    bytes: Vec<u8>,
    bits: u64,
    count: u32,
}

impl Writer {
    /// At the beginning of a member's data.
    fn new() -> Self {
        Self {
            bytes: gzip(b"", 0)[..10].to_vec(),
            bits: 0,
            count: 0,
        }
    }

    /// Codes come with their first bit first.
    fn put_codes(&mut self, codes: &str) {
        for bit in codes.bytes().filter(u8::is_ascii_digit) {
            self.put(u64::from(bit - b'0'), 1);
        }
    }

    /// The beginning of a last block that brings its codes along: how many symbols and distances have
    /// one, and of the code for their lengths the lengths.
    fn put_codes_for_lengths(&mut self, symbols: u64, distances: u64, lengths: &[(usize, u64)]) {
        self.put(0b101, 3);
        self.put(symbols - 257, 5);
        self.put(distances - 1, 5);
        self.put(15, 4);
        for place in LENGTH_ORDER {
            let length = lengths.iter().find(|(symbol, _)| *symbol == place);
            self.put(length.map_or(0, |(_, length)| *length), 3);
        }
    }

    /// The member, which decodes to this text.
    fn member_of(mut self, text: &[u8]) -> Vec<u8> {
        self.put(0, (8 - self.count) % 8);
        let mut hash = crc32fast::Hasher::new();
        hash.update(text);
        self.put(hash.finalize().into(), 32);
        self.put(text.len() as u64, 32);
        self.bytes
    }

    fn put(&mut self, bits: u64, count: u32) {
        self.bits |= bits << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.bits.to_le_bytes()[0]);
            self.bits >>= 8;
            self.count -= 8;
        }
    }
}

/// The order in which lengths of the code for lengths come.
const LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// How many bytes came to the sink before `body` failed, as it must.
fn bytes_before_failure(body: &[u8], coding: Coding) -> u64 {
    let mut bytes = 0;
    let result = each(&[Bytes::copy_from_slice(body)], coding, &mut |chunk| {
        bytes += chunk.len() as u64;
    });
    assert_eq!(result, Err(Undecodable));
    bytes
}

#[test]
fn a_bomb_stops_long_before_it_is_out() {
    let zeros = vec![0; 64 * 1024 * 1024];
    for (bomb, coding) in [
        (gzip(&zeros, 9), Coding::Gzip),
        (zstd(&zeros), Coding::Zstd),
    ] {
        let coded = bomb.len() as u64;
        assert!(coded * 800 < zeros.len() as u64, "a bomb: {coded}");
        let limit = (coded * DECODED_RATIO_MAX).max(UNSUSPICIOUS_BYTES);
        let bytes = bytes_before_failure(&bomb, coding);
        assert!(bytes <= limit && bytes < DECODED_BYTES_MAX, "{bytes}");
    }
}

#[test]
fn a_bomb_within_a_bomb_is_but_the_outer_one() {
    let inner = gzip(&vec![0; 16 * 1024 * 1024], 9);
    let outer = gzip(&inner, 9);
    assert_eq!(whole(&outer, Coding::Gzip), Ok(inner));
}

#[test]
fn a_body_may_have_as_many_bytes_as_a_plain_one_and_no_more() {
    let mut text = prose(6_000_000);
    let longest = usize::try_from(DECODED_BYTES_MAX).unwrap();
    text.truncate(longest + 1);
    assert_eq!(text.len(), longest + 1);
    for (encode, coding) in [
        ((|text| gzip(text, 1)) as fn(&[u8]) -> Vec<u8>, Coding::Gzip),
        (zstd, Coding::Zstd),
    ] {
        let mut bytes = 0;
        let body = Bytes::from(encode(&text[..longest]));
        each(&[body], coding, &mut |chunk| bytes += chunk.len()).unwrap();
        assert_eq!(bytes, longest);
        let bytes = bytes_before_failure(&encode(&text), coding);
        assert!(bytes <= DECODED_BYTES_MAX);
    }
}

#[test]
fn a_short_body_may_repeat_itself_a_lot() {
    let text = vec![b'a'; usize::try_from(UNSUSPICIOUS_BYTES).unwrap()];
    assert_eq!(whole(&gzip(&text, 9), Coding::Gzip), Ok(text.clone()));
    assert_eq!(whole(&zstd(&text), Coding::Zstd), Ok(text));
}

#[test]
fn blocks_that_hold_nothing_are_bounded_in_number() {
    // Ten bits each: a block of the fixed codes with nothing but its end.
    let empty = |blocks: u32| {
        let mut body = Writer::new();
        for block in 1..=blocks {
            body.put(u64::from(block == blocks), 1);
            body.put(1, 2);
            body.put(0, 7);
        }
        body.put(0, (8 - body.count) % 8);
        body.put(0, 32);
        body.put(0, 32);
        body.bytes
    };
    assert_eq!(whole(&empty(BLOCKS_MAX - 1), Coding::Gzip), Ok(Vec::new()));
    assert_eq!(whole(&empty(BLOCKS_MAX), Coding::Gzip), Err(Undecodable));

    // Three bytes each, within one frame of a window of 1 KiB.
    let empty = |blocks: u32| {
        let mut body = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 0];
        for block in 1..=blocks {
            body.extend([u8::from(block == blocks), 0, 0]);
        }
        body
    };
    assert_eq!(whole(&empty(BLOCKS_MAX - 1), Coding::Zstd), Ok(Vec::new()));
    assert_eq!(whole(&empty(BLOCKS_MAX), Coding::Zstd), Err(Undecodable));
}

#[test]
fn members_and_frames_that_hold_nothing_are_bounded_in_number() {
    let most = BLOCKS_MAX as usize;
    let member = gzip(b"", 6);
    assert_eq!(
        whole(&member.repeat(most / 2), Coding::Gzip),
        Ok(Vec::new())
    );
    let more = member.repeat(most / 2 + 1);
    assert_eq!(whole(&more, Coding::Gzip), Err(Undecodable));
    // A frame to be skipped, of no bytes.
    let frame = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0];
    assert_eq!(whole(&frame.repeat(most), Coding::Zstd), Ok(Vec::new()));
    let more = frame.repeat(most + 1);
    assert_eq!(whole(&more, Coding::Zstd), Err(Undecodable));
}

#[test]
fn a_repetition_of_what_never_came_does_not_decode() {
    for distance_symbol in 0..30 {
        let mut body = Writer::new();
        body.put(1, 1);
        body.put(1, 2);
        body.put(0b0000_1100, 8);
        // Length 3, then a distance of which the codes come with their first bit first.
        body.put(0b100_0000, 7);
        let code: u64 = distance_symbol;
        body.put(code.reverse_bits() >> 59, 5);
        body.put(0, 20);
        body.put(0, 64 - 20);
        body.put(0, 8);
        // One byte has come, so that only the nearest is there; the checksum is wrong in any case.
        assert_eq!(whole(&body.bytes, Coding::Gzip), Err(Undecodable));
    }
}

/// The lengths 0, 1, 2 and many zeros with the codes 00, 01, 10 and 11.
const FOUR_LENGTHS: [(usize, u64); 4] = [(0, 2), (1, 2), (2, 2), (18, 2)];

/// Writes the lengths of symbols up to 256 of which the first and, by `end`, the last have a code.
fn put_lengths(body: &mut Writer, first: &str, end: &str) {
    body.put_codes(first);
    for zeros in [138, 255 - 138] {
        body.put_codes("11");
        body.put(zeros - 11, 7);
    }
    body.put_codes(end);
}

#[test]
fn a_code_for_lengths_that_leaves_bits_without_a_symbol_does_not_decode() {
    for (lengths, is_valid) in [
        (&FOUR_LENGTHS[..], true),
        (&FOUR_LENGTHS[..3], false),
        (&[(1, 1)], false),
    ] {
        let mut body = Writer::new();
        body.put_codes_for_lengths(257, 1, lengths);
        // One bit for the symbol 0 and one for the end; no distance has any.
        put_lengths(&mut body, "01", "01");
        body.put_codes("00");
        body.put_codes("0 1");
        let expected = if is_valid {
            Ok(vec![0])
        } else {
            Err(Undecodable)
        };
        assert_eq!(whole(&body.member_of(&[0]), Coding::Gzip), expected);
    }
}

#[test]
fn a_block_that_cannot_end_does_not_decode() {
    let mut body = Writer::new();
    body.put_codes_for_lengths(257, 1, &FOUR_LENGTHS);
    // One bit for each of the symbols 0 and 1, and none for the end.
    put_lengths(&mut body, "01 01", "");
    body.put_codes("00");
    body.put_codes("0 1");
    assert_eq!(
        whole(&body.member_of(&[0, 1]), Coding::Gzip),
        Err(Undecodable)
    );
}

#[test]
fn a_distance_without_a_code_does_not_decode() {
    // The only distance has the code 0.
    for (distance, is_valid) in [("0", true), ("1", false)] {
        let mut body = Writer::new();
        body.put_codes_for_lengths(258, 1, &FOUR_LENGTHS);
        // One bit for the symbol 0, two for the end and two for the shortest repetition.
        put_lengths(&mut body, "01", "10");
        body.put_codes("10");
        body.put_codes("01");
        // A zero, three times the one before, and the end.
        body.put_codes("0 11");
        body.put_codes(distance);
        body.put_codes("10");
        let expected = if is_valid {
            Ok(vec![0; 4])
        } else {
            Err(Undecodable)
        };
        assert_eq!(whole(&body.member_of(&[0; 4]), Coding::Gzip), expected);
    }
}

#[test]
fn a_header_that_never_ends_costs_one_pass() {
    let mut body = gzip(b"", 0)[..10].to_vec();
    body[3] = 0b0000_1000;
    body.extend(vec![b'n'; 4 * 1024 * 1024]);
    assert_eq!(whole(&body, Coding::Gzip), Err(Undecodable));
}

#[test]
fn a_frame_to_be_skipped_that_is_longer_than_the_body_does_not_decode() {
    let frame = [0x5f, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff, 1, 2, 3];
    assert_eq!(whole(&frame, Coding::Zstd), Err(Undecodable));
}

#[test]
fn a_window_over_the_limit_is_not_allocated() {
    // Exponent 11 is a window of 2 MiB, 13 one of 8 MiB, and 14 one of 16 MiB.
    let frame = |exponent: u8| [0x28, 0xb5, 0x2f, 0xfd, 0, exponent << 3, 1, 0, 0];
    assert_eq!(whole(&frame(11), Coding::Zstd), Ok(Vec::new()));
    for exponent in 12..32 {
        assert_eq!(whole(&frame(exponent), Coding::Zstd), Err(Undecodable));
    }
    // Behind a frame to be skipped that makes the body long enough for a larger one.
    let mut skipped = vec![0x50, 0x2a, 0x4d, 0x18, 0, 0, 2, 0];
    skipped.extend([0; 0x2_0000]);
    let long = |exponent| whole(&[&skipped[..], &frame(exponent)].concat(), Coding::Zstd);
    assert_eq!(long(13), Ok(Vec::new()));
    for exponent in 14..32 {
        assert_eq!(long(exponent), Err(Undecodable));
    }
}

#[test]
fn a_frame_that_announces_too_many_bytes_is_refused_before_any_comes_out() {
    // Blocks of 128 KiB that repeat one byte, in a single segment.
    let frame = |blocks: u32| {
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0b1010_0000];
        frame.extend((blocks << 17).to_le_bytes());
        for block in 1..=blocks {
            let header = (1 << 20) | 0b10 | u32::from(block == blocks);
            frame.extend(&header.to_le_bytes()[..3]);
            frame.push(b'a');
        }
        frame
    };
    let most = usize::try_from(UNSUSPICIOUS_BYTES).unwrap();
    assert_eq!(whole(&frame(8), Coding::Zstd), Ok(vec![b'a'; most]));
    for blocks in [9, 16, 64, 500] {
        assert_eq!(bytes_before_failure(&frame(blocks), Coding::Zstd), 0);
    }
}

#[test]
fn a_block_that_unfolds_to_gigabytes_is_refused() {
    // One byte as often as there are sequences, each of which takes it once and repeats it 65,539 times.
    let frame = |sequences: u16| {
        let literals = 0b1101 | u32::from(sequences) << 4;
        let mut block = literals.to_le_bytes()[..3].to_vec();
        block.push(b'a');
        match sequences.checked_sub(0x7f00) {
            None => block.push(u8::try_from(sequences).unwrap()),
            Some(more) => block.extend([&[255], &more.to_le_bytes()[..]].concat()),
        }
        // All three codes are a single symbol: one literal, the last offset, the longest match.
        block.extend([0b0101_0100, 1, 0, 52]);
        // Sixteen bits of match length each, and the mark that ends the bits.
        block.extend(vec![0; usize::from(sequences) * 2]);
        block.push(1);
        let header = (u32::try_from(block.len()).unwrap() << 3) | 0b101;
        let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, 11 << 3];
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(block);
        frame
    };
    assert_eq!(whole(&frame(1), Coding::Zstd), Ok(vec![b'a'; 65540]));
    for sequences in [2, 127, 0x7f00] {
        assert_eq!(bytes_before_failure(&frame(sequences), Coding::Zstd), 0);
    }
}
