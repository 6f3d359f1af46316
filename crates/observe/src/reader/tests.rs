use pointsman_domain::units::Tokens;
use proptest::prelude::*;

use super::*;

const EVENT: &str = r#"data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":10}}"#;

fn usage(prompt: u64, output: u64) -> Option<Usage> {
    Some(Usage {
        prompt: Tokens(prompt),
        output: Tokens(output),
        cached: None,
    })
}

fn read(kind: ContentKind, pieces: &[impl AsRef<[u8]>]) -> Option<Usage> {
    let mut reader = Reader::new(kind);
    for piece in pieces {
        reader.chunk(piece.as_ref());
    }
    reader.finish();
    reader.usage()
}

fn events(pieces: &[impl AsRef<[u8]>]) -> Option<Usage> {
    read(ContentKind::EventStream, pieces)
}

fn bytes_of(body: &[u8]) -> Vec<[u8; 1]> {
    body.iter().map(|byte| [*byte]).collect()
}

#[test]
fn the_kind_is_told_by_the_media_type_alone() {
    for (value, kind) in [
        ("text/event-stream", ContentKind::EventStream),
        (
            "Text/Event-Stream ; charset=utf-8",
            ContentKind::EventStream,
        ),
        ("application/json; charset=utf-8", ContentKind::Json),
        ("application/jsonl", ContentKind::Other),
        ("text/plain", ContentKind::Other),
        ("", ContentKind::Other),
    ] {
        assert_eq!(ContentKind::of(value.as_bytes()), kind, "{value}");
    }
    assert_eq!(ContentKind::of(b"\xff"), ContentKind::Other);
}

#[test]
fn b33_usage_and_the_done_mark_may_come_in_different_pieces() {
    assert_eq!(
        events(&[&format!("{EVENT}\n\n"), "data: [DONE]\n\n"]),
        usage(7, 10)
    );
}

#[test]
fn b34_the_done_mark_may_be_split() {
    assert_eq!(
        events(&[&format!("{EVENT}\n\ndata: [DO"), "NE]\n\n"]),
        usage(7, 10)
    );
    assert_eq!(events(&["data: [DO", "NE]\n\n"]), None);
}

#[test]
fn b35_usage_of_the_last_event_counts_and_null_before_it_does_not() {
    let body = "event: response.created\ndata: {\"response\":{\"usage\":null}}\n\n\
        data: {\"usage\":null}\n\nevent: response.completed\n\
        data: {\"response\":{\"usage\":{\"input_tokens\":20,\"output_tokens\":5}}}\n\n\
        data: {\"usage\":\"n/a\"}\n\n";
    assert_eq!(events(&[body]), usage(20, 5));
}

#[test]
fn usage_that_is_reported_all_along_ends_with_the_last() {
    let later = EVENT.replace("10", "11");
    assert_eq!(events(&[format!("{EVENT}\n\n{later}\n\n")]), usage(7, 11));
}

#[test]
fn b38_all_three_line_endings_are_read_wherever_they_are_cut() {
    for ending in ["\n", "\r\n", "\r"] {
        let body = format!("event: x{ending}{EVENT}{ending}{ending}data: [DONE]{ending}{ending}");
        assert_eq!(events(&[&body]), usage(7, 10), "{ending:?}");
        for at in 0..=body.len() {
            let (start, end) = body.split_at(at);
            assert_eq!(events(&[start, end]), usage(7, 10), "{ending:?} {at}");
        }
    }
}

