use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;

use super::*;

mod bodies;
mod cuts;
mod fuzz;
mod hostile;
mod streams;

const OUTPUT: Observation = Observation::FirstOutput;
const VISIBLE: Observation = Observation::FirstVisible;
const FINISHED: Observation = Observation::Finished;

const fn usage(prompt: u64, output: u64) -> Observation {
    Observation::Usage(Usage {
        prompt: Tokens(prompt),
        output: Tokens(output),
        cached: None,
        reasoning: None,
    })
}

const fn usage_with(prompt: u64, output: u64, cached: u64, reasoning: Option<u64>) -> Observation {
    Observation::Usage(Usage {
        prompt: Tokens(prompt),
        output: Tokens(output),
        cached: Some(Tokens(cached)),
        reasoning: match reasoning {
            Some(reasoning) => Some(Tokens(reasoning)),
            None => None,
        },
    })
}

const fn expected(kind: ContentKind, dialect: Dialect) -> Expected {
    Expected {
        kind,
        dialect,
        choices: NonZeroU32::MIN,
    }
}

const CHAT: Expected = expected(ContentKind::EventStream, Dialect::ChatCompletions);
const JSON: Expected = expected(ContentKind::Json, Dialect::ChatCompletions);

/// What is told at each piece, and at the end.
fn told(expected: Expected, pieces: &[impl AsRef<[u8]>]) -> Vec<Vec<Observation>> {
    let mut reader = Reader::new(expected);
    let mut told = Vec::new();
    for piece in pieces {
        let mut seen = Vec::new();
        let piece = Bytes::copy_from_slice(piece.as_ref());
        reader.chunk(&piece, &mut |observation| seen.push(observation));
        told.push(seen);
    }
    let mut seen = Vec::new();
    reader.finish(&mut |observation| seen.push(observation));
    told.push(seen);
    told
}

/// All that is told, in order.
fn all(expected: Expected, pieces: &[impl AsRef<[u8]>]) -> Vec<Observation> {
    told(expected, pieces).concat()
}

fn bytes_of(body: &[u8]) -> Vec<[u8; 1]> {
    body.iter().map(|byte| [*byte]).collect()
}

const TOKEN: &str =
    r#"data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}"#;
const STOP: &str = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str =
    r#"data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":10,"total_tokens":17}}"#;

