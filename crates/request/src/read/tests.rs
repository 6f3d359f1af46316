use pointsman_domain::block::{BLOCKS_MAX, PromptScope, SaltHash};
use pointsman_domain::facts::Prompt;
use pointsman_domain::units::Tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

fn post(path: &str) -> Head {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", path.as_bytes());
    head
}

fn read(path: &str, body: &str) -> Result<RequestFacts, Rejection> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    with_body(&post(path), &[body], BlockSize::DEFAULT)
}

fn chat(members: &str) -> RequestFacts {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{members}}}"#);
    read(CHAT, &body).unwrap()
}

fn scope(facts: &RequestFacts) -> PromptScope<'_> {
    PromptScope {
        cache_salt: facts.cache_salt,
        ..PromptScope::default()
    }
}

#[test]
fn b01_a_chat_needs_no_prompt_member() {
    let facts = chat("");
    assert_eq!(facts.dialect, Dialect::ChatCompletions);
    assert_eq!(facts.model.as_deref(), Some("m"));
    assert!(facts.prompt.tokens > Tokens::ZERO);
    assert!(!facts.stream);
}

#[test]
fn hints_are_read_where_they_have_their_type() {
    let facts = chat(r#","stream":true,"max_tokens":7,"cache_salt":"s\u0061lt""#);
    assert!(facts.stream);
    assert_eq!(facts.output_tokens_max, Some(Tokens(7)));
    assert_eq!(facts.cache_salt, Some(SaltHash::of("salt")));
    let facts = chat(r#","max_completion_tokens":5,"max_tokens":7"#);
    assert_eq!(facts.output_tokens_max, Some(Tokens(5)));
}

#[test]
fn facts_keep_salts_apart_and_hold_no_text_of_them() {
    let salted = |salt: &str| chat(&format!(r#","cache_salt":"{salt}""#));
    let (secret, other, empty) = (salted("hunter2"), salted("hunter3"), salted(""));
    for (one, another) in [(&secret, &other), (&secret, &empty), (&empty, &chat(""))] {
        assert_ne!(one.cache_salt, another.cache_salt);
        assert_ne!(scope(one).root(), scope(another).root());
    }
    assert!(!format!("{secret:?}").contains("hunter"), "{secret:?}");
}

#[test]
fn hints_of_a_wrong_type_count_as_absent() {
    for wrong in [r#""7""#, "-7", "1e400", "7.5", "[]", "{}", "null", "true"] {
        let facts = chat(&format!(
            r#","max_tokens":{wrong},"max_completion_tokens":{wrong}"#
        ));
        assert_eq!(facts.output_tokens_max, None, "{wrong}");
    }
    for wrong in ["1", r#""true""#, "null", "[true]"] {
        let facts = chat(&format!(
            r#","stream":{wrong},"cache_salt":{wrong},"stream_options":3"#
        ));
        assert!(!facts.stream, "{wrong}");
    }
    assert_eq!(chat(r#","cache_salt":{"a":1}"#).cache_salt, None);
    let fallback = chat(r#","max_completion_tokens":"5","max_tokens":7"#);
    assert_eq!(fallback.output_tokens_max, Some(Tokens(7)));
}

#[test]
fn b03_members_that_are_not_read_are_never_refused() {
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    for unread in [
        r#""tools":[{"type":"function","function":{"name":"f"}}]"#,
        r#""tools":"none""#,
        r#""temperature":1e400"#,
        r#""unknown":{"a":[null,{}]}"#,
        r#""lone_surrogate":"\ud800""#,
        &format!(r#""deep":{deep}"#),
    ] {
        assert_eq!(chat(&format!(",{unread}")).model.as_deref(), Some("m"));
    }
}

#[test]
fn a_body_of_any_form_has_bounded_blocks() {
    const BODY_BYTES: usize = 1 << 20;
    let list = |element: &str| element.repeat(BODY_BYTES / element.len());
    let media = format!(r#"[{{"content":[{{{}"a":1}}]}}]"#, list(r#""file":1,"#));
    let text = format!(r#"[{{"content":"{}"}}]"#, list("x"));
    let marks = format!("[{}0]", list("[],"));
    let texts = format!(r#"[{}""]"#, list(r#""","#));
    let ids = format!("[{}0]", list("1,"));
    let id_lists = format!("[{}[0]]", list("[1],"));
    for (path, member, prompt) in [
        (CHAT, "messages", &media),
        (CHAT, "messages", &text),
        (CHAT, "messages", &marks),
        (COMPLETIONS, "prompt", &texts),
        (COMPLETIONS, "prompt", &ids),
        (COMPLETIONS, "prompt", &id_lists),
    ] {
        let facts = read(path, &format!(r#"{{"model":"m","{member}":{prompt}}}"#)).unwrap();
        assert_eq!(facts.prompt.blocks.len(), BLOCKS_MAX, "{}", &prompt[..30]);
        // What is not hashed is counted all the same.
        let hashed = BlockSize::DEFAULT.tokens().0 * BLOCKS_MAX as u64;
        assert!(facts.prompt.tokens > Tokens(hashed), "{}", &prompt[..30]);
    }
}

#[test]
fn of_many_prompts_only_the_last_is_read_again() {
    let body = |last: &str| {
        // The one before the last is of no type that a prompt has.
        format!(r#"{{"model":"m","messages":["a"],"messages":7,"messages":{last}}}"#)
    };
    let once = read(CHAT, r#"{"model":"m","messages":["b"]}"#).unwrap();
    assert_eq!(read(CHAT, &body(r#"["b"]"#)).unwrap().prompt, once.prompt);
    assert!(matches!(
        read(CHAT, &body("[]")),
        Err(Rejection::EmptyField {
            field: "messages",
            ..
        })
    ));
    assert!(matches!(
        read(CHAT, &body("7")),
        Err(Rejection::WrongType {
            field: "messages",
            ..
        })
    ));
    let deep = "[".repeat(1_000) + &"]".repeat(1_000);
    assert!(matches!(
        read(CHAT, &body(&deep)),
        Err(Rejection::NotJson { .. })
    ));
}

#[test]
fn of_a_member_that_comes_twice_the_last_counts() {
    let twice = read(
        CHAT,
        r#"{"model":1,"messages":[],"max_tokens":1,"tools":[1],
            "messages":[{"role":"user","content":"hi"}],"model":"m","max_tokens":"x","tools":null}"#,
    )
    .unwrap();
    let once = chat("");
    assert_eq!(twice.prompt, once.prompt);
    assert_eq!(twice.model, once.model);
    assert_eq!(twice.output_tokens_max, None);
    assert_eq!(twice.template_inputs, 0);
}

fn assert_rejected(path: &str, members: &str, field: &str, word: &str) {
    let rejection = read(path, &format!("{{{members}}}")).unwrap_err();
    let text = rejection.to_string();
    assert_eq!(rejection.field(), Some(field), "{members}");
    assert!(text.contains(&format!("`{field}`")), "{text}");
    assert!(text.contains(word), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn a_missing_or_wrong_or_empty_model_is_named_with_its_remedy() {
    for (member, word) in [
        ("", "missing"),
        (r#","model":7"#, "wrong type"),
        (r#","model":null"#, "wrong type"),
        (r#","model":["secret"]"#, "wrong type"),
        (r#","model":"""#, "empty"),
    ] {
        let messages = r#""messages":[{"role":"user","content":"secret"}]"#;
        assert_rejected(CHAT, &format!("{messages}{member}"), "model", word);
        assert_rejected(
            COMPLETIONS,
            &format!(r#""prompt":"secret"{member}"#),
            "model",
            word,
        );
    }
}

#[test]
fn a_model_with_a_name_beyond_the_limit_is_routed_by_load() {
    let text = "x".repeat(4000);
    let facts = |model: &str| {
        let body = format!(r#"{{"model":"{model}","prompt":"{text}","max_tokens":7}}"#);
        read(COMPLETIONS, &body).unwrap()
    };
    // Counted as it is meant, not as it is written.
    let longest = facts(&r"\u0061".repeat(256));
    assert_eq!(longest.model.as_deref(), Some(&*"a".repeat(256)));
    assert!(!longest.prompt.blocks.is_empty());

    for length in [257, 17 << 20] {
        let longer = facts(&"a".repeat(length));
        assert_eq!((&longer.model, longer.prompt.blocks.len()), (&None, 0));
        assert_eq!(longer.prompt.tokens, longest.prompt.tokens);
        assert_eq!(longer.output_tokens_max, Some(Tokens(7)));
        assert!(longer.body_bytes > length as u64);
    }
}

#[test]
fn a_missing_or_wrong_or_empty_prompt_is_named_with_its_remedy() {
    for (path, field, member, word) in [
        (CHAT, "messages", "", "missing"),
        (CHAT, "messages", r#","messages":[]"#, "empty"),
        (CHAT, "messages", r#","messages":"secret""#, "wrong type"),
        (CHAT, "messages", r#","messages":null"#, "wrong type"),
        (COMPLETIONS, "prompt", "", "missing"),
        (COMPLETIONS, "prompt", r#","prompt":"""#, "empty"),
        (COMPLETIONS, "prompt", r#","prompt":[]"#, "empty"),
        (
            COMPLETIONS,
            "prompt",
            r#","prompt":{"secret":1}"#,
            "wrong type",
        ),
        (
            COMPLETIONS,
            "prompt",
            r#","prompt":["secret",1]"#,
            "wrong type",
        ),
    ] {
        assert_rejected(path, &format!(r#""model":"secret"{member}"#), field, word);
    }
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    for body in ["[]", "7", r#""secret""#, "null", r#"[{"model":"m"}]"#] {
        assert_eq!(read(CHAT, body), Err(Rejection::NotAnObject), "{body}");
    }
    for body in [
        "secret",
        "{",
        r#"{"model":"m"} secret"#,
        r#"{"model":"m","messages":[{"role":"user","content":"secret"}"#,
        r#"{secret:1}"#,
        " ",
    ] {
        let rejection = read(CHAT, body).unwrap_err();
        assert!(matches!(rejection, Rejection::NotJson { .. }), "{body}");
        assert!(!rejection.to_string().contains("secret"));
    }
}

#[test]
fn nesting_beyond_the_parsers_bound_is_refused_and_not_followed() {
    let deep = "[".repeat(100_000);
    let body = format!(r#"{{"model":"m","messages":[{{"content":{deep}"#);
    assert!(matches!(read(CHAT, &body), Err(Rejection::NotJson { .. })));
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    let marked = "\u{feff}{\"model\":\"m\",\"prompt\":\"x\"}";
    let plain = read(COMPLETIONS, &marked[3..]).unwrap();
    assert_eq!(read(COMPLETIONS, marked).unwrap().prompt, plain.prompt);
}

#[test]
fn b07_other_paths_are_never_read_and_never_refused() {
    let body: Vec<u8> = (0..=255).collect();
    let body = [Bytes::from(body)];
    let facts = with_body(&post("/v1/audio/transcriptions"), &body, BlockSize::DEFAULT).unwrap();
    assert_eq!(facts.body_bytes, 256);
    let unread = RequestFacts {
        body_bytes: 0,
        ..facts
    };
    assert_eq!(unread, RequestFacts::passthrough(BlockSize::DEFAULT));
}

#[test]
fn a_compressed_body_keeps_its_dialect_and_is_not_read() {
    let mut head = post(CHAT);
    head.header("content-encoding", b"gzip");
    let facts = with_body(
        &head,
        &[Bytes::from_static(b"\x1f\x8b")],
        BlockSize::DEFAULT,
    )
    .unwrap();
    assert_eq!(facts.dialect, Dialect::ChatCompletions);
    assert_eq!(facts.model, None);
    assert_eq!(facts.prompt, Prompt::unknown(BlockSize::DEFAULT));
    assert_eq!(facts.body_bytes, 2);
}

#[test]
fn a_request_without_a_body_has_the_facts_of_its_headers() {
    let mut head = post(CHAT);
    head.header("x-llm-d-inference-fairness-id", b"tenant-a");
    head.header("x-gateway-inference-objective", b"batch");
    let facts = without_body(&head, BlockSize::DEFAULT);
    assert_eq!(facts.dialect, Dialect::Passthrough);
    assert_eq!(facts.fairness_id.as_deref(), Some("tenant-a"));
    assert_eq!(facts.objective.as_deref(), Some("batch"));
    let empty = with_body(&head, &[Bytes::new()], BlockSize::DEFAULT);
    assert_eq!(empty, Ok(facts));
}

#[test]
fn each_template_input_counts_and_none_gives_zero() {
    assert_eq!(chat("").template_inputs, 0);
    assert_eq!(chat(r#","tools":null,"user":"u""#).template_inputs, 0);
    let names = [
        "tools",
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
    ];
    let mut hashes: Vec<u64> = names
        .iter()
        .flat_map(|name| [format!(r#","{name}":true"#), format!(r#","{name}":[1]"#)])
        .map(|member| chat(&member).template_inputs)
        .collect();
    hashes.push(0);
    let count = hashes.len();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            Just("content"),
            Just("text"),
            Just("role"),
            Just("image_url"),
            Just("tool_calls"),
            Just("model"),
            Just("messages"),
            Just("prompt"),
            Just("cache_control"),
            Just("other"),
        ];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(n, v)| (n.to_owned(), v))
                .collect()),
        ]
    })
}

fn cut(bytes: &[u8], cuts: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut from = 0;
    cuts.into_iter()
        .map(|to| Bytes::copy_from_slice(&bytes[std::mem::replace(&mut from, to)..to]))
        .collect()
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        for path in [CHAT, COMPLETIONS] {
            let facts = with_body(&post(path), &[Bytes::from(body.clone())], BlockSize::DEFAULT);
            let object = body.contains(&b'{');
            prop_assert!(facts.is_err() || body.is_empty() || object);
        }
    }

    #[test]
    fn any_messages_of_a_list_are_read(
        messages in proptest::collection::vec(any_json(), 1..4),
        other in any_json(),
    ) {
        let body = json!({"messages": messages, "model": "m", "tools": other, "stream": other});
        prop_assert!(read(CHAT, &body.to_string()).is_ok());
    }

    #[test]
    fn cutting_the_body_elsewhere_changes_nothing(
        messages in proptest::collection::vec(any_json(), 0..4),
        broken in any::<prop::sample::Index>(),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
    ) {
        let block = BlockSize::new(2).unwrap();
        let whole = json!({"model": "m", "messages": messages}).to_string();
        for body in [whole.as_bytes(), &whole.as_bytes()[..broken.index(whole.len())]] {
            let expected = with_body(&post(CHAT), &cut(body, &[]), block);
            prop_assert_eq!(with_body(&post(CHAT), &cut(body, &cuts), block), expected);
        }
    }

    #[test]
    fn the_order_of_members_changes_neither_prompt_nor_template_inputs(
        tools in any_json(),
        reasoning in any_json(),
        order in Just(vec![0_usize, 1, 2, 3]).prop_shuffle(),
    ) {
        let members = [
            r#""model":"m""#.to_owned(),
            r#""messages":[{"role":"user","content":"hi"}]"#.to_owned(),
            format!(r#""tools":{tools}"#),
            format!(r#""reasoning":{reasoning}"#),
        ];
        let sorted = read(CHAT, &format!("{{{}}}", members.join(","))).unwrap();
        let shuffled: Vec<_> = order.iter().map(|at| members[*at].as_str()).collect();
        let shuffled = read(CHAT, &format!("{{{}}}", shuffled.join(","))).unwrap();
        prop_assert_eq!(shuffled, sorted);
    }
}
