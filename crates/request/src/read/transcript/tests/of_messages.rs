use super::*;

#[test]
fn a_number_is_never_longer_than_it_is_written() {
    let read = |number: &str| {
        let text = format!(r#"[{{"content":[{number}],"name":"a long name to fill the block"}}]"#);
        let written = written(SegmentKind::Messages, 1, &text);
        let bytes = written.hasher.bytes();
        (written.hasher.finish(), bytes)
    };
    for number in ["1e300", "-1e300", "5e-324", "1.5"] {
        let more = number.len() as u64 - 1;
        assert_eq!(read(number).1, read("1").1 + more, "{number}");
    }
    assert_ne!(read("1e300").0, read("1e301").0);
    assert_ne!(read("1e300").0, read("-1e300").0);
}

#[test]
fn messages_that_differ_only_in_their_borders_differ() {
    let chats = [
        json!([{"role": "user", "content": "ab"}]),
        json!([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]),
        json!([{"role": "user", "content": ["a", "b"]}]),
        json!([{"role": "user", "content": ["ab"]}]),
        json!([{"role": "user", "content": [["a"], "b"]}]),
        json!([{"role": "user", "content": [["a", "b"]]}]),
        json!([{"role": "user", "content": [["a", "b"], []]}]),
        json!([{"role": "user", "content": {"text": "ab"}}]),
        json!([{"role": "user", "content": [{"text": "a"}, {"text": "b"}]}]),
        json!([{"role": "user", "content": [{"text": "ab"}, {}]}]),
        json!([{"role": "system", "content": "ab"}]),
        json!([{"role": "user", "content": "ab", "name": "n"}]),
        json!([{"role": "user", "content": "a", "name": "b"}]),
        json!([{"role": "user"}, {"content": "ab"}]),
        json!([{"role": "user", "content": 1}]),
        json!([{"role": "user", "content": "1"}]),
        json!([{"role": "user", "content": true}]),
        json!([{"role": "user", "content": false}]),
        json!([{"role": "user", "content": ""}]),
        json!([{"role": "user", "content": null}]),
        json!([{"role": "user", "content": [null]}]),
        json!([{"role": "user", "content": []}]),
        json!([{"role": "user", "input": {"a": [1, {"b": 2}]}}]),
        json!([{"role": "user", "input": {"a": [1, {"b": 2}], "c": 3}}]),
        json!([{"role": "user", "input": {"a": [1, {"b": 2, "c": 3}]}}]),
        json!([{"role": "user", "input": {"a": [1, {"b": null}]}}]),
        json!([{"role": "user", "input": {"a": [1, {}]}}]),
        json!([{"role": "user", "input": {"a": [1, {}], "cache_control": 1}}]),
        json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "s"}]}]),
        json!([{"role": "assistant", "content": [{"type": "thinking", "thinking": "a", "signature": "t"}]}]),
        json!(["ab"]),
        json!(["a", "b"]),
    ];
    // A last message of its own makes sure that what differs lies in full blocks.
    let end = json!({"role": "user", "content": "long enough to fill the last block"});
    let all: Vec<_> = chats
        .iter()
        .map(|chat| {
            let mut messages = chat.as_array().unwrap().clone();
            messages.push(end.clone());
            blocks(&messages.into())
        })
        .collect();
    for (index, one) in all.iter().enumerate() {
        for (other, two) in all[..index].iter().enumerate() {
            assert_ne!(one, two, "{} {}", chats[index], chats[other]);
        }
    }
}

#[test]
fn a_null_says_what_a_missing_member_says_in_messages_and_their_parts() {
    let end = "long enough to fill the last block";
    let with_null = json!([
        {"role": "assistant", "content": null, "refusal": null, "tool_calls": null},
        {"role": "user", "content": [{"type": "text", "text": "x", "annotations": null}]},
        end
    ]);
    let without = json!([{"role": "assistant"}, {"role": "user", "content": [{"type": "text", "text": "x"}]}, end]);
    assert_eq!(blocks(&with_null), blocks(&without));
}

