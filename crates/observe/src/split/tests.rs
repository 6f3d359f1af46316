use proptest::prelude::*;

use super::*;

/// The lines of data in a stream, and a bar where an event ends.
fn parts(framing: Framing, pieces: &[impl AsRef<[u8]>]) -> Vec<String> {
    let mut splitter = Splitter::new(framing);
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut open = false;
    for piece in pieces {
        splitter.push(piece.as_ref(), |part| match part {
            Part::Data(range) => {
                assert!(!range.is_empty());
                let data = &piece.as_ref()[range];
                match parts.last_mut().filter(|_| open) {
                    Some(line) => line.extend_from_slice(data),
                    None => parts.push(data.to_vec()),
                }
                open = true;
            }
            Part::LineEnd => {
                if !open {
                    parts.push(Vec::new());
                }
                open = false;
            }
            Part::EventEnd => {
                assert!(!open);
                parts.push(b"|".to_vec());
            }
        });
    }
    let shown = |part: &Vec<u8>| part.escape_ascii().to_string();
    parts.iter().map(shown).collect()
}

fn events(text: &str) -> Vec<String> {
    parts(Framing::Events, &[text])
}

fn bytes_of(text: &[u8]) -> Vec<[u8; 1]> {
    text.iter().map(|byte| [*byte]).collect()
}

#[test]
fn b38_lines_end_with_any_of_three_endings_in_any_mixture() {
    for endings in [
        ["\n"; 4],
        ["\r\n"; 4],
        ["\r"; 4],
        ["\r\n", "\n", "\r", "\r\n"],
    ] {
        let [a, b, c, d] = endings;
        let text = format!("data: x{a}data: y{b}{c}data: z{d}");
        assert_eq!(events(&text), ["x", "y", "|", "z"], "{endings:?}");
        assert_eq!(
            parts(Framing::Events, &bytes_of(text.as_bytes())),
            ["x", "y", "|", "z"],
            "{endings:?}"
        );
    }
}

#[test]
fn a_return_and_a_line_feed_in_two_pieces_are_one_ending() {
    assert_eq!(
        parts(Framing::Events, &["data: x\r", "\ndata: y\r", "\n\r", "\n"]),
        ["x", "y", "|"]
    );
    assert_eq!(
        parts(Framing::Events, &["data: x\n", "\rdata: y\n"]),
        ["x", "|", "y"]
    );
}

#[test]
fn one_blank_after_the_colon_does_not_count() {
    for (line, data) in [
        ("data:x", "x"),
        ("data: x", "x"),
        ("data:  x", " x"),
        ("data:\tx", "\\tx"),
        ("data:", ""),
        ("data: ", ""),
        ("data", ""),
        ("data::x", ":x"),
    ] {
        assert_eq!(events(&format!("{line}\n\n")), [data, "|"], "{line}");
    }
}

#[test]
fn only_lines_of_data_are_data() {
    for line in [
        ": comment",
        ":",
        "event: data: x",
        "id: 1",
        "retry: 5",
        " data: x",
        "Data: x",
        "datax: x",
        "dat: x",
        "da",
        "dat",
        "{\"id\":1}",
        "\u{fefe}data: x",
    ] {
        assert_eq!(
            events(&format!("{line}\ndata: y\n\n")),
            ["y", "|"],
            "{line}"
        );
    }
}

#[test]
fn a_byte_order_mark_counts_at_the_beginning_only() {
    let text = "\u{feff}data: x\n\n\u{feff}data: y\n";
    assert_eq!(events(text), ["x", "|"]);
    assert_eq!(
        parts(Framing::Events, &bytes_of(text.as_bytes())),
        ["x", "|"]
    );
    for broken in [
        &b"\xefdata: x\n"[..],
        b"\xef\xbbdata: x\n",
        b"\xef\xbb\xbb\n",
    ] {
        let pieces = [broken, b"data: y\n"];
        assert_eq!(parts(Framing::Events, &pieces), ["y"], "{broken:?}");
    }
    assert_eq!(events("\ndata: x\n"), ["|", "x"]);
}

#[test]
fn each_line_may_be_an_event() {
    let text = "{\"a\":1}\r\n\n{\"b\":2}\rdata: x\n: y";
    let expected = [
        "{\"a\":1}",
        "|",
        "",
        "|",
        "{\"b\":2}",
        "|",
        "data: x",
        "|",
        ": y",
    ]
    .map(|line| line.replace('"', "\\\""));
    assert_eq!(parts(Framing::Lines, &[text]), expected);
    assert_eq!(parts(Framing::Lines, &bytes_of(text.as_bytes())), expected);
}

#[test]
fn an_event_is_known_to_be_whole_when_its_empty_line_is_there() {
    for (rest, is_whole) in [
        ("\n\n", true),
        ("\r\n\r\n", true),
        ("\r\r", true),
        ("\n\r", true),
        ("\r\n\r", true),
        ("\r\n", false),
        ("\n", false),
        ("\r", false),
        ("\ndata: x\n\n", false),
        ("", false),
    ] {
        assert_eq!(
            ends_event(Framing::Events, rest.as_bytes()),
            is_whole,
            "{rest:?}"
        );
    }
    assert!(ends_event(Framing::Lines, b"\nx"));
    assert!(!ends_event(Framing::Lines, b""));
}

fn fragment() -> impl Strategy<Value = &'static [u8]> {
    prop_oneof![
        Just(&b"data: "[..]),
        Just(&b"data:"[..]),
        Just(&b"dat"[..]),
        Just(&b"\n"[..]),
        Just(&b"\r\n"[..]),
        Just(&b"\r"[..]),
        Just(&b"{}"[..]),
        Just(&b" "[..]),
        Just(&b": x"[..]),
        Just("\u{feff}".as_bytes()),
        Just(&b"\xef"[..]),
        Just(&b"\xbb"[..]),
    ]
}

proptest! {
    #[test]
    fn where_a_stream_is_cut_changes_nothing(
        fragments in proptest::collection::vec(fragment(), 0..24),
    ) {
        let text = fragments.concat();
        for framing in [Framing::Events, Framing::Lines] {
            let whole = parts(framing, &[&text]);
            prop_assert_eq!(&parts(framing, &bytes_of(&text)), &whole);
            prop_assert_eq!(&parts(framing, &fragments), &whole);
        }
    }
}
