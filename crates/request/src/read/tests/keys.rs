use super::*;

/// A chat that is long enough for what comes before it to lie in full blocks.
fn messages() -> Value {
    json!([
        {"role": "system", "content": "You are a pointsman at a busy junction."},
        {"role": "user", "content": "Which train is next, and on which track?"},
    ])
}

fn body(path: &str) -> Value {
    match path {
        RESPONSES => json!({"model": "m", "input": messages()}),
        COMPLETIONS => json!({"model": "m", "prompt": "Which train is next?"}),
        _ => json!({"model": "m", "messages": messages()}),
    }
}

#[test]
fn each_template_input_changes_the_key_and_none_gives_zero() {
    let chat = [
        "tool_choice",
        "response_format",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "chat_template",
        "chat_template_kwargs",
        "add_generation_prompt",
        "continue_final_message",
        "documents",
        "functions",
        "function_call",
        "enable_thinking",
        "thinking_budget",
        "thinking_token_budget",
        "add_special_tokens",
        "truncate_prompt_tokens",
        "mm_processor_kwargs",
        "media_io_kwargs",
        "cache_salt",
        "lora_path",
        "extra_key",
    ];
    let responses = [
        "tool_choice",
        "reasoning",
        "text",
        "previous_response_id",
        "conversation",
        "prompt",
        "truncation",
        "previous_input_messages",
    ];
    let anthropic = [
        "tool_choice",
        "thinking",
        "output_config",
        "output_format",
        "mcp_servers",
        "context_management",
    ];
    let completions = ["suffix", "prompt_embeds", "add_special_tokens"];
    for (path, names) in [
        (CHAT, &chat[..]),
        (RESPONSES, &responses),
        (MESSAGES, &anthropic),
        ("/v1/messages/count_tokens", &anthropic),
        (COMPLETIONS, &completions),
    ] {
        let base = body(path);
        assert_eq!(read_json(path, &base).template_inputs, 0);
        let unrelated = json!({"user": "u", "temperature": 1, "stream": true, "tools": null});
        assert_eq!(read_json(path, &with(&base, &unrelated)).template_inputs, 0);
        let mut hashes = vec![0];
        for name in names {
            let null = read_json(path, &with(&base, &json!({*name: null})));
            assert_eq!(null.template_inputs, 0, "{path} {name}");
            for value in [json!(true), json!("true"), json!([1]), json!({"a": 1})] {
                let facts = read_json(path, &with(&base, &json!({*name: value})));
                assert_eq!(shared(&facts, &read_json(path, &base)), 0);
                hashes.push(facts.template_inputs);
            }
        }
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count, "{path}");
    }
}

#[test]
fn spaces_and_escapes_change_no_key() {
    let tight = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a\nb"}]}],"tools":[{"name":"f","n":1.5}],"reasoning":{"effort":"low","x":[1,2]}}"#;
    let loose = r#"{ "model" : "m" , "messages" : [ { "role" : "user" ,
        "content":[ { "type" : "t\u0065xt", "text" : "a\u000Ab" } ] } ],
        "tools": [ {"n\u0061me" : "f" , "n": 1.5 } ] ,
        "reasoning" : { "effort" : "low", "x" : [ 1 , 2 ] } } "#;
    let (tight, loose) = (read(CHAT, tight), read(CHAT, loose));
    assert_eq!(keys(&loose), keys(&tight));
    assert_eq!(loose.prompt.tokens, tight.prompt.tokens);
}

#[test]
fn tools_and_system_prompts_are_shared_and_counted() {
    let tools =
        json!([{"name": "switch", "description": "Sets the points so that a train turns."}]);
    let system = "You are a pointsman at a very busy junction.";
    let ask = |text: &str, system: &str| {
        let messages = json!([{"role": "user", "content": text}]);
        let prompt = match system {
            "" => json!({"model": "m", "tools": tools, "messages": messages}),
            _ => json!({"model": "m", "tools": tools, "system": system, "messages": messages}),
        };
        read_json(MESSAGES, &prompt)
    };
    let (one, two) = (
        ask("one train, please", system),
        ask("two trains, please", system),
    );
    let text = tools.to_string().len() / 2 + system.len();
    assert!(shared(&one, &two) * 4 > text);
    assert!(one.prompt.tokens.0 as usize * 4 > text);
    // Another system prompt, or none, still shares the tools.
    for other in [
        ask("one train, please", "You are a baker."),
        ask("one train, please", ""),
    ] {
        let common = shared(&one, &other);
        assert!(common > 0 && common < shared(&one, &two));
    }
    let bare = read_json(
        MESSAGES,
        &json!({"model": "m", "messages": [{"role": "user", "content": "one train, please"}]}),
    );
    assert_eq!(shared(&one, &bare), 0);
}

