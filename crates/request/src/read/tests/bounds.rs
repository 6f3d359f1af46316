use pointsman_domain::block::BLOCKS_MAX;
use pointsman_domain::facts::MEDIA_MAX;

use super::*;
use crate::read::prompt::STARTS_MAX;

#[test]
fn a_body_of_any_form_has_bounded_blocks() {
    const BODY_BYTES: usize = 1 << 20;
    let list = |element: &str| element.repeat(BODY_BYTES / element.len());
    let media = format!(r#"[{{"content":[{{{}"a":1}}]}}]"#, list(r#""file":"","#));
    let text = format!(r#"[{{"content":"{}"}}]"#, list("x"));
    let marks = format!("[{}0]", list("[],"));
    let names = format!(r#"[{{{}"a":1}}]"#, list(r#""b":1,"#));
    let texts = format!(r#"[{}""]"#, list(r#""abcdefgh","#));
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
        let before = r#""messages":["a"],"#.repeat(STARTS_MAX as usize - 2);
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
fn of_a_part_that_comes_too_often_nothing_is_hashed_and_all_is_counted() {
    let body = |times: u32, last: &str| {
        let before = r#""tools":["a long tool"],"#.repeat(times as usize - 1);
        let messages = r#""messages":[{"role":"user","content":"hello"}]"#;
        read(
            MESSAGES,
            &format!(r#"{{"model":"m",{before}"tools":["{last}"],{messages}}}"#),
        )
    };
    let once = body(1, "the last tool");
    let often = body(STARTS_MAX, "the last tool");
    assert_eq!(keys(&often), keys(&once));
    for times in [STARTS_MAX + 1, 1000] {
        let too_often = body(times, "the last tool");
        // Nor what comes behind it, as its keys depend on it.
        assert_eq!(keys(&too_often), []);
        assert_eq!(too_often.prompt.tokens, once.prompt.tokens);
        assert_eq!(too_often, body(times, "the past tool"));
        // The messages came once.
        assert_eq!(
            too_often.session.map(|it| it.id),
            once.session.map(|it| it.id)
        );
    }
    let messages = r#""messages":[{"role":"user","content":"hello"}],"#.repeat(100);
    let facts = read(CHAT, &format!(r#"{{{messages}"model":"m"}}"#));
    assert_eq!((keys(&facts), facts.session), (vec![], None));
    assert!(facts.prompt.tokens > Tokens(0));
    // A last one of a wrong type is wrong all the same.
    let rejected = reading(CHAT, &format!(r#"{{{messages}"messages":7,"model":"m"}}"#));
    assert!(rejected.is_err());
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
