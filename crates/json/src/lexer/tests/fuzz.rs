//! Fuzz targets. As plain tests they replay the inputs beside this file, and a few random ones;
//! `make fuzz` looks for new ones.

use serde::de::IgnoredAny;
use serde_json::Value;

use super::super::DEPTH_MAX;
use super::recorder::{read, read_whole};
use super::serde::{MARK, rebuilt};

/// An input is a text, cut where it has the byte [`CUT`], or else everywhere.
#[test]
fn cuts_change_nothing_and_serde_json_agrees() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let pieces = || input.split(|byte| *byte == CUT);
            let text: Vec<u8> = pieces().flatten().copied().collect();
            let whole = read_whole(&text);
            if pieces().count() > 1 {
                assert_eq!(read(pieces()), whole);
            } else {
                assert_eq!(read(text.chunks(1)), whole);
            }
            // A text so short cannot be too deep for us.
            if text.len() <= DEPTH_MAX && !text.starts_with(MARK) {
                let theirs = serde_json::from_slice::<IgnoredAny>(&text);
                assert_eq!(whole.1.is_ok(), theirs.is_ok());
            }
            if let Ok(value) = serde_json::from_slice::<Value>(&text) {
                assert_eq!(whole.1, Ok(()));
                assert_eq!(rebuilt(&whole.0, &text), value);
            }
        });
}

/// Never part of UTF-8, so that little is lost when no text has it.
const CUT: u8 = 0xfe;

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 200;