#[test]
fn a_prompt_has_one_block_for_each_part_more_than_tokens_at_most() {
    for size in [1, 7, 64] {
        let block = BlockSize::new(size).unwrap();
        for length in 0..40 {
            let text = "x".repeat(length);
            let body = json!({"model": "m", "tools": [text], "system": text, "messages": [text]});
            let body = [Bytes::from(body.to_string())];
            let prompt = with_body(&post(MESSAGES), &body, block)
                .unwrap()
                .facts
                .prompt;
            // Tools and system prompt are closed, and each begins with a byte of ours.
            let blocks = prompt.blocks.len().saturating_sub(2) as u64;
            assert!(blocks * u64::from(size) <= prompt.tokens.0);
            assert!(prompt.tokens.0 <= length as u64 + 8, "{size} {length}");
        }
    }
}

#[test]
fn parts_that_say_nothing_are_no_parts() {
    let base = body(MESSAGES);
    let bare = read_json(MESSAGES, &base);
    for nothing in [
        json!({"tools": []}),
        json!({"tools": null}),
        json!({"system": ""}),
        json!({"system": []}),
        json!({"system": null}),
    ] {
        let facts = read_json(MESSAGES, &with(&base, &nothing));
        assert_eq!(keys(&facts), keys(&bare), "{nothing}");
    }
    let odd = [
        json!({"tools": {"a": 1}}),
        json!({"tools": "none"}),
        json!({"system": {"text": "x"}}),
        json!({"system": 7}),
    ];
    for odd in odd {
        assert_ne!(
            keys(&read_json(MESSAGES, &with(&base, &odd))),
            keys(&bare),
            "{odd}"
        );
    }
}

#[test]
fn a_providers_note_is_no_part_of_the_system_prompt() {
    let system = |system: Value| {
        let facts = read_json(MESSAGES, &with(&body(MESSAGES), &json!({"system": system})));
        (keys(&facts), facts.prompt.tokens)
    };
    let prompt = json!({"type": "text", "text": "You are a pointsman."});
    let expected = system(json!([prompt]));
    for note in [
        "x-anthropic-billing-header: cc_version=2; cch=1",
        "x-anthropic-billing-header",
    ] {
        let note = json!({"type": "text", "text": note});
        assert_eq!(system(json!([note, prompt])), expected);
        assert_eq!(system(json!([prompt, note])), expected);
    }
    for other in ["x-anthropic-billing", "see x-anthropic-billing-header", ""] {
        let other = json!({"type": "text", "text": other});
        assert_ne!(system(json!([other, prompt])), expected);
    }
    // Only blocks are such notes.
    let text = "x-anthropic-billing-header";
    assert_ne!(
        system(json!(text)).0,
        keys(&read_json(MESSAGES, &body(MESSAGES)))
    );
}

#[test]
fn what_a_server_remembers_changes_the_whole_key() {
    let base = read_json(RESPONSES, &body(RESPONSES));
    for remembered in [
        json!({"previous_response_id": "r1"}),
        json!({"conversation": "c1"}),
        json!({"conversation": {"id": "c1"}}),
        json!({"prompt": {"id": "p1", "variables": {"a": "b"}}}),
    ] {
        let facts = read_json(RESPONSES, &with(&body(RESPONSES), &remembered));
        assert_eq!(shared(&facts, &base), 0, "{remembered}");
    }
}

#[test]
fn a_salt_of_any_type_changes_the_key() {
    let key = |member: &str| {
        let facts = read(
            CHAT,
            &format!(r#"{{"model":"m","messages":[{{"role":"user"}}]{member}}}"#),
        );
        (facts.cache_salt, facts.template_inputs)
    };
    let members = [
        "",
        r#","cache_salt":"a""#,
        r#","cache_salt":["a"]"#,
        r#","cache_salt":["b"]"#,
        r#","extra_key":"a""#,
        r#","extra_key":["a","b"]"#,
        r#","cache_salt":"a","extra_key":"b""#,
    ];
    for (index, member) in members.iter().enumerate() {
        for other in &members[..index] {
            assert_ne!(key(member), key(other), "{member} {other}");
        }
    }
}

#[test]
fn parts_that_are_written_alike_give_different_keys() {
    let media = |name: &str| {
        read(
            "/generate",
            &format!(r#"{{"text":"a long text","{name}":"u"}}"#),
        )
    };
    let names = ["image_data", "video_data", "audio_data"];
    for (index, name) in names.iter().enumerate() {
        for other in &names[..index] {
            assert_eq!(shared(&media(name), &media(other)), 0, "{name} {other}");
        }
    }
    let part = |name: &str| {
        let text = json!("A text that is long enough for blocks.");
        read_json(MESSAGES, &with(&body(MESSAGES), &json!({name: text})))
    };
    assert_eq!(shared(&part("tools"), &part("system")), 0);
    // A part with nothing but a provider's note is none.
    let note = json!([{"type": "text", "text": "x-anthropic-billing-header"}]);
    let noted = read_json(MESSAGES, &with(&body(MESSAGES), &json!({"system": note})));
    assert_eq!(keys(&noted), keys(&read_json(MESSAGES, &body(MESSAGES))));
}
