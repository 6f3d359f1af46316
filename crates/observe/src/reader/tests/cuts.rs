//! How a body is cut changes nothing, and what is skipped would say nothing.

use proptest::prelude::*;

use super::*;

fn fragment() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        Just(TOKEN),
        Just(STOP),
        Just(USAGE),
        Just("data: "),
        Just("data: [DONE]"),
        Just(r#"data:{"usage":null,"response":{"usage":{"input_tokens":1,"output_tokens":2}}}"#),
        Just(r#"data: {"usage":{"prompt_tokens":"#),
        Just(
            r#"data: {"type":"message_delta","delta":{"stop_reason":"x"},"usage":{"output_tokens":3}}"#
        ),
        Just(
            r#"data: {"text":"x","meta_info":{"finish_reason":"x","prompt_tokens":1,"completion_tokens":2}}"#
        ),
        Just(r#"{"meta_info":{"prompt_tokens":1,"completion_tokens":2}}"#),
        Just(r#"{"choices":[{"delta":{"reasoning":"x"}}]}"#),
    ];
    let ending = prop_oneof![
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("\n\n"),
        Just(" ")
    ];
    prop_oneof![
        6 => text.prop_map(|text| text.as_bytes().to_vec()),
        6 => ending.prop_map(|text| text.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (15_000_usize..18_000).prop_map(|length| vec![b' '; length]),
    ]
}

fn dialect() -> impl Strategy<Value = Dialect> {
    prop_oneof![
        Just(Dialect::ChatCompletions),
        Just(Dialect::Completions),
        Just(Dialect::Responses),
        Just(Dialect::Messages),
        Just(Dialect::SglangGenerate),
        Just(Dialect::Embeddings),
        Just(Dialect::GrpcGenerate),
        Just(Dialect::Passthrough),
    ]
}

/// Events that the dialect has, and some that it has not.
fn event(dialect: Dialect) -> BoxedStrategy<&'static str> {
    let events: &'static [&'static str] = match dialect {
        Dialect::ChatCompletions => &[
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}],"usage":null}"#,
            r#"{"choices":[{"index":0,"delta":{"content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":[{"text":"x"}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"x","content":null}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"reasoning":"x","content" : ""}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"tool_calls":[{}],"content":""}}]}"#,
            r#"{"choices":[{"index":1,"delta":{"tool_calls": [ ],"refusal":null}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason" : "stop"}]}"#,
            r#"{"choices":[{"index":1,"finish_reason":null},{"index":0,"finish_reason":"stop"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage": {"prompt_tokens":7,"completion_tokens":2}}"#,
            r#"{"choices":[]}"#,
            r#"{"error":{"message":"x"}}"#,
            "[DONE]",
        ],
        Dialect::Responses => &[
            r#"{"type":"response.created","response":{"usage":null}}"#,
            r#"{"type":"response.reasoning_text.delta","delta":"x"}"#,
            r#"{"type":"response.reasoning_summary_text.delta","delta":"x"}"#,
            r#"{"type":"response.output_text.delta","delta":"x"}"#,
            r#"{"type":"response.output_item.added","item":{"type":"function_call"}}"#,
            r#"{"type":"response.completed","response":{"usage":{"input_tokens":1,"output_tokens":2}}}"#,
            r#"{"type":"response.failed","response":{}}"#,
            r#"{"type":"error"}"#,
        ],
        Dialect::Messages => &[
            r#"{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":2}}}"#,
            r#"{"type":"content_block_start","content_block":{"type":"thinking"}}"#,
            r#"{"type":"content_block_start","content_block":{"type":"tool_use"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"x"}}"#,
            r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"x"},"usage":{"output_tokens":3}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":4}}"#,
            r#"{"type":"message_stop"}"#,
            r#"{"type":"ping"}"#,
        ],
        _ => &[
            r#"{"text":"","meta_info":{"finish_reason":null}}"#,
            r#"{"text":"x","meta_info":{"finish_reason":{"type":"stop"},"prompt_tokens":1,"completion_tokens":2}}"#,
            r#"{"index":1,"text":"x","meta_info":{"finish_reason":"x","prompt_tokens":1,"completion_tokens":2}}"#,
            "[DONE]",
        ],
    };
    proptest::sample::select(events).boxed()
}

