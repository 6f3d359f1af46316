use super::*;

fn refused(path: &str, body: &str) -> Rejection {
    reading(path, body).unwrap_err()
}

fn assert_rejected(path: &str, members: &str, field: &str, word: &str) {
    let rejection = refused(path, &format!("{{{members}}}"));
    let text = rejection.to_string();
    assert_eq!(rejection.field(), Some(field), "{path} {members}");
    assert!(text.contains(&format!("`{field}`")), "{text}");
    assert!(text.contains(word), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn a_wrong_model_is_named_with_its_remedy() {
    for (member, word) in [
        (r#","model":7"#, "wrong type"),
        (r#","model":false"#, "wrong type"),
        (r#","model":["secret"]"#, "wrong type"),
        (r#","model":{"secret":1}"#, "wrong type"),
    ] {
        for (path, prompt) in [
            (CHAT, r#""messages":[{"role":"user","content":"secret"}]"#),
            (
                MESSAGES,
                r#""messages":[{"role":"user","content":"secret"}]"#,
            ),
            (COMPLETIONS, r#""prompt":"secret""#),
            (EMBEDDINGS, r#""input":"secret""#),
            (RESPONSES, r#""input":"secret""#),
        ] {
            assert_rejected(path, &format!("{prompt}{member}"), "model", word);
        }
    }
}

#[test]
fn a_missing_or_wrong_or_empty_prompt_is_named_with_its_remedy() {
    const COUNT: &str = "/v1/messages/count_tokens";
    const IMAGES: &str = "/v1/images/generations";
    const GENERATE: &str = "/inference/v1/generate";
    const SGLANG: &str = "/generate";
    for (path, field, wrong, empty) in [
        (CHAT, "messages", r#""secret" null {} 7"#, "[]"),
        (MESSAGES, "messages", r#""secret" null"#, "[]"),
        (COUNT, "messages", r#""secret" null"#, "[]"),
        (
            COMPLETIONS,
            "prompt",
            r#"null {"secret":1} ["secret",1] 7"#,
            r#""" []"#,
        ),
        (
            EMBEDDINGS,
            "input",
            r#"7 [null] [[1],"secret"]"#,
            r#""" []"#,
        ),
        (RESPONSES, "input", "7 {} null", r#""" []"#),
        (IMAGES, "prompt", "7 {}", r#""""#),
        (
            GENERATE,
            "token_ids",
            r#""secret" ["secret"] [-1] {}"#,
            "[]",
        ),
        (SGLANG, "text", "7 [null]", r#""" []"#),
    ] {
        assert_rejected(path, r#""model":"secret""#, field, "missing");
        for (values, word) in [(wrong, "wrong type"), (empty, "empty")] {
            for value in values.split(' ') {
                let members = format!(r#""model":"secret","{field}":{value}"#);
                assert_rejected(path, &members, field, word);
            }
        }
    }
}

#[test]
fn where_either_of_two_can_be_the_prompt_the_fault_is_of_the_one_that_came() {
    assert_rejected(
        EMBEDDINGS,
        r#""model":"m","messages":[]"#,
        "messages",
        "empty",
    );
    assert_rejected(
        EMBEDDINGS,
        r#""model":"m","messages":"secret""#,
        "messages",
        "wrong type",
    );
    assert_rejected(
        "/generate",
        r#""input_ids":["secret"]"#,
        "input_ids",
        "wrong type",
    );
    for body in [
        r#"{"model":"m","input":null,"messages":[{"role":"user","content":"x"}]}"#,
        r#"{"model":"m","input":"x","messages":null}"#,
    ] {
        assert!(reading(EMBEDDINGS, body).is_ok());
    }
    for body in [
        r#"{"text":null,"input_ids":[1]}"#,
        r#"{"input_ids":null,"text":"x"}"#,
    ] {
        assert!(reading("/generate", body).is_ok());
    }
}

#[test]
fn a_prompt_that_lies_elsewhere_is_not_demanded() {
    for (path, body) in [
        (COMPLETIONS, r#"{"model":"m","prompt_embeds":"AAAA"}"#),
        (
            COMPLETIONS,
            r#"{"model":"m","prompt":null,"prompt_embeds":["AAAA"]}"#,
        ),
        (RESPONSES, r#"{"model":"m","prompt":{"id":"p"}}"#),
        (RESPONSES, r#"{"model":"m","previous_response_id":"r"}"#),
        (RESPONSES, r#"{"model":"m","conversation":{"id":"c"}}"#),
        ("/generate", r#"{"input_embeds":[[0.1,0.2]]}"#),
    ] {
        assert!(reading(path, body).is_ok(), "{body}");
        let null = body
            .replace(r#""AAAA""#, "null")
            .replace(r#"["null"]"#, "null");
        assert!(reading(path, &null).is_ok() || null.contains(r#"_embeds":null"#));
    }
    assert_rejected(
        COMPLETIONS,
        r#""model":"m","prompt_embeds":null"#,
        "prompt",
        "missing",
    );
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for (path, body) in SMALLEST.map(|(path, _)| (path, "[]")) {
        let is_refused = reading(path, body) == Err(Rejection::NotAnObject);
        let demands = dialect::form(post(path).dialect())
            .unwrap()
            .demands_nothing();
        assert_eq!(is_refused, !demands, "{path}");
    }
    for body in ["7", r#""secret""#, "null", r#"[{"model":"m"}]"#] {
        assert_eq!(refused(CHAT, body), Rejection::NotAnObject, "{body}");
    }
}

#[test]
fn only_a_fault_of_one_member_has_a_field() {
    for (body, field) in [
        ("[]", None),
        ("secret", None),
        (r#"{"model":"m"}"#, Some("messages")),
        (r#"{"model":"m","messages":[]}"#, Some("messages")),
        (r#"{"model":7,"messages":["x"]}"#, Some("model")),
    ] {
        assert_eq!(refused(CHAT, body).field(), field, "{body}");
    }
}

#[test]
fn a_body_that_is_no_json_is_refused_with_the_place_of_the_fault() {
    for (body, at) in [
        ("secret", 0),
        ("{", 1),
        (r#"{"model":"m"} secret"#, 14),
        (r#"{secret:1}"#, 1),
        (" ", 1),
        (r#"{"model":"m","messages":[{"content":"secret"}"#, 45),
        (&format!(r#"{{"a":{}"#, "[".repeat(2000)), 5 + 1023),
    ] {
        let rejection = refused(CHAT, body);
        assert!(matches!(rejection, Rejection::NotJson { .. }), "{body}");
        let text = rejection.to_string();
        assert!(!text.contains("secret"));
        assert!(text.contains(&format!("at byte {at})")), "{text}");
    }
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    let marked = "\u{feff}{\"model\":\"m\",\"prompt\":\"x\"}";
    let plain = read(COMPLETIONS, &marked[3..]);
    assert_eq!(read(COMPLETIONS, marked).prompt, plain.prompt);
}

#[test]
fn b03_members_that_are_not_read_are_never_refused() {
    let nested = "[".repeat(900) + &"]".repeat(900);
    for unread in [
        r#""tools":[{"type":"function","function":{"name":"f"}}]"#,
        r#""tools":"none""#,
        r#""tools":[[null,{"function":7}]]"#,
        r#""temperature":1e400"#,
        r#""seed":123456789012345678901234567890"#,
        r#""unknown":{"a":[null,{}]}"#,
        r#""lone_surrogate":"\ud800""#,
        r#""system":{"a":1}"#,
        r#""instructions":7"#,
        &format!(r#""nested":{nested}"#),
        &format!(r#""tools":{nested}"#),
        &format!(r#""reasoning":{nested}"#),
    ] {
        for (path, body) in SMALLEST {
            let body = format!("{}{}{unread}}}", &body[..body.len() - 1], comma(body));
            assert!(reading(path, &body).is_ok(), "{path} {body}");
        }
    }
}

fn comma(body: &str) -> &'static str {
    if body == "{}" { "" } else { "," }
}

#[test]
fn b04_turns_with_tool_calls_are_read_whatever_their_content() {
    let tool = json!({"role": "tool", "tool_call_id": "c1", "content": "42"});
    let calls =
        json!([{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]);
    let facts = |messages: Value| read_json(CHAT, &json!({"model": "m", "messages": messages}));
    let with_null = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let without = json!({"role": "assistant", "tool_calls": calls});
    let with_empty = json!({"role": "assistant", "content": "", "tool_calls": calls});
    for assistant in [&with_null, &without, &with_empty] {
        let with_calls = keys(&facts(json!([assistant, tool])));
        assert!(!with_calls.is_empty());
        let mut other = assistant.clone();
        other["tool_calls"][0]["function"]["arguments"] = json!("{\"x\":1}");
        assert_ne!(keys(&facts(json!([other, tool]))), with_calls);
        let mut other = tool.clone();
        other["tool_call_id"] = json!("c2");
        assert_ne!(keys(&facts(json!([assistant, other]))), with_calls);
    }
    // Engines render both as nothing.
    assert_eq!(
        keys(&facts(json!([with_null, tool]))),
        keys(&facts(json!([without, tool])))
    );
}
