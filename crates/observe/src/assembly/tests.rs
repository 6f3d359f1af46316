use proptest::prelude::*;

use super::*;

/// The data of the events of a stream; of one that was read as it came, what that found.
fn events(pieces: &[impl AsRef<[u8]>]) -> Vec<String> {
    let mut assembly = Assembly::new(Framing::Events);
    let mut events = Vec::new();
    let mut seen = |data: Data<'_>| {
        events.push(match data {
            Data::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Data::Read(reading) => format!("{:?}", reading.finish().map(|facts| facts.choices)),
        });
    };
    for piece in pieces {
        assembly.push(piece.as_ref(), &mut seen);
        assert!(assembly.carried_bytes() <= CARRY_BYTES_MAX);
    }
    assembly.finish(&mut seen);
    events
}

fn bytes_of(text: &str) -> Vec<[u8; 1]> {
    text.bytes().map(|byte| [byte]).collect()
}

#[test]
fn lines_of_one_event_are_joined_by_a_line_feed() {
    for text in [
        "data: a\ndata: b\n\ndata: c\n\n",
        "data: a\r\nevent: x\r\ndata: b\r\n\r\n: y\r\ndata: c",
        "data: a\rdata:b\r\rid: 1\rdata: c\r",
    ] {
        assert_eq!(events(&[text]), ["a\nb", "c"], "{text}");
        assert_eq!(events(&bytes_of(text)), ["a\nb", "c"], "{text}");
        for at in 0..=text.len() {
            let (start, end) = text.split_at(at);
            assert_eq!(events(&[start, end]), ["a\nb", "c"], "{text} {at}");
        }
    }
}

#[test]
fn an_event_without_data_is_none() {
    assert_eq!(
        events(&["\n\n: ping\n\nevent: x\n\ndata:\n\ndata\n\n"]),
        [""; 0]
    );
    assert_eq!(events(&["data:\ndata: a\n\n"]), ["a"]);
}

#[test]
fn an_event_that_lies_in_one_piece_is_not_copied() {
    let piece = b"data: one\n\ndata: two\n\ndata: thr";
    let mut assembly = Assembly::new(Framing::Events);
    let mut seen = Vec::new();
    assembly.push(piece, |data| match data {
        Data::Text(text) => seen.push(text.as_ptr_range()),
        Data::Read(_) => unreachable!("they are short"),
    });
    assert_eq!(
        seen,
        [piece[6..9].as_ptr_range(), piece[17..20].as_ptr_range()]
    );
    assert_eq!(assembly.carried_bytes(), 3);
}

#[test]
fn an_event_that_is_too_long_to_be_kept_is_read_as_it_comes() {
    let event = |bytes: usize| {
        let around = r#"{"a":"","choices":[{},{}]}"#.len();
        let padding = "x".repeat(bytes - around);
        format!(r#"{{"a":"{padding}","choices":[{{}},{{}}]}}"#)
    };
    let kept = event(CARRY_BYTES_MAX);
    let long = event(CARRY_BYTES_MAX + 1);
    let lines = long.replace(",\"", ",\ndata: \"");
    for (data, expected) in [
        (&kept, kept.as_str()),
        (&long, "Ok(Some(2))"),
        (&lines, "Ok(Some(2))"),
    ] {
        let text = format!("data: {data}\n\ndata: next\n\n");
        assert_eq!(events(&bytes_of(&text)), [expected, "next"]);
        let (start, end) = text.split_at(text.len() / 2);
        assert_eq!(events(&[start, end]), [expected, "next"]);
    }
    let whole = format!("data: {long}\n\n");
    assert_eq!(events(&[whole]), [long]);
}

#[test]
fn a_long_event_that_is_no_json_does_not_harm_the_next() {
    let text = format!("data: {}\n\ndata: next\n\n", "x".repeat(1 << 20));
    for size in [1000, 4096, 70_000] {
        let pieces: Vec<_> = text.as_bytes().chunks(size).collect();
        assert_eq!(events(&pieces), ["Err(Broken)", "next"], "{size}");
    }
}

fn fragment() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("data: a"),
        Just("data:"),
        Just("\ndata: b"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\n\n"),
        Just("x"),
        Just(": x"),
    ]
}

/// The data of the events as the standard defines them; it would drop the last without its ending.
fn reference(text: &str) -> Vec<String> {
    let mut events = Vec::new();
    let mut data = String::new();
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.split('\n').chain([""]) {
        if line.is_empty() {
            events.push(core::mem::take(&mut data));
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push_str(value.strip_prefix(' ').unwrap_or(value));
            data.push('\n');
        }
    }
    events
}

proptest! {
    #[test]
    fn events_are_those_of_the_standard_wherever_they_are_cut(
        fragments in proptest::collection::vec(fragment(), 0..24),
    ) {
        let text = fragments.concat();
        // Lines of data that are empty are left out: to JSON they are white space.
        let unified = |events: Vec<String>| -> Vec<String> {
            let lines = |event: &String| {
                let lines: Vec<_> = event.split('\n').filter(|line| !line.is_empty()).collect();
                lines.join("\n")
            };
            events.iter().map(lines).filter(|event| !event.is_empty()).collect()
        };
        let expected = unified(reference(&text));
        prop_assert_eq!(unified(events(&[&text])), expected.clone());
        prop_assert_eq!(unified(events(&bytes_of(&text))), expected.clone());
        prop_assert_eq!(unified(events(&fragments)), expected);
    }
}
