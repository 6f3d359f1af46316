use pointsman_domain::block::BLOCKS_MAX;
use pointsman_domain::facts::MEDIA_MAX;

use super::*;

#[test]
fn a_body_of_any_form_has_bounded_blocks() {
    const BODY_BYTES: usize = 1 << 20;
    let list = |element: &str| element.repeat(BODY_BYTES / element.len());
    let media = format!(r#"[{{"content":[{{{}"a":1}}]}}]"#, list(r#""file":"","#));
    let text = format!(r#"[{{"content":"{}"}}]"#, list("x"));
    let marks = format!("[{}0]", list("[],"));
    let names = format!(r#"[{{{}"a":1}}]"#, list(r#""b":1,"#));
    let texts = format!(r#"[{}""]"#, list(r#""","#));
    let ids = format!("[{}0]", list("1,"));
    let id_lists = format!("[{}[0]]", list("[1],"));
    for (path, member, prompt) in [
        (CHAT, "messages", &media),
        (CHAT, "messages", &text),
        (CHAT, "messages", &marks),
        (CHAT, "messages", &names),
        (COMPLETIONS, "prompt", &texts),
        (COMPLETIONS, "prompt", &ids),
        (COMPLETIONS, "prompt", &id_lists),
        (RESPONSES, "input", &names),
    ] {
        let body = format!(r#"{{"model":"m","{member}":{prompt},"tools":[{prompt}]}}"#);
        let body = [Bytes::from(body)];
        let facts = with_body(&post(path), &body, BlockSize::DEFAULT)
            .unwrap()
            .facts;
        assert_eq!(facts.prompt.blocks.len(), BLOCKS_MAX, "{}", &prompt[..30]);
        assert!(facts.media.len() <= MEDIA_MAX);
        // What is not hashed is counted all the same.
        let hashed = BlockSize::DEFAULT.tokens().0 * BLOCKS_MAX as u64;
        assert!(facts.prompt.tokens > Tokens(hashed), "{}", &prompt[..30]);
    }
}

#[test]
fn blocks_of_any_size_are_filled() {
    let text = "x".repeat(100_000);
    let body = json!({"model": "m", "tools": [text], "messages": [text, text]}).to_string();
    for size in [1, 16, 5_000, 1 << 20, u32::MAX] {
        let block = BlockSize::new(size).unwrap();
        let body = [Bytes::from(body.clone())];
        let prompt = with_body(&post(CHAT), &body, block).unwrap().facts.prompt;
        let expected = match size {
            1 | 16 => BLOCKS_MAX,
            5_000 => 6 + 10,
            _ => 1,
        };
        assert_eq!(prompt.blocks.len(), expected, "{size}");
    }
}

#[test]
fn of_many_prompts_only_the_last_counts() {
    let body = |last: &str| {
        let before = r#""messages":["a"],"#.repeat(1000);
        // The one before the last is of no type that a prompt has.
        format!(r#"{{"model":"m",{before}"messages":7,"messages":{last}}}"#)
    };
    let once = read(CHAT, r#"{"model":"m","messages":["b"]}"#);
    assert_eq!(read(CHAT, &body(r#"["b"]"#)).prompt, once.prompt);
    for (last, word) in [("[]", "empty"), ("7", "wrong type")] {
        let rejection = reading(CHAT, &body(last)).unwrap_err();
        assert!(rejection.to_string().contains(word), "{rejection}");
    }
    let nested = "[".repeat(2_000) + &"]".repeat(2_000);
    assert!(matches!(
        reading(CHAT, &body(&nested)),
        Err(Rejection::NotJson { .. })
    ));
}

#[test]
fn a_name_of_a_mebibyte_is_nobodys() {
    let name = "model".repeat(1 << 18);
    let body = format!(
        r#"{{"{name}":1,"model":"m","messages":[{{"{name}":null,"content":"hi","role":"user"}}],
            "reasoning":{{"{name}":"low"}}}}"#
    );
    let facts = read(CHAT, &body);
    assert_eq!(facts.model.name(), Some("m"));
    assert_eq!(facts.reasoning.effort, None);
    // It is part of the message all the same.
    assert!(facts.prompt.tokens > Tokens(1 << 18));
}

#[test]
fn names_of_every_length_are_told_apart() {
    let facts = |name: &str, value: &str| {
        let end = "long enough to fill the last block";
        let body = format!(r#"{{"model":"m","messages":[{{"{name}":{value}}},"{end}"]}}"#);
        keys(&read(CHAT, &body))
    };
    let mut all: Vec<_> = (28..40)
        .flat_map(|length| {
            [
                facts(&"x".repeat(length), "1"),
                facts(&"x".repeat(length), r#""""#),
            ]
        })
        .collect();
    all.push(facts("x", "null"));
    for (index, one) in all.iter().enumerate() {
        assert!(!all[..index].contains(one), "{index}");
    }
}

#[test]
fn only_the_first_media_are_told_and_all_change_the_key() {
    let parts = |last: &str| {
        let mut urls: Vec<_> = (0..MEDIA_MAX + 5).map(|index| index.to_string()).collect();
        urls.push(last.to_owned());
        let parts: Vec<_> = urls
            .iter()
            .map(|url| json!({"type": "image_url", "image_url": {"url": url}}))
            .collect();
        let body = json!({"model": "m", "messages": [{"role": "user", "content": parts}]});
        // Blocks that are large enough for all.
        let block = BlockSize::new(16).unwrap();
        with_body(&post(CHAT), &[Bytes::from(body.to_string())], block)
            .unwrap()
            .facts
    };
    let (one, two) = (parts("a"), parts("b"));
    assert_eq!(one.media.len(), MEDIA_MAX);
    assert_eq!(one.media, two.media);
    assert_ne!(keys(&one), keys(&two));
}
