use pointsman_domain::block::BlockHash;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// Blocks of one token, so that nearly every byte of the transcript is in one.
fn prompt(messages: &Json) -> Prompt {
    let text = messages.to_string();
    let mut json = serde_json::Deserializer::from_str(&text);
    Messages::read(&mut json, BlockSize::new(1).unwrap())
        .unwrap()
        .unwrap()
}

fn blocks(messages: &Json) -> Vec<BlockHash> {
    prompt(messages).blocks
}

/// A user's message with these content parts, long enough after them to fill the last block.
fn parts(parts: &Json) -> Json {
    json!([{"role": "user", "content": parts, "name": "a long name to fill the block"}])
}

#[test]
fn b04_turns_with_tool_calls_are_read_whatever_their_content() {
    let tool = json!({"role": "tool", "tool_call_id": "c1", "content": "42"});
    let calls =
        json!([{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    for assistant in [
        json!({"role": "assistant", "content": null, "tool_calls": calls}),
        json!({"role": "assistant", "content": "", "tool_calls": calls}),
        json!({"role": "assistant", "tool_calls": calls}),
    ] {
        let with_calls = blocks(&json!([assistant, tool]));
        assert!(!with_calls.is_empty());
        let mut other = assistant.clone();
        other["tool_calls"][0]["function"]["arguments"] = json!("{\"x\":1}");
        assert_ne!(blocks(&json!([other, tool])), with_calls);
        let mut other = tool.clone();
        other["tool_call_id"] = json!("c2");
        assert_ne!(blocks(&json!([assistant, other])), with_calls);
    }
}

#[test]
fn b05_different_images_differ_after_the_image_and_only_there() {
    let text = json!({"type": "text", "text": "what is this, and what is behind it?"});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let cat = blocks(&parts(&json!([text, image("data:image/png;base64,Y2F0")])));
    let dog = blocks(&parts(&json!([text, image("https://example.com/dog.png")])));
    let again = blocks(&parts(&json!([text, image("data:image/png;base64,Y2F0")])));
    let text = blocks(&parts(&json!([text])));

    assert_eq!(cat, again);
    let shared = cat.iter().zip(&dog).take_while(|(a, b)| a == b).count();
    let shared_with_text = cat.iter().zip(&text).take_while(|(a, b)| a == b).count();
    assert!(shared >= shared_with_text && shared_with_text > 10);
    assert_ne!(cat[shared..], dog[shared..]);
}

#[test]
fn the_size_of_a_media_file_is_not_the_length_of_the_prompt() {
    let audio =
        |data: &str| parts(&json!([{"type": "input_audio", "input_audio": {"data": data}}]));
    let small = prompt(&audio("UklGRg"));
    let large = prompt(&audio(&"UklGRg".repeat(10_000)));
    assert_eq!(small.tokens, large.tokens);
    assert_ne!(small.blocks, large.blocks);
    assert!(large.tokens >= Tokens(MEDIA_TOKENS));
    let without = prompt(&parts(&json!([{"type": "text", "image_url": null}])));
    assert!(without.tokens < Tokens(MEDIA_TOKENS));
}

#[test]
fn a_number_is_never_much_longer_than_it_is_written() {
    let read = |number: &str| {
        let text = format!(r#"[{{"content":[{number}],"name":"a long name to fill the block"}}]"#);
        let mut json = serde_json::Deserializer::from_str(&text);
        Messages::read(&mut json, BlockSize::new(1).unwrap())
            .unwrap()
            .unwrap()
    };
    for number in ["1e300", "-1e300", "5e-324", "1.5"] {
        assert!(
            read(number).tokens <= Tokens(read("1").tokens.0 + 2),
            "{number}"
        );
    }
    assert_ne!(read("1e300").blocks, read("1e301").blocks);
    assert_ne!(read("1e300").blocks, read("-1e300").blocks);
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
        json!([{"role": "user", "content": null}]),
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
fn text_counts_without_its_escapes() {
    let plain = r#"[{"content":"中\n"}]"#;
    let escaped = r#"[{"content":"\u4e2d\u000a"}]"#;
    let read = |text| {
        let mut json = serde_json::Deserializer::from_str(text);
        Messages::read(&mut json, BlockSize::new(1).unwrap()).unwrap()
    };
    assert_eq!(read(plain), read(escaped));
}

#[test]
fn cache_marks_that_move_with_the_turns_change_nothing() {
    let mark = json!({"type": "ephemeral"});
    let part = json!({"type": "text", "text": "long enough for a few blocks"});
    let mut marked = part.clone();
    marked["cache_control"] = mark.clone();
    assert_eq!(
        blocks(&parts(&json!([marked]))),
        blocks(&parts(&json!([part])))
    );
}

fn message() -> impl Strategy<Value = Json> {
    let content = prop_oneof![
        ".{0,20}".prop_map(Json::from),
        Just(Json::Null),
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
    fn a_growing_chat_keeps_its_earlier_blocks(
        messages in proptest::collection::vec(message(), 2..6),
        size in 1_u32..20,
    ) {
        let read = |messages: &[Json]| {
            let text = Json::from(messages).to_string();
            let mut json = serde_json::Deserializer::from_str(&text);
            Messages::read(&mut json, BlockSize::new(size).unwrap()).unwrap().unwrap()
        };
        let whole = read(&messages);
        for length in 1..messages.len() {
            let start = read(&messages[..length]);
            prop_assert_eq!(&whole.blocks[..start.blocks.len()], &start.blocks[..]);
            prop_assert!(start.tokens < whole.tokens);
        }
    }

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