#[test]
fn cache_marks_that_move_with_the_turns_change_nothing() {
    let mark = json!({"type": "ephemeral", "more": [{"ttl": "5m"}]});
    let part = json!({"type": "text", "text": "long enough for a few blocks"});
    let mut marked = part.clone();
    marked["cache_control"] = mark.clone();
    let (marked, plain) = (json!([marked]), json!([part]));
    assert_eq!(blocks(&parts(&marked)), blocks(&parts(&plain)));
    for kind in [SegmentKind::System, SegmentKind::Tools] {
        let read = |value| read(kind, value).hasher.finish();
        assert_eq!(read(&marked), read(&plain));
    }
}

#[test]
fn a_segment_that_is_no_list_of_messages_is_wrong_or_a_text() {
    for wrong in [json!("x"), json!(7), json!({"a": 1}), json!(true)] {
        assert_eq!(read(SegmentKind::Messages, &wrong).state, State::Wrong);
    }
    for wrong in [json!(7), json!({"a": [1]}), json!(true)] {
        assert_eq!(read(SegmentKind::Input, &wrong).state, State::Wrong);
    }
    for kind in [SegmentKind::Messages, SegmentKind::Input] {
        assert_eq!(read(kind, &json!(null)).state, State::Null);
        assert_eq!(read(kind, &json!([])).state, State::Empty);
        assert_eq!(read(kind, &json!([null])).state, State::Read);
    }
    assert_eq!(read(SegmentKind::Input, &json!("")).state, State::Empty);
    assert_eq!(read(SegmentKind::Input, &json!("x")).state, State::Read);
    for kind in [SegmentKind::System, SegmentKind::Tools] {
        for (value, state) in [
            (json!(null), State::Null),
            (json!(""), State::Empty),
            (json!([]), State::Empty),
            (json!("x"), State::Read),
            (json!(["x"]), State::Read),
            (json!({"x": 1}), State::Read),
            (json!(7), State::Read),
            (json!(true), State::Read),
        ] {
            assert_eq!(read(kind, &value).state, state, "{value}");
        }
    }
}

#[test]
fn what_was_written_before_leaves_no_trace() {
    let block = BlockSize::new(1).unwrap();
    let mut whole = Whole(Transcript::new(block));
    let mut before = Written::nothing(block);
    let cut = [
        (
            SegmentKind::System,
            r#"[{"text":"x-anthropic-billing-header"#,
        ),
        (
            SegmentKind::Messages,
            r#"[{"role":"user","content":[{"type":"image","source":{"data":"a"#,
        ),
        (SegmentKind::Prompts, "[[1,2],[3,1e"),
        (SegmentKind::Tools, r#"[{"a":{"b":[{"cache_control"#),
    ];
    for (kind, text) in cut {
        whole.0.start(kind, before);
        Lexer::new().push(text.as_bytes(), &mut whole).unwrap();
        before = whole.0.stop(Written::nothing(block));
    }
    let chat = json!([{"role": "user", "content": [{"type": "text", "text": "x"}]}]);
    whole.0.start(SegmentKind::Messages, before);
    let mut lexer = Lexer::new();
    lexer.push(chat.to_string().as_bytes(), &mut whole).unwrap();
    let after = whole.0.stop(Written::nothing(block));
    let expected = read(SegmentKind::Messages, &chat);
    assert_eq!(after.hasher.hashes(), expected.hasher.hashes());
    assert_eq!(
        (after.state, after.session),
        (expected.state, expected.session)
    );
    assert_eq!((after.media, after.ids), (expected.media, expected.ids));
}

fn message() -> impl Strategy<Value = Json> {
    let content = prop_oneof![
        ".{0,20}".prop_map(Json::from),
        proptest::collection::vec(".{0,8}", 0..3).prop_map(|texts| {
            texts
                .into_iter()
                .map(|text| json!({"type": "text", "text": text}))
                .collect()
        }),
        ".{0,8}".prop_map(|url| json!([{"type": "image_url", "image_url": {"url": url}}])),
    ];
    ("user|assistant|tool", content)
        .prop_map(|(role, content)| json!({"role": role, "content": content}))
}

proptest! {
    #[test]
    fn chats_that_differ_have_other_blocks(
        one in proptest::collection::vec(message(), 1..3),
        two in proptest::collection::vec(message(), 1..3),
    ) {
        let end = json!({"role": "user", "content": "long enough to fill the last block"});
        let closed = |messages: &[Json]| {
            blocks(&messages.iter().chain([&end]).cloned().collect())
        };
        prop_assert_eq!(one == two, closed(&one) == closed(&two));
    }
}
