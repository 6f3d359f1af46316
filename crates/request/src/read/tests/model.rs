use super::*;

fn place(path: &str, body: &str) -> Option<ModelPlace> {
    reading(path, body).unwrap().model_place
}

#[test]
fn b09_a_missing_model_is_told_and_not_refused() {
    for (path, body) in SMALLEST {
        let mut body: Value = serde_json::from_str(body).unwrap();
        body.as_object_mut().unwrap().remove("model");
        let expected = match path {
            CHAT | COMPLETIONS | EMBEDDINGS | RESPONSES | MESSAGES | "/inference/v1/generate" => {
                ModelName::Missing
            }
            "/generate" | "/v1/conversations" => ModelName::Unread,
            _ => ModelName::Absent,
        };
        assert_eq!(read_json(path, &body).model, expected, "{path}");
        body["model"] = Value::Null;
        assert_eq!(read_json(path, &body).model, expected, "{path}");
        body["model"] = json!("named");
        let facts = read_json(path, &body);
        if path != "/generate" {
            assert_eq!(facts.model.name(), Some("named"), "{path}");
        }
    }
}

#[test]
fn where_a_model_stands_is_told_in_bytes_of_the_whole_body() {
    let body = r#" {"a":"model","model" : "m\u0031" ,"messages":[{"model":"x"}]}"#;
    let value = r#""m\u0031""#;
    let start = body.find(value).unwrap() as u64;
    let expected = ModelPlace::member(start, start + value.len() as u64);
    assert_eq!(place(CHAT, body), Some(expected));

    let marked = format!("\u{feff}{body}");
    let expected = ModelPlace::member(start + 3, start + 3 + value.len() as u64);
    assert_eq!(place(CHAT, &marked), Some(expected));

    let twice = r#"{"model":"one","model":null,"messages":[1]}"#;
    let start = twice.find("null").unwrap() as u64;
    assert_eq!(
        place(CHAT, twice),
        Some(ModelPlace::member(start, start + 4))
    );
}

#[test]
fn a_body_without_a_model_tells_where_one_can_be_added() {
    assert_eq!(
        place(CHAT, r#"  {"messages":[1]}"#),
        Some(ModelPlace::new_member(3, false))
    );
    assert_eq!(
        place("/v1/rerank", "{ }"),
        Some(ModelPlace::new_member(1, true))
    );
    assert_eq!(place("/generate", r#"{"model":"m","text":"x"}"#), None);
    assert_eq!(place("/v1/rerank", "[]"), None);
    assert_eq!(place("/v1/rerank", r#"{"model":"m"} x"#), None);
}

#[test]
fn an_empty_model_is_a_missing_one_whose_place_is_known() {
    let body = r#"{"model":"","prompt":"x"}"#;
    let reading = reading(COMPLETIONS, body).unwrap();
    assert_eq!(reading.facts.model, ModelName::Missing);
    assert_eq!(reading.model_place, Some(ModelPlace::member(9, 11)));
}

#[test]
fn no_model_is_added_to_a_conversation_that_names_none() {
    for none in [
        "{}",
        r#"{"items":[]}"#,
        r#"{"model":null}"#,
        r#"{"model":7}"#,
        r#"{"model":""}"#,
    ] {
        let reading = reading("/v1/conversations", none).unwrap();
        assert_eq!(reading.facts.model, ModelName::Unread, "{none}");
        assert_eq!(reading.model_place, None, "{none}");
    }
    let named = reading("/v1/conversations", r#"{"model":"m"}"#).unwrap();
    assert_eq!(named.facts.model.name(), Some("m"));
    assert_eq!(named.model_place, Some(ModelPlace::member(9, 12)));
}

#[test]
fn a_model_with_a_name_beyond_the_limit_is_routed_by_load() {
    let text = "x".repeat(4000);
    let facts = |model: &str| {
        let body = format!(r#"{{"model":"{model}","prompt":"{text}","max_tokens":7}}"#);
        read(COMPLETIONS, &body)
    };
    // Counted as it is meant, not as it is written.
    let longest = facts(&r"\u0061".repeat(256));
    assert_eq!(longest.model.name(), Some(&*"a".repeat(256)));
    assert!(!keys(&longest).is_empty());

    for length in [257, 17 << 20] {
        let longer = facts(&"a".repeat(length));
        assert_eq!(longer.model, ModelName::Absent);
        assert!(keys(&longer).is_empty());
        assert_eq!(longer.prompt.tokens, longest.prompt.tokens);
        assert_eq!(longer.output_tokens_max, Some(Tokens(7)));
        assert!(longer.body_bytes > length as u64);
    }
}

#[test]
fn a_model_whose_name_is_no_text_is_routed_by_load() {
    let lone_surrogate = r#"{"model":"\ud800","prompt":"x"}"#;
    assert_eq!(read(COMPLETIONS, lone_surrogate).model, ModelName::Absent);
    let body = Bytes::from_static(b"{\"model\":\"m\xff\",\"prompt\":\"x\"}");
    let reading = with_body(&post(COMPLETIONS), &[body], BlockSize::DEFAULT).unwrap();
    assert_eq!(reading.facts.model, ModelName::Absent);
}

#[test]
fn only_the_last_model_of_the_top_level_counts() {
    let facts = read(
        CHAT,
        r#"{"reasoning":{"model":"a"},"model":7,"messages":[{"model":"b"}],"model":"m","x":{"model":1}}"#,
    );
    assert_eq!(facts.model.name(), Some("m"));
}

#[test]
fn a_path_that_demands_nothing_is_never_refused() {
    for path in [
        "/v1/rerank",
        "/tokenize",
        "/v1/conversations",
        "/v1/audio/transcriptions",
    ] {
        for body in [
            "",
            "x",
            "[]",
            "null",
            r#"{"model":7}"#,
            r#"{"model":""}"#,
            r#"{"model":"m""#,
            r#"{"model":"m"} trailing"#,
            &"[".repeat(5000),
        ] {
            let facts = reading(path, &format!(" {body}")).unwrap().facts;
            let expected = match path {
                "/v1/conversations" => ModelName::Unread,
                _ => ModelName::Absent,
            };
            assert_eq!(facts.model, expected, "{path} {body}");
        }
    }
}