/// What is told of a body that breaks off behind these pieces, once they are told.
fn told_at_a_break(expected: Expected, pieces: &[&str]) -> Vec<Observation> {
    let mut reader = Reader::new(expected);
    for piece in pieces {
        reader.chunk(&Bytes::copy_from_slice(piece.as_bytes()), &mut |_| {});
    }
    let mut seen = Vec::new();
    reader.cut(&mut |observation| seen.push(observation));
    seen
}

#[test]
fn a_body_that_breaks_off_tells_the_counts_that_came_and_no_end() {
    let chunk = r#"data: {"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}"#;
    let (chunk, token) = (format!("{chunk}\n\n"), format!("{TOKEN}\n\n"));
    assert_eq!(told_at_a_break(CHAT, &[&chunk]), [usage(7, 1)]);
    assert_eq!(told_at_a_break(CHAT, &[&chunk, "data: {"]), [usage(7, 1)]);
    for pieces in [&[][..], &[token.as_str()], &[chunk.trim_end()]] {
        assert_eq!(told_at_a_break(CHAT, pieces), [], "{pieces:?}");
    }
    let body = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}"#;
    assert_eq!(told_at_a_break(JSON, &[body]), []);
}

#[test]
fn a_body_that_breaks_off_when_all_is_told_tells_nothing_again() {
    let end = format!("{TOKEN}\n\n{STOP}\n\n{USAGE}\n\n");
    assert_eq!(told_at_a_break(CHAT, &[&end]), []);
    let mut reader = Reader::new(CHAT);
    reader.chunk(&Bytes::from(end), &mut |_| {});
    reader.finish(&mut |_| {});
    reader.cut(&mut |observation| panic!("{observation:?}"));
}

proptest! {
    #[test]
    fn b38_byte_by_byte_is_the_same_as_whole(
        fragments in proptest::collection::vec(fragment(), 0..12),
        dialect in dialect(),
        choices in 1_u32..3,
    ) {
        let body = fragments.concat();
        for kind in [
            ContentKind::EventStream,
            ContentKind::NdJson,
            ContentKind::Json,
            ContentKind::Grpc,
            ContentKind::Other,
        ] {
            let expected = Expected { kind, dialect, choices: NonZeroU32::new(choices).unwrap() };
            let whole = all(expected, &[&body]);
            prop_assert_eq!(all(expected, &bytes_of(&body)), whole.clone());
            prop_assert_eq!(all(expected, &fragments), whole);
        }
    }

    #[test]
    fn what_is_told_comes_in_its_order_and_once(
        fragments in proptest::collection::vec(fragment(), 0..12),
        dialect in dialect(),
    ) {
        let told = all(Expected { dialect, ..CHAT }, &fragments);
        let rank = |observation: &Observation| match observation {
            Observation::FirstOutput => 0,
            Observation::FirstVisible => 1,
            Observation::Finished => 2,
            Observation::Usage(_) => 3,
            _ => unreachable!("a body tells nothing else"),
        };
        let ranks: Vec<_> = told.iter().map(rank).collect();
        prop_assert!(ranks.is_sorted_by(|a, b| a < b), "{:?}", told);
        prop_assert!(told.contains(&FINISHED));
        prop_assert_eq!(told.contains(&OUTPUT), told.contains(&VISIBLE));
    }

    #[test]
    fn what_the_needles_let_pass_would_have_said_nothing(
        (dialect, events) in dialect().prop_flat_map(|dialect| {
            (Just(dialect), proptest::collection::vec(event(dialect), 0..16))
        }),
        choices in 1_u32..3,
    ) {
        let expected = Expected {
            choices: NonZeroU32::new(choices).unwrap(),
            ..Expected { dialect, ..CHAT }
        };
        let mut searching = Reader::new(expected);
        let mut reading = Reader::new(expected);
        if let Body::Events(events) = &mut reading.body {
            events.1 = Needles::of(Dialect::Passthrough);
        }
        for event in events {
            let piece = Bytes::from(format!("data: {event}\n\n"));
            let mut found = Vec::new();
            searching.chunk(&piece, &mut |observation| found.push(observation));
            let mut read = Vec::new();
            reading.chunk(&piece, &mut |observation| read.push(observation));
            prop_assert_eq!(found, read, "{}", event);
        }
    }
}
