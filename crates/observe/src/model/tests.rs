use core::fmt;

use proptest::prelude::*;
use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::*;

mod fuzz;
mod reference;

const ENGINE: &str = "internal-a-07";
const CLIENT: &str = "public-a";

fn restorer(kind: ContentKind) -> ModelRestorer {
    ModelRestorer::new(ENGINE, CLIENT, kind)
}

/// What comes out of a body in pieces, which are given on one by one.
fn given_on(mut restorer: ModelRestorer, pieces: &[impl AsRef<[u8]>]) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    for piece in pieces {
        let piece = Bytes::copy_from_slice(piece.as_ref());
        restorer.chunk(piece, &mut |bytes| out.push(bytes.to_vec()));
        assert!(
            restorer.held.len() <= HELD_BYTES_MAX,
            "{}",
            restorer.held.len()
        );
    }
    restorer.finish(&mut |bytes| out.push(bytes.to_vec()));
    assert!(out.iter().all(|bytes| !bytes.is_empty()));
    out
}

/// The longest way to write the name, and an escape that goes on.
const HELD_BYTES_MAX: usize = ENGINE.len() * 6 + 2 + 12;

fn restored(kind: ContentKind, pieces: &[impl AsRef<[u8]>]) -> String {
    String::from_utf8(given_on(restorer(kind), pieces).concat()).unwrap()
}

fn bytes_of(text: &str) -> Vec<[u8; 1]> {
    text.bytes().map(|byte| [byte]).collect()
}

/// Checks what becomes of a body, wherever it is cut.
fn check(kind: ContentKind, body: &str, expected: &str) {
    assert_eq!(restored(kind, &[body]), expected, "{body}");
    assert_eq!(restored(kind, &bytes_of(body)), expected, "{body}");
    for at in (0..=body.len()).filter(|at| body.is_char_boundary(*at)) {
        let (start, end) = body.split_at(at);
        assert_eq!(restored(kind, &[start, end]), expected, "{start} | {end}");
    }
}

fn event(json: &str) -> String {
    format!("data: {json}\n\n")
}

