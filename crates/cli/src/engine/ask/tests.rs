use serde_json::{Value, json};

use super::*;

fn parse(dialect: Dialect, body: &Value) -> Result<Ask, Problem> {
    Ask::parse(dialect, body.to_string().as_bytes())
}

fn prompt_of(messages: &Value) -> String {
    let body = json!({ "model": "m", "messages": messages });
    let ask = parse(Dialect::Chat, &body).unwrap();
    String::from_utf8(ask.prompts[0].clone()).unwrap()
}

#[test]
fn a_chat_is_rendered_turn_by_turn_up_to_the_answer() {
    let prompt = prompt_of(&json!([
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": "Hi" },
    ]));
    assert_eq!(
        prompt,
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n\
         <|im_start|>assistant\n"
    );
}

#[test]
fn b04_tool_calls_and_missing_content_are_legal_and_part_of_the_prompt() {
    let calls = json!([{ "id": "c1", "type": "function",
        "function": { "name": "f", "arguments": "{}" } }]);
    for first in [
        json!({ "role": "assistant", "content": null, "tool_calls": calls }),
        json!({ "role": "assistant", "content": "", "tool_calls": calls }),
        json!({ "role": "assistant", "tool_calls": calls }),
    ] {
        let answer = json!({ "role": "tool", "tool_call_id": "c1", "content": "42" });
        let prompt = prompt_of(&json!([first, answer]));
        assert!(prompt.contains(&calls.to_string()), "{prompt}");
    }
}

#[test]
fn b05_another_image_is_another_prompt_and_the_same_one_the_same() {
    let with_image = |url: &str| {
        prompt_of(&json!([{ "role": "user", "content": [
            { "type": "text", "text": "What is this?" },
            { "type": "image_url", "image_url": { "url": url } },
        ] }]))
    };
    assert_ne!(
        with_image("data:image/png;base64,AA"),
        with_image("https://x/y")
    );
    assert_eq!(with_image("https://x/y"), with_image("https://x/y"));
    assert!(with_image("https://x/y").contains("What is this?{"));
}

#[test]
fn b02_every_legal_shape_of_a_prompt_is_taken() {
    let cases = [
        (json!("ab"), vec![b"ab".to_vec()]),
        (json!(["a", "b"]), vec![b"a".to_vec(), b"b".to_vec()]),
        (json!([1, 2]), vec![vec![1, 0, 0, 0, 2, 0, 0, 0]]),
        (json!([[1], [2]]), vec![vec![1, 0, 0, 0], vec![2, 0, 0, 0]]),
    ];
    for (prompt, prompts) in cases {
        let body = json!({ "model": "m", "prompt": prompt });
        assert_eq!(parse(Dialect::Text, &body).unwrap().prompts, prompts);
    }
}

#[test]
fn a_wrong_request_is_answered_400_and_names_the_member() {
    let chat = [
        (
            json!({ "messages": [{ "role": "user", "content": "x" }] }),
            "model",
        ),
        (json!({ "model": "m" }), "messages"),
        (json!({ "model": "m", "messages": [] }), "messages"),
        (json!({ "model": "m", "messages": "x" }), "messages"),
        (
            json!({ "model": "m", "messages": [{ "role": "u" }], "max_tokens": 0 }),
            "max_tokens",
        ),
        (
            json!({ "model": "m", "messages": [{ "role": "u" }], "n": 2 }),
            "n",
        ),
    ];
    let text = [
        (json!({ "prompt": "x" }), "model"),
        (json!({ "model": "m" }), "prompt"),
        (json!({ "model": "m", "prompt": "" }), "prompt"),
        (json!({ "model": "m", "prompt": [] }), "prompt"),
        (json!({ "model": "m", "prompt": ["a", 1] }), "prompt"),
        (json!({ "model": "m", "prompt": ["a", ""] }), "prompt"),
    ];
    let chat = chat
        .iter()
        .map(|(body, param)| (Dialect::Chat, body, param));
    let text = text
        .iter()
        .map(|(body, param)| (Dialect::Text, body, param));
    for (dialect, body, param) in chat.chain(text) {
        let problem = parse(dialect, body).expect_err("a wrong request");
        let error: Value = serde_json::from_str(&problem.body()).unwrap();
        assert_eq!(error["error"]["code"], 400, "{body}");
        assert_eq!(error["error"]["param"], *param, "{body}");
    }
}

#[test]
fn what_is_not_json_is_answered_400() {
    for body in ["", "{", "[]", "{\"model\": 1}"] {
        let problem = Ask::parse(Dialect::Chat, body.as_bytes()).unwrap_err();
        assert_eq!(problem.status, http::StatusCode::BAD_REQUEST);
    }
}

#[test]
fn unknown_members_and_nulls_pass() {
    let body = json!({
        "model": "m", "prompt": "x", "stream": null, "stream_options": null, "max_tokens": null,
        "n": null, "messages": 7, "temperature": "hot", "tools": [{ "type": "function" }],
    });
    let ask = parse(Dialect::Text, &body).unwrap();
    assert!(!ask.stream && !ask.include_usage);
    assert_eq!(ask.output_tokens, None);
}

#[test]
fn the_newer_name_of_the_output_length_wins() {
    let body = json!({ "model": "m", "prompt": "x", "max_tokens": 5, "max_completion_tokens": 7 });
    let ask = parse(Dialect::Text, &body).unwrap();
    assert_eq!(ask.output_tokens, NonZeroU32::new(7));
}
