use super::*;

fn media(messages: &Json) -> Vec<MediaItem> {
    read(SegmentKind::Messages, messages).media
}

fn kinds(part: &Json) -> Vec<MediaKind> {
    let items = media(&parts(&json!([part])));
    items.iter().map(|item| item.kind).collect()
}

#[test]
fn b05_different_images_differ_after_the_image_and_only_there() {
    let text = json!({"type": "text", "text": "what is this, and what is behind it?"});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let chat = |url: &str| parts(&json!([text, image(url)]));
    let (cat_url, dog_url) = ("data:image/png;base64,Y2F0", "https://example.com/dog.png");
    let (cat, dog) = (blocks(&chat(cat_url)), blocks(&chat(dog_url)));

    assert_eq!(cat, blocks(&chat(cat_url)));
    let text = blocks(&parts(&json!([text])));
    let shared = cat.iter().zip(&dog).take_while(|(a, b)| a == b).count();
    let shared_with_text = cat.iter().zip(&text).take_while(|(a, b)| a == b).count();
    assert!(shared >= shared_with_text && shared_with_text > 10);
    assert_ne!(cat[shared..], dog[shared..]);

    assert_eq!(media(&chat(cat_url)), media(&chat(cat_url)));
    assert_ne!(media(&chat(cat_url)), media(&chat(dog_url)));
}

#[test]
fn an_image_is_the_same_however_it_is_wrapped() {
    let content = |part: Json| media(&parts(&json!([part])))[0].content;
    let url = "https://example.com/dog.png";
    let plain = content(json!({"type": "image_url", "image_url": url}));
    for part in [
        json!({"type": "image_url", "image_url": {"url": url}}),
        json!({"type": "image_url", "image_url": {"detail": "high", "url": url}}),
        json!({"type": "input_image", "image_url": url, "detail": "low"}),
        json!({"type": "image", "image": url}),
        json!({"type": "image", "source": {"type": "url", "url": url}}),
    ] {
        assert_eq!(content(part.clone()), plain, "{part}");
    }
    // What is to be done with it changes the prompt all the same.
    let chat = |detail| {
        let image = json!({"url": url, "detail": detail});
        blocks(&parts(&json!([{"type": "image_url", "image_url": image}])))
    };
    assert_ne!(chat("low"), chat("high"));
}

#[test]
fn every_kind_of_media_is_found_where_clients_put_it() {
    let data = "AAAA";
    for (part, kind) in [
        (
            json!({"type": "image_url", "image_url": {"url": data}}),
            MediaKind::Image,
        ),
        (
            json!({"type": "image_embeds", "image_embeds": data}),
            MediaKind::Image,
        ),
        (
            json!({"type": "input_image", "file_id": data}),
            MediaKind::Image,
        ),
        (
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
            MediaKind::Image,
        ),
        (
            json!({"type": "image", "cache_control": {"type": "x"}, "source": {"data": data}}),
            MediaKind::Image,
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}),
            MediaKind::Audio,
        ),
        (
            json!({"type": "audio_url", "audio_url": {"url": data}}),
            MediaKind::Audio,
        ),
        (
            json!({"type": "video_url", "video_url": {"url": data}}),
            MediaKind::Video,
        ),
        (
            json!({"type": "file", "file": {"file_data": data, "filename": "a.pdf"}}),
            MediaKind::File,
        ),
        (
            json!({"type": "input_file", "file_data": data, "filename": "a.pdf"}),
            MediaKind::File,
        ),
        (
            json!({"type": "input_file", "file_url": data}),
            MediaKind::File,
        ),
        (
            json!({"type": "document", "source": {"type": "base64", "data": data}}),
            MediaKind::File,
        ),
        (
            json!({"type": "document", "source": {"type": "file", "file_id": data}}),
            MediaKind::File,
        ),
        (
            json!({"type": "tool_result", "content": [{"type": "image", "source": {"data": data}}]}),
            MediaKind::Image,
        ),
        (
            json!({"type": "computer_call_output", "output": {"type": "x", "image_url": data}}),
            MediaKind::Image,
        ),
        (json!({"image_url": [[{"url": data}]]}), MediaKind::Image),
    ] {
        assert_eq!(kinds(&part), [kind], "{part}");
    }
}