#[test]
fn the_kind_is_told_by_the_media_type_alone() {
    for (value, kind) in [
        ("text/event-stream", ContentKind::EventStream),
        (
            "Text/Event-Stream ; charset=utf-8",
            ContentKind::EventStream,
        ),
        ("application/json; charset=utf-8", ContentKind::Json),
        ("application/x-ndjson", ContentKind::NdJson),
        ("application/ndjson;x", ContentKind::NdJson),
        ("application/grpc", ContentKind::Grpc),
        ("Application/GRPC+proto", ContentKind::Grpc),
        ("application/grpc-web", ContentKind::Other),
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
    let pieces = [format!("{USAGE}\n\n"), "data: [DONE]\n\n".to_owned()];
    assert_eq!(
        told(CHAT, &pieces),
        [vec![FINISHED, usage(7, 10)], vec![], vec![]]
    );
}

#[test]
fn b33_usage_is_told_as_soon_as_its_event_has_come() {
    let body = format!("{TOKEN}\n\n{STOP}\n\n{USAGE}\n\ndata: [DONE]\n\n");
    let told = told(CHAT, &bytes_of(body.as_bytes()));
    let end_of = |event: &str| body.find(event).unwrap() + event.len() + 1;
    assert_eq!(told[end_of(TOKEN)], [OUTPUT, VISIBLE]);
    assert_eq!(told[end_of(STOP)], [FINISHED]);
    assert_eq!(told[end_of(USAGE)], [usage(7, 10)]);
    assert_eq!(told.concat().len(), 4);
}

#[test]
fn b34_the_done_mark_may_be_split_and_may_be_missing() {
    for tail in [
        &["data: [DO", "NE]\n\n"][..],
        &["data: [DONE]"],
        &["data:[DONE]\r\r"],
        &[""],
    ] {
        let pieces = [&[TOKEN, "\n\n", USAGE, "\n\n"], tail].concat();
        assert_eq!(
            all(CHAT, &pieces),
            [OUTPUT, VISIBLE, FINISHED, usage(7, 10)],
            "{tail:?}"
        );
    }
    assert_eq!(all(CHAT, &["data: [DO", "NE]\n\n"]), [FINISHED]);
    assert_eq!(all(CHAT, &[""]), [FINISHED]);
}

#[test]
fn b34_the_end_is_told_once_however_often_it_is_announced() {
    let mut reader = Reader::new(CHAT);
    let mut seen = Vec::new();
    let body = format!("{TOKEN}\n\n{USAGE}\n\n{USAGE}\n\ndata: [DONE]\n\n{TOKEN}\n\n");
    for _ in 0..2 {
        reader.chunk(&Bytes::from(body.clone()), &mut |observation| {
            seen.push(observation)
        });
    }
    for _ in 0..2 {
        reader.finish(&mut |observation| seen.push(observation));
    }
    reader.chunk(&Bytes::from(body), &mut |observation| {
        seen.push(observation)
    });
    assert_eq!(seen, [OUTPUT, VISIBLE, FINISHED, usage(7, 10)]);
}

#[test]
fn b38_all_three_line_endings_are_read_wherever_they_are_cut() {
    let told_all = [OUTPUT, VISIBLE, FINISHED, usage(7, 10)];
    for [a, b, c] in [["\n"; 3], ["\r\n"; 3], ["\r"; 3], ["\r\n", "\n", "\r"]] {
        let body = format!(": ping{a}{b}event: x{c}{TOKEN}{a}{b}{USAGE}{c}{a}data: [DONE]{b}{c}");
        assert_eq!(all(CHAT, &[&body]), told_all, "{a:?} {b:?} {c:?}");
        for at in 0..=body.len() {
            let (start, end) = body.split_at(at);
            assert_eq!(all(CHAT, &[start, end]), told_all, "{a:?} {b:?} {c:?} {at}");
        }
    }
}

#[test]
fn b38_what_is_carried_over_is_bounded() {
    let mut reader = Reader::new(CHAT);
    let piece = Bytes::from(vec![b'x'; 10_000]);
    reader.chunk(&Bytes::from_static(b"data: "), &mut |_| {});
    for _ in 0..200 {
        reader.chunk(&piece, &mut |_| {});
        let Body::Events(events) = &reader.body else {
            unreachable!("the stream has not ended");
        };
        assert!(events.0.carried_bytes() <= 16 * 1024);
    }
}

#[test]
fn b40_pieces_that_are_no_events_say_nothing() {
    for pieces in [
        &["{\"id\":1}\n{\"id\":2}\n\n"][..],
        &[r#"{"id":1}"#, "\n", r#"{"usage":{"prompt_tokens":7,"#],
        &[USAGE.strip_prefix("data: ").unwrap(), "\n\n"],
    ] {
        assert_eq!(all(CHAT, pieces), [FINISHED], "{pieces:?}");
    }
}

#[test]
fn b40_an_event_that_is_no_json_does_not_hide_the_next() {
    let body = format!("data: {{\"tool_calls\":[{{\"ind\n\n{USAGE}\n\n");
    assert_eq!(
        all(CHAT, &[body]),
        [OUTPUT, VISIBLE, FINISHED, usage(7, 10)]
    );
    let (start, end) = TOKEN.split_at(40);
    assert_eq!(
        told(CHAT, &[start, &format!("{end}\n\n")]),
        [vec![], vec![OUTPUT, VISIBLE], vec![FINISHED]]
    );
}

#[test]
fn comments_and_empty_events_are_no_output() {
    for silent in [
        ": keep-alive\n\n",
        "\n\n\n",
        "event: ping\n\n",
        "data:\n\n",
        "data: \n\n",
        "data:   \n\n",
        "data: {}\n\n",
        "id: 7\nretry: 10\n\n",
        "data: {\"type\":\"ping\"}\n\n",
        "data: {\"choices\":[],\"prompt_filter_results\":[{\"prompt_index\":0}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
        "data: {\"error\":{\"message\":\"x\",\"type\":\"BadRequestError\"}}\n\n",
    ] {
        let pieces = [silent, TOKEN, "\n\n"];
        assert_eq!(told(CHAT, &pieces)[0], [], "{silent}");
        assert_eq!(all(CHAT, &pieces), [OUTPUT, VISIBLE, FINISHED], "{silent}");
        assert_eq!(all(CHAT, &[silent]), [FINISHED], "{silent}");
    }
}

#[test]
fn an_answer_of_thoughts_only_has_been_seen_when_it_is_finished() {
    let thought = r#"data: {"choices":[{"index":0,"delta":{"reasoning_content":"x"}}]}"#;
    let pieces = [
        format!("{thought}\n\n"),
        format!("{thought}\n\n"),
        format!("{STOP}\n\n"),
    ];
    assert_eq!(
        told(CHAT, &pieces),
        [vec![OUTPUT], vec![], vec![VISIBLE, FINISHED], vec![]]
    );
    assert_eq!(
        told(CHAT, &pieces[..2]),
        [vec![OUTPUT], vec![], vec![VISIBLE, FINISHED]]
    );
}

#[test]
fn an_answer_that_is_empty_has_its_first_token_in_its_end() {
    assert_eq!(
        told(CHAT, &[format!("{STOP}\n\n")]),
        [vec![OUTPUT, VISIBLE, FINISHED], vec![]]
    );
}

#[test]
fn an_answer_is_finished_when_each_choice_is() {
    let stop = |index: u32| STOP.replace("\"index\":0", &format!("\"index\":{index}")) + "\n\n";
    let of = |choices: u32, indexes: &[u32]| {
        let expected = Expected {
            choices: NonZeroU32::new(choices).unwrap(),
            ..CHAT
        };
        let pieces: Vec<_> = indexes.iter().map(|index| stop(*index)).collect();
        let told = told(expected, &pieces);
        told.iter()
            .position(|told| told.contains(&FINISHED))
            .unwrap()
    };
    assert_eq!(of(1, &[0, 1]), 0);
    assert_eq!(of(2, &[0, 0, 1, 2]), 2);
    assert_eq!(of(3, &[2, 1, 0]), 2);
    assert_eq!(of(3, &[2, 1]), 2, "at the end at the latest");
    let many: Vec<_> = (0..300).collect();
    assert_eq!(of(300, &many), 299);
    assert_eq!(of(u32::MAX, &[0, 1]), 2);
}

#[test]
fn an_answer_is_finished_by_its_usage_whatever_its_choices_say() {
    let expected = Expected {
        choices: NonZeroU32::MAX,
        ..CHAT
    };
    for end in [
        USAGE,
        "data: [DONE]",
        r#"data: {"usage":{"prompt_tokens":7,"completion_tokens":10}}"#,
    ] {
        let pieces = [format!("{TOKEN}\n\n"), format!("{end}\n\n")];
        assert_eq!(told(expected, &pieces)[1][0], FINISHED, "{end}");
    }
}

#[test]
fn usage_that_is_reported_all_along_ends_with_the_last() {
    let event = |output: u32, finish: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"x\"}},\"finish_reason\":{finish}}}],\
             \"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":{output}}}}}\n\n"
        )
    };
    let pieces = [event(1, "null"), event(2, "null"), event(3, "\"length\"")];
    let shown = vec![OUTPUT, VISIBLE];
    assert_eq!(
        told(CHAT, &pieces),
        [shown.clone(), vec![], vec![FINISHED], vec![usage(7, 3)]]
    );
    assert_eq!(
        told(CHAT, &pieces[..2]),
        [shown, vec![], vec![FINISHED, usage(7, 2)]]
    );
    let last = USAGE.replace(
        "\"total_tokens\":17",
        "\"prompt_tokens_details\":{\"cached_tokens\":4}",
    );
    let pieces = [&pieces[..], &[format!("{last}\n\ndata: [DONE]\n\n")]].concat();
    assert_eq!(told(CHAT, &pieces)[3], [usage_with(7, 10, 4, None)]);
}