#[test]
fn b41_the_name_is_replaced_at_the_top_level_with_any_white_space() {
    for (before, after) in [
        (r#"{"model":"internal-a-07"}"#, r#"{"model":"public-a"}"#),
        (r#"{"model": "internal-a-07"}"#, r#"{"model": "public-a"}"#),
        (
            r#"{"model":  "internal-a-07" }"#,
            r#"{"model":  "public-a" }"#,
        ),
        (
            "{ \"model\"\n\t:\r\n \"internal-a-07\" , \"id\":1 }",
            "{ \"model\"\n\t:\r\n \"public-a\" , \"id\":1 }",
        ),
        (
            r#"{"model":"internal\u002da\u002D07"}"#,
            r#"{"model":"public-a"}"#,
        ),
        (
            r#"{"\u006dodel":"internal-a-07"}"#,
            r#"{"\u006dodel":"public-a"}"#,
        ),
        (
            r#"{"model":"x","model":"internal-a-07"}"#,
            r#"{"model":"x","model":"public-a"}"#,
        ),
        (
            r#"{"id":1,"model":"internal-a-07","choices":[]}"#,
            r#"{"id":1,"model":"public-a","choices":[]}"#,
        ),
    ] {
        check(ContentKind::Json, before, after);
        if !before.contains(['\n', '\r']) {
            check(ContentKind::EventStream, &event(before), &event(after));
            check(
                ContentKind::NdJson,
                &format!("{before}\n{before}"),
                &format!("{after}\n{after}"),
            );
        }
    }
}

#[test]
fn b41_other_names_and_other_places_are_left_alone() {
    for body in [
        r#"{"model":"internal-a-0"}"#,
        r#"{"model":"internal-a-077"}"#,
        r#"{"model":"Internal-a-07"}"#,
        r#"{"model":""}"#,
        r#"{"model":null,"x":"internal-a-07"}"#,
        r#"{"model":["internal-a-07"]}"#,
        r#"{"model":{"model":"internal-a-07"}}"#,
        r#"{"model ":"internal-a-07"}"#,
        r#"{"models":"internal-a-07"}"#,
        r#"{"id":"internal-a-07"}"#,
        r#"{"choices":[{"model":"internal-a-07","delta":{"model":"internal-a-07"}}]}"#,
        r#"{"choices":[{"delta":{"content":"{\"model\":\"internal-a-07\"}"}}]}"#,
        r#"{"error":{"model":"internal-a-07"}}"#,
        r#"{"message":{"message":{"model":"internal-a-07"}}}"#,
        r#"{"message":[{"model":"internal-a-07"}]}"#,
        r#"{"response":{"output":[{"model":"internal-a-07"}]},"x":{"model":"internal-a-07"}}"#,
        r#"[{"model":"internal-a-07"}]"#,
        r#""internal-a-07""#,
        "internal-a-07",
    ] {
        check(ContentKind::Json, body, body);
        check(ContentKind::EventStream, &event(body), &event(body));
    }
}

#[test]
fn b41_an_event_that_carries_a_response_or_a_message_names_the_model_in_it() {
    for (before, after) in [
        (
            r#"{"type":"message_start","message":{"id":"msg_1","model":"internal-a-07","content":[{"model":"internal-a-07"}]}}"#,
            r#"{"type":"message_start","message":{"id":"msg_1","model":"public-a","content":[{"model":"internal-a-07"}]}}"#,
        ),
        (
            r#"{"type":"response.created","response":{"tools":[{"model":"internal-a-07"}],"model": "internal-a-07"},"x":{"model":"internal-a-07"}}"#,
            r#"{"type":"response.created","response":{"tools":[{"model":"internal-a-07"}],"model": "public-a"},"x":{"model":"internal-a-07"}}"#,
        ),
    ] {
        check(ContentKind::EventStream, &event(before), &event(after));
        check(ContentKind::Json, before, before);
    }
}

#[test]
fn b41_a_stream_names_the_model_in_each_of_its_events() {
    for ending in ["\n", "\r\n", "\r"] {
        let stream = |name: &str| {
            let token = r#"data: {"id":"1","model":"NAME","choices":[{"delta":{"content":"internal-a-07"}}]}"#;
            [
                ": \"model\":\"internal-a-07\"",
                "",
                token,
                "",
                "event: x",
                &token.replace("data: ", "data:"),
                "",
                r#"data: {"choices":[]}"#,
                "",
                token,
                "",
                "data: [DONE]",
                "",
                token,
            ]
            .join(ending)
            .replace("NAME", name)
        };
        check(ContentKind::EventStream, &stream(ENGINE), &stream(CLIENT));
    }
}

#[test]
fn b41_the_given_example_is_replaced_across_its_border() {
    let pieces = [
        "data: {\"model\":  \"intern",
        "al-a-07\",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\": \\\"intern",
        "al-a-07\\\"\"}}]}\n\n",
    ];
    let given_on = given_on(restorer(ContentKind::EventStream), &pieces);
    let given_on: Vec<_> = given_on
        .iter()
        .map(|bytes| core::str::from_utf8(bytes).unwrap())
        .collect();
    assert_eq!(
        given_on,
        [
            "data: {\"model\":  ",
            "\"public-a\"",
            ",\"choices\":[{\"delta\":{\"content\":\"\\\"model\\\": \\\"intern",
            "al-a-07\\\"\"}}]}\n\n",
        ]
    );
}

#[test]
fn json_of_an_event_may_lie_in_several_lines() {
    let before = "data: {\"id\":1,\ndata:\"model\":\r\ndata: \"internal-a-07\",\n: x\ndata: \"x\":{\"model\":\"internal-a-07\"}\ndata: }\n\n";
    let after = before.replacen(ENGINE, CLIENT, 1);
    check(ContentKind::EventStream, before, &after);
    let broken = "data: {\"model\":\"internal\ndata: -a-07\"}\n\n";
    check(ContentKind::EventStream, broken, broken);
}

#[test]
fn names_are_written_as_json() {
    let engine = "org/\"Mödel\"\\\u{1}🚂";
    let client = "its \"alias\"\n\u{7f}ü🚃\\";
    let written = |name: &str| serde_json::to_string(name).unwrap();
    let body = |name: &str| format!("{{\"model\":{},\"id\":1}}", written(name));
    for before in [
        body(engine),
        body(engine).replace('/', "\\/"),
        body(engine)
            .replace('🚂', "\\ud83d\\ude82")
            .replace('ö', "\\u00F6"),
    ] {
        for pieces in [
            vec![before.clone().into_bytes()],
            before.bytes().map(|byte| vec![byte]).collect(),
        ] {
            let restorer = ModelRestorer::new(engine, client, ContentKind::Json);
            let mut out = Vec::new();
            let mut restorer = restorer;
            for piece in pieces {
                restorer.chunk(piece.into(), &mut |bytes| out.extend_from_slice(&bytes));
            }
            restorer.finish(&mut |bytes| out.extend_from_slice(&bytes));
            assert_eq!(String::from_utf8(out).unwrap(), body(client), "{before}");
        }
    }
}

#[test]
fn what_is_not_the_name_passes_by_reference_and_at_once() {
    let mut restorer = restorer(ContentKind::EventStream);
    for text in [
        "data: {\"id\":\"1\",\"mod",
        "el\":\"other\",\"choices\":[{\"delta\":{\"content\":\"internal-a-07\"}}]}\n\n",
        ": ping\n\ndata: [DO",
        "NE]\n\n",
    ] {
        let piece = Bytes::from_static(text.as_bytes());
        let mut out = Vec::new();
        restorer.chunk(piece.clone(), &mut |bytes| out.push(bytes));
        assert_eq!(out, [text]);
        assert_eq!(out[0].as_ptr(), piece.as_ptr());
    }
    let piece = Bytes::from_static(b"data: {\"model\":\"internal-a-07\",\"id\":1}\n\n");
    let mut out = Vec::new();
    restorer.chunk(piece.clone(), &mut |bytes| out.push(bytes));
    assert_eq!(out[0].as_ptr(), piece.as_ptr());
    assert_eq!(out[1], "\"public-a\"");
    assert_eq!(out[2].as_ptr(), piece[30..].as_ptr());
    assert_eq!(out.len(), 3);
}

#[test]
fn only_the_beginning_of_what_may_be_the_name_is_held_back() {
    let mut restorer = restorer(ContentKind::EventStream);
    assert_eq!(restorer.held(), b"");
    for (piece, held) in [
        ("data: {\"model\":", &b""[..]),
        (" \"inter", b"\"inter"),
        ("nal-a", b"\"internal-a"),
        ("-08\",", b""),
        ("\"id\":\"internal-a-0", b""),
        ("7\"}\n\ndata: {\"model\":\"", b"\""),
        ("internal-a-07\"", b""),
    ] {
        restorer.chunk(Bytes::from_static(piece.as_bytes()), &mut |_| {});
        assert_eq!(restorer.held(), held, "{piece}");
    }
}

#[test]
fn what_is_held_back_is_given_on_with_the_next_piece_or_the_end() {
    for (next, given) in [
        ("l-b", vec!["\"interna", "l-b"]),
        ("l-a-07", vec!["\"internal-a-07"]),
        ("\n", vec!["\"interna", "\n"]),
        ("\u{1}", vec!["\"interna", "\u{1}"]),
        ("\"", vec!["\"interna", "\""]),
        ("", vec!["\"interna"]),
    ] {
        let pieces = ["data: {\"model\":\"interna", next];
        let given_on = given_on(restorer(ContentKind::EventStream), &pieces);
        let expected: Vec<_> = ["data: {\"model\":"].into_iter().chain(given).collect();
        assert_eq!(
            given_on,
            expected
                .iter()
                .map(|text| text.as_bytes().to_vec())
                .collect::<Vec<_>>(),
            "{next:?}"
        );
    }
}

#[test]
fn b40_a_body_that_is_no_json_passes_unchanged() {
    for body in [
        "{\"id\":1}\n{\"id\":2}\n\n",
        "data: {\"tool_calls\":[{\"ind\n\ndata: {\"model\": internal-a-07}\n\n",
        "{\"id\":1} {\"model\":\"internal-a-07\"}",
        "{\"id\":NaN,\"model\":\"internal-a-07\"}",
        "\u{1}{\"model\":\"internal-a-07\"}",
        "data: {\"id\":x,\"model\":\"internal-a-07\"}\n\n",
        "data: {\"a\":\"\\x\",\"model\":\"internal-a-07\"}\n\n",
    ] {
        check(ContentKind::Json, body, body);
        check(ContentKind::EventStream, body, body);
    }
}

#[test]
fn b40_an_event_that_is_no_json_does_not_keep_the_next_from_its_name() {
    let body =
        |name: &str| format!("data: {{\"mod\n\ndata: {{\"model\":\"{name}\"}}\n\ndata: [DONE]\n\n");
    check(ContentKind::EventStream, &body(ENGINE), &body(CLIENT));
}

#[test]
fn a_body_of_another_kind_passes_as_it_is() {
    let body = r#"{"model":"internal-a-07"}"#;
    for kind in [ContentKind::Other, ContentKind::Grpc] {
        assert!(!restorer(kind).may_change());
        check(kind, body, body);
    }
    let same = ModelRestorer::new(ENGINE, ENGINE, ContentKind::Json);
    assert!(!same.may_change());
    assert_eq!(given_on(same, &[body]), [body.as_bytes()]);
    assert!(restorer(ContentKind::Json).may_change());
}

#[test]
fn a_byte_order_mark_keeps_nothing_from_its_name() {
    for (kind, body) in [
        (ContentKind::Json, "\u{feff}{\"model\":\"internal-a-07\"}"),
        (
            ContentKind::EventStream,
            "\u{feff}data: {\"model\":\"internal-a-07\"}\n\n",
        ),
    ] {
        check(kind, body, &body.replace(ENGINE, CLIENT));
    }
}

#[test]
fn long_and_deep_texts_pass_unchanged_and_are_not_held_back() {
    let long = "x".repeat(1 << 20);
    let names = "internal-a-07".repeat(80_000);
    let deep = "{\"model\":".repeat(100_000);
    for text in [
        format!("{{\"model\":\"{long}\"}}"),
        format!("{{\"model\":\"internal-a-0{long}\"}}"),
        format!("{{\"model\":\"{names}\"}}"),
        format!("{{\"{long}\":\"internal-a-07\"}}"),
        format!("{{\"message\":{{\"{names}\":\"internal-a-07\"}}}}"),
        deep.clone(),
        "[".repeat(1 << 20),
    ] {
        for kind in [ContentKind::Json, ContentKind::EventStream] {
            let body = match kind {
                ContentKind::Json => text.clone(),
                _ => event(&text),
            };
            let pieces: Vec<_> = body.as_bytes().chunks(1000).collect();
            assert!(restored(kind, &pieces) == body);
            assert!(restored(kind, &[&body]) == body);
        }
    }
}