#[test]
fn the_type_of_a_part_counts_before_and_behind_its_media() {
    let kind = |part: &str| {
        let messages = format!(r#"[{{"content":[{part}]}}]"#);
        written(SegmentKind::Messages, 1, &messages).media[0].kind
    };
    for part in [
        r#"{"type":"input_image","file_id":"a"}"#,
        r#"{"file_id":"a","type":"input_image"}"#,
        r#"{"source":{"data":"a","type":"base64"},"x":{"type":"video"},"type":"image"}"#,
        r#"{"type":"image","x":{"type":"video"},"source":{"type":"base64","data":"a"}}"#,
    ] {
        assert_eq!(kind(part), MediaKind::Image, "{part}");
    }
    for part in [
        r#"{"type":"input_file","file_id":"a"},{"type":"input_image"}"#,
        r#"{"file_id":"a"},{"type":"input_image"}"#,
        r#"{"type":"input_image"},{"file_id":"a"}"#,
        r#"{"content":[{"file_id":"a"}],"type":"image"}"#,
    ] {
        assert_eq!(kind(part), MediaKind::File, "{part}");
    }
}

#[test]
fn what_only_looks_like_media_is_text() {
    for part in [
        json!({"type": "text", "text": "image_url"}),
        json!({"type": "tool_use", "id": "t", "name": "f", "input": {"image": "a", "file": {"url": "b"}}}),
        json!({"type": "image_url", "image_url": null}),
        json!({"type": "image_url", "image_url": 7}),
        json!({"type": "search_result", "source": "https://example.com", "title": "t"}),
        json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}}),
        json!({"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "plain"}]}}),
        json!({"tool_calls": [{"image_url": "a"}]}),
    ] {
        assert_eq!(kinds(&part), [], "{part}");
    }
    let tools = json!([{"name": "f", "image": "a", "parameters": {"properties": {"file": "b"}}}]);
    assert_eq!(read(SegmentKind::Tools, &tools).media, []);
}

#[test]
fn the_size_of_a_media_file_is_not_the_length_of_the_prompt() {
    let audio =
        |data: &str| parts(&json!([{"type": "input_audio", "input_audio": {"data": data}}]));
    let (small, large) = (audio("UklGRg"), audio(&"UklGRg".repeat(10_000)));
    assert_eq!(tokens(&small), tokens(&large));
    assert_ne!(blocks(&small), blocks(&large));
    assert!(tokens(&large) >= Tokens(MEDIA_TOKENS));
    assert_eq!(media(&large)[0].tokens, Tokens(MEDIA_TOKENS));
}