#[test]
fn b40_pieces_that_are_no_events_have_no_usage() {
    assert_eq!(
        events(&[r#"{"id":1}"#, "\n", r#"{"usage":{"prompt_tokens":7,"#]),
        None
    );
    assert_eq!(events(&[EVENT.strip_prefix("data: ").unwrap()]), None);
    let body = format!("data: {{\"tool_calls\":[{{\"ind\n{EVENT}\n\n");
    assert_eq!(events(&[body]), usage(7, 10));
}

#[test]
fn a_last_line_without_its_ending_is_read() {
    assert_eq!(events(&[EVENT]), usage(7, 10));
    assert_eq!(events(&[EVENT.replace("data: ", "data:")]), usage(7, 10));
}

#[test]
fn blanks_around_the_colon_hide_nothing() {
    let body = EVENT.replace("\"usage\":", "\"usage\" :\t ");
    assert_eq!(events(&[body]), usage(7, 10));
}

#[test]
fn the_word_usage_in_an_answer_is_no_usage() {
    let body = r#"data: {"choices":[{"delta":{"content":"\"usage\":{\"prompt_tokens\":1}"}}]}"#;
    assert_eq!(events(&[body]), None);
}

#[test]
fn a_line_over_the_limit_is_dropped_up_to_its_end() {
    let padding = |bytes: usize| {
        let line = EVENT.replace(":[]", &format!(":\"{}\"", "x".repeat(bytes)));
        (line.len(), line)
    };
    let (base, _) = padding(0);
    let (length, longest) = padding(CARRY_BYTES_MAX - base);
    assert_eq!(length, CARRY_BYTES_MAX);
    let (_, too_long) = padding(CARRY_BYTES_MAX - base + 1);
    for (line, expected) in [(longest, usage(7, 10)), (too_long, None)] {
        assert_eq!(events(&[&line]), expected);
        assert_eq!(events(&[format!("{line}\n")]), expected);
        assert_eq!(events(&bytes_of(line.as_bytes())), expected);
        let (start, end) = line.split_at(line.len() / 2);
        let later = EVENT.replace("10", "11");
        assert_eq!(events(&[start, &format!("{end}\n{later}")]), usage(7, 11));
    }
}

#[test]
fn a_json_body_is_read_at_its_end() {
    let body = r#"{"id":"x","usage":{"prompt_tokens":7,"completion_tokens":10}}"#;
    assert_eq!(read(ContentKind::Json, &[body]), usage(7, 10));
    assert_eq!(
        read(ContentKind::Json, &bytes_of(body.as_bytes())),
        usage(7, 10)
    );
    assert_eq!(read(ContentKind::Other, &[body]), None);
    let mut reader = Reader::new(ContentKind::Json);
    reader.chunk(body.as_bytes());
    assert_eq!(reader.usage(), None);
    reader.finish();
    reader.finish();
    assert_eq!(reader.usage(), usage(7, 10));
}

#[test]
fn a_json_body_over_the_limit_is_not_kept() {
    let body = r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}}"#;
    let padding = vec![b' '; JSON_BYTES_MAX - body.len()];
    assert_eq!(
        read(ContentKind::Json, &[&padding, body.as_bytes()]),
        usage(7, 10)
    );
    let mut reader = Reader::new(ContentKind::Json);
    for piece in [&padding, &b" "[..], body.as_bytes()] {
        reader.chunk(piece);
    }
    assert!(matches!(reader.body, Body::Unread));
    reader.finish();
    assert_eq!(reader.usage(), None);
}

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(EVENT.as_bytes().to_vec()),
        Just(b"data: ".to_vec()),
        Just(b"data: [DONE]".to_vec()),
        Just(
            br#"data:{"usage":null,"response":{"usage":{"input_tokens":1,"output_tokens":2}}}"#
                .to_vec()
        ),
        Just(br#"data: {"usage":{"prompt_tokens":"#.to_vec()),
        prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n")].prop_map(|e| e.into()),
        proptest::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #[test]
    fn byte_by_byte_is_the_same_as_whole(
        fragments in proptest::collection::vec(fragment(), 0..12),
    ) {
        let body = fragments.concat();
        for kind in [ContentKind::EventStream, ContentKind::Json] {
            let whole = read(kind, &[&body]);
            prop_assert_eq!(read(kind, &bytes_of(&body)), whole);
            prop_assert_eq!(read(kind, &fragments), whole);
        }
    }

    #[test]
    fn only_an_unfinished_line_is_carried(
        pieces in proptest::collection::vec(
            prop_oneof![
                fragment(),
                (1_usize..CARRY_BYTES_MAX).prop_map(|length| vec![b'x'; length]),
            ],
            0..8,
        ),
    ) {
        let mut reader = Reader::new(ContentKind::EventStream);
        let mut unfinished = 0;
        for piece in &pieces {
            reader.chunk(piece);
            unfinished = match piece.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) {
                Some(at) => piece.len() - at - 1,
                None => unfinished + piece.len(),
            };
            let Body::Events(lines) = &reader.body else { unreachable!() };
            let expected = if unfinished > CARRY_BYTES_MAX { 0 } else { unfinished };
            prop_assert_eq!(lines.carry.len(), expected);
        }
    }
}
