use super::*;

/// Members of every kind that dialects read, whose facts must not depend on their order.
fn members() -> Vec<(&'static str, Value)> {
    let message = json!({"role": "user", "content": "Which train is next, and on which track?"});
    vec![
        ("model", json!("m")),
        ("messages", json!([message])),
        ("input", json!([message])),
        ("prompt", json!("Which train is next?")),
        ("token_ids", json!([1, 2, 3])),
        ("text", json!("Which train is next?")),
        ("input_ids", json!([1, 2, 3])),
        ("image_data", json!(["data:image/png;base64,AAAA"])),
        ("items", json!([message])),
        (
            "tools",
            json!([{"name": "switch", "input_schema": {"type": "object"}}]),
        ),
        (
            "system",
            json!([{"type": "text", "text": "You are a pointsman."}]),
        ),
        ("instructions", json!("You are a pointsman.")),
        (
            "features",
            json!({
                "mm_hashes": {"image": ["a"]},
                "mm_placeholders": {"image": [{"offset": 1, "length": 1}]},
            }),
        ),
        ("content_parts", json!([{"type": "image_url", "url": "u"}])),
        ("reasoning", json!({"effort": "low"})),
        (
            "thinking",
            json!({"type": "disabled", "budget_tokens": 1024}),
        ),
        ("reasoning_effort", json!("high")),
        ("max_tokens", json!(5)),
        ("max_completion_tokens", json!(7)),
        (
            "sampling_params",
            json!({"max_tokens": 5, "max_new_tokens": 7, "n": 2}),
        ),
        ("cache_salt", json!("s")),
        ("user", json!("u")),
        ("safety_identifier", json!("v")),
        ("stream", json!(true)),
        ("previous_response_id", json!("r")),
        ("conversation", json!({"id": "c"})),
        ("chat_template_kwargs", json!({"enable_thinking": false})),
        ("response_format", json!({"type": "json_object"})),
    ]
}

proptest! {
    #[test]
    fn the_order_of_members_never_changes_the_facts(
        shuffled in Just(members()).prop_shuffle(),
        path in prop::sample::select(SMALLEST.map(|(path, _)| path).to_vec()),
    ) {
        let body = |members: &[(&str, Value)]| {
            let members: Vec<_> = members.iter().map(|(n, v)| format!(r#""{n}":{v}"#)).collect();
            format!("{{{}}}", members.join(","))
        };
        // Responses has another `text`, of no use there.
        prop_assert_eq!(read(path, &body(&shuffled)), read(path, &body(&members())));
    }

    #[test]
    fn a_growing_chat_keeps_its_earlier_blocks(
        messages in proptest::collection::vec(any_json(), 2..6),
        tools in any_json(),
        size in 1_u32..20,
    ) {
        let block = BlockSize::new(size).unwrap();
        for path in [CHAT, RESPONSES, MESSAGES] {
            let read = |messages: &[Value]| {
                let body = json!({
                    "model": "m", "messages": messages, "input": messages, "tools": tools,
                    "system": tools, "instructions": tools,
                });
                let body = [Bytes::from(body.to_string())];
                with_body(&post(path), &body, block).unwrap().facts.prompt
            };
            let whole = read(&messages);
            for length in 1..messages.len() {
                let start = read(&messages[..length]);
                prop_assert_eq!(&whole.blocks[..start.blocks.len()], &start.blocks[..]);
                prop_assert!(start.tokens <= whole.tokens);
            }
        }
    }

    #[test]
    fn every_member_of_the_prompt_changes_the_key(
        one in any_json(),
        two in any_json(),
        path in prop::sample::select(&[CHAT, MESSAGES, RESPONSES][..]),
    ) {
        let end = json!({"role": "user", "content": "long enough to fill the last block"});
        let facts = |value: &Value| {
            let messages = json!([{"role": "user", "metadata": value}, end]);
            keys(&read_json(path, &json!({"model": "m", "messages": messages, "input": messages})))
        };
        // What is null says nothing.
        prop_assert_eq!(one == two, facts(&one) == facts(&two));
    }
}
