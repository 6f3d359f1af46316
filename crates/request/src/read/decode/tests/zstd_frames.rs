//! Frames that the reference encoder made, which uses more of the format than the one of tests.

use super::*;

/// Of [`TEXT`], with a checksum.
const CHECKED: &[u8] = b"\x28\xb5\x2f\xfd\x24\x30\x2d\x01\x00\xf8\x7b\x22\x6d\x6f\x64\x65\x6c\x22\
    \x3a\x22\x6d\x22\x2c\x22\x70\x72\x6f\x6d\x70\x74\x22\x3a\x22\x68\x65\x6c\x6c\x6f\x20\x22\x7d\x01\
    \x00\x65\x2e\x4e\xc8\x6a\x95\x6a";

/// Of 300 words, with Huffman codes and tables of their own.
const WORDS: &[u8] =
    b"\x28\xb5\x2f\xfd\x64\x58\x08\x4d\x07\x00\x66\x90\x27\x15\xa0\x29\x1d\x19\xad\
    \xfc\x97\x37\x00\xcc\xdb\x94\x76\x4a\x52\xca\x6a\x91\xfe\x57\x22\x29\x00\x1e\x00\x1d\x00\xf5\
    \xaf\x1c\x1a\x29\x54\xa6\x5c\x2b\x9f\x64\x67\x6f\xe9\x90\x5d\x07\x90\x41\xe2\xb0\x38\x04\x87\
    \x02\x61\x38\x24\x10\x47\xe0\x30\x1c\x82\xa3\x40\x18\x1c\x0c\x07\x23\x55\xce\x62\x37\xb7\x70\
    \xc6\x3e\xfd\x25\x8d\x94\x95\x29\xcf\xca\x27\xb2\x66\x2f\x3b\xe4\x92\x2a\x2f\x45\x6f\x3d\x3d\
    \x01\xf4\x93\xb3\x77\x1d\xf2\x90\x2a\xa7\x62\x6d\x2e\x39\xe3\x9e\xfa\x42\x34\x59\x5f\x5e\xf9\
    \x23\x67\xf6\x52\x87\x5c\x24\x8d\x03\x40\x56\xca\x9a\xb9\x26\xbe\x0c\x7d\xd2\x93\x49\x95\xaf\
    \x38\x9b\x4b\x9c\x71\x9d\x7a\x12\x4b\x56\x5a\x6a\x66\x3b\x61\xa8\x31\x04\x84\xbe\xff\x1b\x90\
    \x1b\x0a\xad\x01\x12\x40\x50\xc4\xaf\xff\xff\xff\x1b\x3e\x06\xec\xa3\xb9\x36\x3c\x3d\x18\xfe\
    \x72\x6c\xc7\x44\x0f\x51\xda\x18\x59\x7a\xdd\x59\xa3\x47\x3e\x60\x4f\x79\x54\xc6\x68\xd3\x76\
    \x61\xde\x5b\x12\x49\x88\xda\xe2\x93\x7a\x60\x8c\x60\x97\x02\x20\x55\x3e\x6f\x7a\xec";

fn words() -> Vec<u8> {
    let mut text = br#"{"model":"m","prompt":""#.to_vec();
    let words: Vec<String> = (0..300)
        .map(|word| format!("word{}", word % 97 * 7919 % 997))
        .collect();
    text.extend(words.join(" ").bytes());
    text.extend(br#""}"#);
    text
}

#[test]
fn frames_of_the_reference_encoder_are_read() {
    assert_eq!(whole(CHECKED, Coding::Zstd).as_deref(), Ok(TEXT));
    assert_eq!(whole(WORDS, Coding::Zstd), Ok(words()));
    let skipped = b"\x50\x2a\x4d\x18\x03\0\0\0abc";
    let both = [skipped, CHECKED, skipped, WORDS].concat();
    let expected = [TEXT, &words()].concat();
    assert_eq!(whole(&both, Coding::Zstd), Ok(expected));
}

#[test]
fn a_wrong_checksum_does_not_decode() {
    for (frame, text) in [(CHECKED, TEXT.to_vec()), (WORDS, words())] {
        assert_eq!(whole(frame, Coding::Zstd), Ok(text));
        for from_end in 1..=4 {
            let mut frame = frame.to_vec();
            let at = frame.len() - from_end;
            frame[at] ^= 0x10;
            assert_eq!(whole(&frame, Coding::Zstd), Err(Undecodable));
        }
    }
}

#[test]
fn a_frame_that_asks_for_a_dictionary_does_not_decode() {
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 1, 0, 7, 1, 0, 0];
    assert_eq!(whole(&frame, Coding::Zstd), Err(Undecodable));
}

proptest! {
    #[test]
    fn a_frame_with_wrong_bytes_never_panics(
        wrong in proptest::collection::vec((any::<usize>(), any::<u8>()), 1..5),
    ) {
        for frame in [CHECKED, WORDS] {
            let mut frame = frame.to_vec();
            for &(at, byte) in &wrong {
                let at = at % frame.len();
                frame[at] = byte;
            }
            drop(whole(&frame, Coding::Zstd));
        }
    }
}
