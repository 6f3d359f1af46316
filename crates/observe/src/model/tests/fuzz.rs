//! Fuzz targets. As plain tests they replay the inputs beside this file, and a few random ones;
//! `make fuzz` looks for new ones.

use serde_json::Value;

use super::reference::replaced;
use super::*;

/// What comes out, which is the same however the body is cut: where the input has the byte [`CUT`],
/// or else everywhere.
fn out_of(kind: ContentKind, input: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = input.split(|byte| *byte == CUT).collect();
    let body = pieces.concat();
    let out = given_on(restorer(kind), &[&body]).concat();
    let cut = if pieces.len() > 1 {
        given_on(restorer(kind), &pieces)
    } else {
        given_on(restorer(kind), &body.chunks(1).collect::<Vec<_>>())
    };
    assert_eq!(cut.concat(), out);
    out
}

/// An input is a JSON text, which comes as a body, as an event and as a line.
#[test]
fn text() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            let is_line = !input.contains(&b'\n') && !input.contains(&b'\r');
            let event = [b"data: ", input, b"\n\n"].concat();
            let body_out = out_of(ContentKind::Json, input);
            let event_out = out_of(ContentKind::EventStream, &event);
            let line_out = out_of(ContentKind::NdJson, &[input, b"\n"].concat());

            let text: Vec<u8> = input.iter().copied().filter(|byte| *byte != CUT).collect();
            let Ok(text) = String::from_utf8(text) else {
                return;
            };
            if serde_json::from_str::<Value>(&text).is_err() {
                return;
            }
            assert_eq!(body_out, replaced(&text, Scent::Body).as_bytes());
            if is_line {
                let replaced = replaced(&text, Scent::Event);
                assert_eq!(event_out, format!("data: {replaced}\n\n").as_bytes());
                assert_eq!(line_out, format!("{replaced}\n").as_bytes());
            }
        });
}

/// An input is a body of events, and of lines.
#[test]
fn stream() {
    bolero::check!()
        .with_iterations(RANDOM_INPUTS)
        .for_each(|input: &[u8]| {
            for kind in [ContentKind::EventStream, ContentKind::NdJson] {
                let out = out_of(kind, input);
                let had_name = input.windows(2).any(|it| it == b"\\u" || it == b"07");
                let body = input.iter().filter(|byte| **byte != CUT);
                assert!(had_name || input.contains(&CUT) || body.eq(&out));
            }
        });
}

/// Never part of UTF-8, so that little is lost when no text has it.
const CUT: u8 = 0xfe;

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 50;
