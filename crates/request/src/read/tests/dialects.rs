use pointsman_domain::block::SaltHash;
use pointsman_domain::facts::{MediaKind, NameHash};

use super::*;

#[test]
fn the_smallest_body_of_each_dialect_is_read() {
    for (path, body) in SMALLEST {
        let facts = read(path, body);
        assert_eq!(facts.dialect, post(path).dialect());
        assert_ne!(facts.dialect, Dialect::Passthrough, "{path}");
        let has_prompt = body != "{}";
        assert_eq!(facts.prompt.tokens > Tokens::ZERO, has_prompt, "{path}");
        assert_eq!(
            facts.prompt.is_counted,
            body.contains("token_ids"),
            "{path}"
        );
    }
}

#[test]
fn b02_every_legal_shape_of_a_prompt_passes_and_ids_are_counted() {
    for (path, member) in [
        (COMPLETIONS, "prompt"),
        (EMBEDDINGS, "input"),
        ("/generate", "input_ids"),
    ] {
        for (prompt, ids) in [
            (json!([1, 2, 3]), 3),
            (json!([[1, 2], [3]]), 3),
            (json!([15496, 995]), 2),
        ] {
            let facts = read_json(path, &json!({"model": "m", member: prompt}));
            assert_eq!(facts.prompt.tokens, Tokens(ids), "{path} {prompt}");
            assert!(facts.prompt.is_counted);
        }
    }
    for (path, member) in [
        (COMPLETIONS, "prompt"),
        (EMBEDDINGS, "input"),
        ("/generate", "text"),
    ] {
        for prompt in [json!("a"), json!(["a", "b"])] {
            let facts = read_json(path, &json!({"model": "m", member: prompt}));
            assert!(facts.prompt.tokens > Tokens::ZERO, "{path} {prompt}");
            assert!(!facts.prompt.is_counted);
        }
    }
    // An empty text has no block that all would share.
    let block = BlockSize::DEFAULT;
    let body = [Bytes::from_static(br#"{"model":"m","prompt":[""]}"#)];
    let facts = with_body(&post(COMPLETIONS), &body, block).unwrap().facts;
    assert_eq!(facts.prompt.blocks, []);
}

#[test]
fn b06_tokens_are_counted_for_a_client_who_names_no_model_or_content() {
    let path = "/v1/messages/count_tokens";
    let whole = json!({
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}],
    });
    let facts = read_json(path, &whole);
    assert_eq!(facts.dialect, Dialect::CountTokens);
    assert_eq!(facts.model.name(), Some("m"));
    for bare in [
        json!({"messages": [{}]}),
        json!({"messages": [{"role": "user"}]}),
        json!({"messages": [null], "model": 7, "tools": 7, "system": {}}),
    ] {
        assert_eq!(read_json(path, &bare).model, ModelName::Absent, "{bare}");
    }
}

#[test]
fn rendering_is_read_as_what_is_rendered() {
    for (path, body) in [SMALLEST[0], SMALLEST[1]] {
        assert_eq!(read(&format!("{path}/render"), body), read(path, body));
    }
}

