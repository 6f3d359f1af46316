use serde_json::{Value, json};

use super::*;

fn answer(dialect: Dialect) -> Answer {
    Answer {
        dialect,
        id: "id-1".to_owned(),
        created: 7,
        model: "m".to_owned(),
        finish_reason: FinishReason::Length,
        texts: vec!["one two ".to_owned()],
        output_tokens: 2,
        prompt_tokens: 9,
        cached_tokens: 0,
        completion_tokens: 0,
    }
}

fn events(buffer: &[u8]) -> Vec<Value> {
    let text = core::str::from_utf8(buffer).unwrap();
    let events = text.split_terminator("\n\n");
    events
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

#[test]
fn a_chat_stream_opens_with_the_role_and_ends_with_the_reason() {
    let mut buffer = Vec::new();
    answer(Dialect::Chat).write_token(0, 0, &mut buffer);
    answer(Dialect::Chat).write_token(0, 1, &mut buffer);
    let chunk = |choice: Value| {
        json!({ "id": "id-1", "object": "chat.completion.chunk", "created": 7, "model": "m",
            "choices": [choice] })
    };
    assert_eq!(
        events(&buffer),
        [
            chunk(
                json!({ "index": 0, "delta": { "role": "assistant", "content": "" },
                "logprobs": null, "finish_reason": null })
            ),
            chunk(json!({ "index": 0, "delta": { "content": "one " },
                "logprobs": null, "finish_reason": null })),
            chunk(json!({ "index": 0, "delta": { "content": "two " },
                "logprobs": null, "finish_reason": "length", "stop_reason": null })),
        ]
    );
}

#[test]
fn a_text_stream_has_no_role() {
    let mut buffer = Vec::new();
    answer(Dialect::Text).write_token(0, 0, &mut buffer);
    assert_eq!(
        events(&buffer),
        [
            json!({ "id": "id-1", "object": "text_completion", "created": 7, "model": "m",
            "choices": [{ "index": 0, "text": "one ", "logprobs": null,
                "finish_reason": null }] })
        ]
    );
}

#[test]
fn usage_counts_what_was_noted_until_the_answer_is_complete() {
    let mut answer = answer(Dialect::Chat);
    assert!(!answer.note(Progress::Admitted { cached_tokens: 4 }));
    assert!(!answer.note(Progress::Token {
        choice: 0,
        index: 0
    }));
    assert!(answer.note(Progress::Token {
        choice: 0,
        index: 1
    }));
    let mut buffer = Vec::new();
    answer.write_usage(&mut buffer);
    let event = &events(&buffer)[0];
    assert_eq!(event["choices"], json!([]));
    assert_eq!(
        event["usage"],
        json!({ "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11,
            "prompt_tokens_details": { "cached_tokens": 4 } })
    );
}

#[test]
fn a_document_holds_every_choice() {
    let mut answer = answer(Dialect::Text);
    answer.texts.push("six ten ".to_owned());
    let document: Value = serde_json::from_slice(&answer.document()).unwrap();
    assert_eq!(document["object"], "text_completion");
    assert_eq!(document["choices"][0]["text"], "one two ");
    assert_eq!(document["choices"][1]["text"], "six ten ");
    assert_eq!(document["choices"][1]["index"], 1);
    assert_eq!(document["choices"][1]["finish_reason"], "length");
}