#[test]
fn a_document_that_is_written_out_has_the_length_of_its_text() {
    let text = "It has been written out. ".repeat(1000);
    let parts = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    for source in [
        format!(r#"{{"type":"text","media_type":"text/plain","data":"{text}"}}"#),
        format!(r#"{{"data":"{text}","media_type":"text/plain","type":"text"}}"#),
        format!(r#"{{"type":"content","content":"{text}"}}"#),
        format!(r#"{{"content":{parts},"type":"content"}}"#),
    ] {
        let messages =
            format!(r#"[{{"role":"user","content":[{{"type":"document","source":{source}}}]}}]"#);
        let written = written(SegmentKind::Messages, 1, &messages);
        assert_eq!(written.media, []);
        let length = written.hasher.bytes() as usize;
        assert!(length > text.len() && length < text.len() + 300, "{length}");

        let other = messages.replacen("written", "spelt", 1);
        let other = super::written(SegmentKind::Messages, 1, &other);
        assert_ne!(other.hasher.hashes(), written.hasher.hashes());
    }
}

#[test]
fn media_of_a_whole_segment_are_found_however_they_are_nested() {
    let kind = SegmentKind::Media(MediaKind::Video);
    for (value, count) in [
        (json!("a"), 1),
        (json!(["a", "b"]), 2),
        (json!([["a"], [{"url": "b"}]]), 2),
        (json!({"url": "a"}), 1),
    ] {
        let written = read(kind, &value);
        assert_eq!(written.state, State::Read, "{value}");
        assert_eq!(written.media.len(), count, "{value}");
        assert!(
            written
                .media
                .iter()
                .all(|item| item.kind == MediaKind::Video)
        );
    }
    assert_eq!(read(kind, &json!(null)).state, State::Null);
    assert_eq!(read(kind, &json!([])).state, State::Empty);
}

#[test]
fn the_image_that_a_call_made_is_media_wherever_its_type_stands() {
    let input = |members: &[String]| {
        let messages = format!(r#"[{{{}}}]"#, members.join(","));
        written(SegmentKind::Input, 1, &messages)
    };
    let call = |data: &str| {
        [
            r#""id":"ig_1""#.to_owned(),
            format!(r#""result":"{data}""#),
            r#""status":"completed""#.to_owned(),
            r#""type":"image_generation_call""#.to_owned(),
        ]
    };
    let large = "iVBORw0KGgo".repeat(10_000);
    for order in [[0, 1, 2, 3], [0, 3, 2, 1], [3, 0, 1, 2], [1, 3, 0, 2]] {
        let of = |data: &str| {
            let members = call(data);
            input(&order.map(|index| members[index].clone()))
        };
        let (small, large) = (of("iVBORw0KGgo"), of(&large));
        for written in [&small, &large] {
            let items: Vec<_> = written
                .media
                .iter()
                .map(|item| (item.kind, item.tokens))
                .collect();
            assert_eq!(
                items,
                [(MediaKind::Image, Tokens(MEDIA_TOKENS))],
                "{order:?}"
            );
        }
        assert_eq!(small.hasher.bytes(), large.hasher.bytes(), "{order:?}");
        assert_ne!(small.hasher.hashes(), large.hasher.hashes(), "{order:?}");
        assert_eq!(small.hasher.hashes(), of("iVBORw0KGgo").hasher.hashes());
        let image = json!([{"role": "user", "content": [{"image_url": "iVBORw0KGgo"}]}]);
        assert_eq!(small.media, media(&image));
    }
}

#[test]
fn the_result_of_any_other_call_is_text_and_has_its_length() {
    let text = "It has been written out. ".repeat(1000);
    let count = |member: &str| {
        let messages = format!(r#"[{{{member}}}]"#);
        let written = written(SegmentKind::Input, 1, &messages);
        assert_eq!(written.media, [], "{messages}");
        let length = written.hasher.bytes() as usize;
        assert!(length > text.len() && length < text.len() + 300, "{length}");
        written.hasher.finish()
    };
    for other in [
        r#""result":"TEXT""#,
        r#""type":"search_call","result":"TEXT""#,
        r#""result":"TEXT","type":"search_call""#,
        r#""result":"TEXT","x":{"type":"image"}"#,
        r#""result":["TEXT"],"type":"image_generation_call""#,
        r#""type":"message","content":[{"result":"TEXT"}]"#,
    ] {
        let one = count(&other.replace("TEXT", &text));
        let spelt = text.replacen("written", "spelled", 1);
        assert_ne!(one, count(&other.replace("TEXT", &spelt)), "{other}");
    }
    // Of one that comes twice both count, as all that is written.
    let twice = format!(r#""result":"a","result":"{text}","type":"search_call""#);
    assert_ne!(count(&twice), count(&twice.replacen("\"a\"", "\"b\"", 1)));
}