#[test]
fn the_word_usage_in_an_answer_is_no_usage() {
    let quoted = TOKEN.replace(
        "\"x\"",
        r#""\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1},\"finish_reason\":\"stop\"""#,
    );
    let nested = TOKEN.replace(
        "\"x\"}",
        r#""x","a":{"usage":{"prompt_tokens":1,"completion_tokens":1},"finish_reason":"stop"}}"#,
    );
    let pieces = [
        format!("{TOKEN}\n\n"),
        format!("{quoted}\n\n"),
        format!("{nested}\n\n"),
    ];
    assert_eq!(
        told(CHAT, &pieces),
        [vec![OUTPUT, VISIBLE], vec![], vec![], vec![FINISHED]]
    );
}

#[test]
fn white_space_in_an_event_hides_nothing() {
    let spaced = |event: &str| {
        let json = event.strip_prefix("data: ").unwrap();
        let json = json
            .replace(':', " :\t ")
            .replace(',', " , ")
            .replace('}', " }");
        format!("data: {json} \n\n")
    };
    let pieces = [TOKEN, STOP, USAGE].map(spaced);
    assert_eq!(
        told(CHAT, &pieces),
        [
            vec![OUTPUT, VISIBLE],
            vec![FINISHED],
            vec![usage(7, 10)],
            vec![]
        ]
    );
}

#[test]
fn json_of_an_event_may_lie_in_several_lines() {
    let lines = |event: &str| event.replace(',', ",\ndata: ").replace("[{", "[\r\ndata:{") + "\n\n";
    let pieces = [TOKEN, STOP, USAGE].map(lines);
    assert_eq!(
        told(CHAT, &pieces),
        [
            vec![OUTPUT, VISIBLE],
            vec![FINISHED],
            vec![usage(7, 10)],
            vec![]
        ]
    );
}

#[test]
fn a_byte_order_mark_hides_nothing() {
    let body = format!("\u{feff}{TOKEN}\n\n");
    assert_eq!(told(CHAT, &[body])[0], [OUTPUT, VISIBLE]);
    let body = "\u{feff}{\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":10}}";
    assert_eq!(
        all(JSON, &[body]),
        [OUTPUT, VISIBLE, FINISHED, usage(7, 10)]
    );
}