#[test]
fn each_prompt_of_a_list_is_answered_by_itself() {
    for (path, prompt, choices) in [
        (COMPLETIONS, r#""prompt":"a""#, 2),
        (COMPLETIONS, r#""prompt":["a","b","c"]"#, 6),
        (COMPLETIONS, r#""prompt":[1,2,3]"#, 2),
        (COMPLETIONS, r#""prompt":[[1,2],[3]]"#, 4),
        (COMPLETIONS, r#""prompt":["a","b","c"],"prompt":["a"]"#, 2),
        (CHAT, r#""messages":[{"role":"user"},{"role":"user"}]"#, 2),
    ] {
        let body = format!(r#"{{"model":"m","n":2,{prompt}}}"#);
        assert_eq!(read(path, &body).choices.get(), choices, "{body}");
    }
}

#[test]
fn caps_and_choices_are_read_where_each_dialect_has_them() {
    let sampling = json!({"max_tokens": 5, "max_new_tokens": 7, "n": 2});
    for (path, member, value, cap, choices) in [
        (CHAT, "max_tokens", json!(5), Some(5), 1),
        (COMPLETIONS, "max_tokens", json!(5), Some(5), 1),
        (COMPLETIONS, "max_completion_tokens", json!(5), None, 1),
        (COMPLETIONS, "n", json!(3), None, 3),
        (RESPONSES, "max_output_tokens", json!(5), Some(5), 1),
        (RESPONSES, "max_tokens", json!(5), None, 1),
        (MESSAGES, "max_tokens", json!(5), Some(5), 1),
        (
            "/inference/v1/generate",
            "sampling_params",
            sampling.clone(),
            Some(5),
            2,
        ),
        ("/inference/v1/generate", "max_tokens", json!(5), None, 1),
        ("/generate", "sampling_params", sampling.clone(), Some(7), 2),
        ("/generate", "sampling_params", json!([sampling]), None, 1),
        ("/v1/images/generations", "n", json!(4), None, 4),
        ("/v1/rerank", "n", json!(4), None, 1),
    ] {
        let (_, body) = SMALLEST.iter().find(|row| row.0 == path).unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let facts = read_json(path, &with(&body, &json!({member: value})));
        assert_eq!(facts.output_tokens_max, cap.map(Tokens), "{path} {member}");
        assert_eq!(facts.choices.get(), choices, "{path} {member}");
    }
}

#[test]
fn a_client_of_anthropics_is_known_by_its_metadata() {
    let body = json!({"model": "m", "messages": ["x"], "metadata": {"user_id": "u"}});
    assert_eq!(read_json(MESSAGES, &body).user, Some(NameHash::of(b"u")));
}

#[test]
fn embeddings_may_come_as_a_chat_or_as_objects_with_media() {
    let image = json!({"type": "image_url", "image_url": {"url": "data:a"}});
    for body in [
        json!({"model": "m", "messages": [{"role": "user", "content": [image]}]}),
        json!({"model": "m", "input": [{"text": "a cat", "image": "data:a"}]}),
    ] {
        let facts = read_json(EMBEDDINGS, &body);
        assert_eq!(facts.media.len(), 1, "{body}");
        assert_eq!(facts.media[0].kind, MediaKind::Image);
    }
}

#[test]
fn sglangs_own_form_is_read() {
    let facts = read(
        "/generate",
        r#"{"text":"<image> Which train is that?","image_data":["data:a","data:b"],"stream":true,
            "audio_data":"data:c","video_data":null,"extra_key":"s","model":"m",
            "sampling_params":{"regex":"a+"}}"#,
    );
    assert_eq!(facts.model, ModelName::Unread);
    assert!(facts.stream);
    assert!(facts.features.response_format);
    assert_eq!(facts.cache_salt, Some(SaltHash::of("s")));
    let kinds: Vec<_> = facts.media.iter().map(|item| item.kind).collect();
    assert_eq!(
        kinds,
        [MediaKind::Image, MediaKind::Image, MediaKind::Audio]
    );
    // A dialect without a model has keys all the same.
    assert!(!keys(&facts).is_empty());
    let other = read(
        "/generate",
        r#"{"text":"<image> Which train is that?","image_data":["data:a","data:x"]}"#,
    );
    let last = |facts: &RequestFacts| keys(facts).pop();
    assert_ne!(last(&facts), last(&other));
}

#[test]
fn items_of_a_conversation_are_read_and_not_demanded() {
    let path = "/v1/conversations";
    let items = json!({"items": [{"type": "message", "role": "user", "content": "x"}]});
    assert!(read_json(path, &items).session.is_some());
    for none in [
        json!({"items": "x"}),
        json!({"items": null}),
        json!({"items": []}),
        json!({"metadata": {"topic": "demo"}}),
    ] {
        assert_eq!(read_json(path, &none).prompt.tokens, Tokens::ZERO, "{none}");
    }
}

#[test]
fn where_only_the_model_matters_nothing_else_is_read() {
    for path in [
        "/v1/rerank",
        "/score",
        "/v1/classify",
        "/pooling",
        "/tokenize",
        "/detokenize",
    ] {
        let body = json!({
            "model": "m", "stream": true, "user": "u", "prompt": "x", "messages": ["x"],
            "query": "q", "documents": ["d"], "tokens": [1], "cache_salt": "s", "tools": [1],
        });
        let facts = read_json(path, &body);
        let expected = RequestFacts {
            dialect: Dialect::ByModel,
            model: ModelName::Named("m".into()),
            body_bytes: facts.body_bytes,
            ..RequestFacts::passthrough(BlockSize::new(1).unwrap())
        };
        assert_eq!(facts, expected);
    }
}

#[test]
fn a_body_that_came_compressed_is_read_like_the_same_body_as_it_is() {
    use std::io::Write as _;

    let body = SMALLEST[0].1;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(body.as_bytes()).unwrap();
    let coded = Bytes::from(encoder.finish().unwrap());
    let mut head = post(CHAT);
    head.header("content-encoding", b"gzip");
    let block = BlockSize::new(1).unwrap();
    let coded = with_body(&head, &[coded], block).unwrap();
    let plain = reading(CHAT, body).unwrap();
    let body_bytes = plain.facts.body_bytes;
    assert_eq!(
        RequestFacts {
            body_bytes,
            ..coded.facts
        },
        plain.facts
    );
    let place = plain.model_place.unwrap();
    assert_eq!(coded.model_place, Some(place.coded(Coding::Gzip)));
}
