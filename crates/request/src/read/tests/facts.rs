use core::num::NonZeroU32;

use pointsman_domain::block::SaltHash;
use pointsman_domain::facts::{Effort, NameHash};

use super::*;

#[test]
fn b01_a_chat_needs_no_prompt_member() {
    let facts = chat("");
    assert_eq!(facts.dialect, Dialect::ChatCompletions);
    assert_eq!(facts.model.name(), Some("m"));
    assert!(facts.prompt.tokens > Tokens::ZERO);
    assert!(!facts.stream);
}

#[test]
fn hints_are_read_where_they_have_their_type() {
    let facts = chat(
        r#","stream":true,"max_tokens":7,"cache_salt":"s\u0061lt","n":3,"user":"u",
           "prompt_cache_key":"k""#,
    );
    assert!(facts.stream);
    assert_eq!(facts.output_tokens_max, Some(Tokens(7)));
    assert_eq!(facts.cache_salt, Some(SaltHash::of("salt")));
    assert_eq!(facts.choices.get(), 3);
    assert_eq!(facts.user, Some(NameHash::of(b"u")));
    assert_eq!(facts.prompt_cache_key, Some(NameHash::of(b"k")));
}

#[test]
fn hints_of_a_wrong_type_count_as_absent() {
    for wrong in [r#""7""#, "-7", "1e400", "7.5", "[]", "{}", "null", "true"] {
        let facts = chat(&format!(
            r#","max_tokens":{wrong},"max_completion_tokens":{wrong},"n":{wrong}"#
        ));
        assert_eq!(facts.output_tokens_max, None, "{wrong}");
        assert_eq!(facts.choices, NonZeroU32::MIN);
    }
    for wrong in ["1", r#""true""#, "null", "[true]", r#"{"a":true}"#] {
        let facts = chat(&format!(r#","stream":{wrong},"stream_options":3"#));
        assert!(!facts.stream, "{wrong}");
    }
    for wrong in ["1", "null", "true", r#"["s"]"#, r#"{"id":"s"}"#] {
        let facts = chat(&format!(
            r#","cache_salt":{wrong},"user":{wrong},"prompt_cache_key":{wrong}"#
        ));
        assert_eq!(facts.cache_salt, None, "{wrong}");
        assert_eq!(facts.user, None, "{wrong}");
        assert_eq!(facts.prompt_cache_key, None, "{wrong}");
    }
    for wrong in ["0", "4294967296"] {
        assert_eq!(chat(&format!(r#","n":{wrong}"#)).choices, NonZeroU32::MIN);
    }
}

#[test]
fn a_name_that_is_empty_names_nobody() {
    let facts = chat(r#","user":"","prompt_cache_key":"","session_id":"""#);
    assert_eq!((facts.user, facts.prompt_cache_key), (None, None));
    assert_eq!(facts.session.unwrap().source, SessionSource::Prompt);
}

#[test]
fn facts_keep_salts_apart_and_hold_no_text_of_them() {
    let salted = |salt: &str| chat(&format!(r#","cache_salt":"{salt}""#));
    let (secret, other, empty) = (salted("hunter2"), salted("hunter3"), salted(""));
    for (one, another) in [(&secret, &other), (&secret, &empty), (&empty, &chat(""))] {
        assert_ne!(one.cache_salt, another.cache_salt);
        assert_eq!(shared(one, another), 0);
    }
    assert!(!format!("{secret:?}").contains("hunter"), "{secret:?}");
}

#[test]
fn where_two_members_say_the_same_the_newer_one_counts_if_it_says_anything() {
    let cap = |members: &str| chat(members).output_tokens_max;
    let both = r#","max_tokens":7,"max_completion_tokens":5"#;
    assert_eq!(cap(both), Some(Tokens(5)));
    let only_older = r#","max_completion_tokens":"5","max_tokens":7"#;
    assert_eq!(cap(only_older), Some(Tokens(7)));

    let choices = |members: &str| {
        let body = format!(r#"{{"model":"m","token_ids":[1],{members}}}"#);
        read("/inference/v1/generate", &body).choices.get()
    };
    assert_eq!(choices(r#""n":3,"sampling_params":{"n":2}"#), 2);
    assert_eq!(choices(r#""n":3,"sampling_params":{"n":"2"}"#), 3);

    let user = |members: &str| chat(members).user;
    let name = Some(NameHash::of(b"s"));
    assert_eq!(user(r#","safety_identifier":"s","user":null"#), name);
}

#[test]
fn the_wish_to_think_is_read_in_every_spelling() {
    let effort = |path, members: &str| {
        let body = format!(r#"{{"model":"m","messages":[1],"input":"x",{members}}}"#);
        read(path, &body).reasoning.effort
    };
    for (path, members, expected) in [
        (
            CHAT,
            r#""reasoning_effort":"minimal""#,
            Some(Effort::Minimal),
        ),
        (CHAT, r#""reasoning_effort":"xhigh""#, Some(Effort::Max)),
        (CHAT, r#""reasoning_effort":"absurd""#, None),
        (CHAT, r#""reasoning_effort":null"#, None),
        (CHAT, r#""reasoning":{"effort":"low"}"#, Some(Effort::Low)),
        (CHAT, r#""reasoning":{"enabled":false}"#, Some(Effort::None)),
        (
            RESPONSES,
            r#""reasoning":{"a":[],"effort":"high"}"#,
            Some(Effort::High),
        ),
        (RESPONSES, r#""reasoning":[{"effort":"high"}]"#, None),
        (RESPONSES, r#""reasoning":{"a":{"effort":"high"}}"#, None),
        (
            CHAT,
            r#""chat_template_kwargs":{"reasoning_effort":"medium"}"#,
            Some(Effort::Medium),
        ),
        (
            CHAT,
            r#""reasoning_effort":"high","chat_template_kwargs":{"enable_thinking":false}"#,
            Some(Effort::None),
        ),
        (CHAT, r#""chat_template_kwargs":{"thinking":true}"#, None),
        (
            MESSAGES,
            r#""thinking":{"type":"disabled"}"#,
            Some(Effort::None),
        ),
        (MESSAGES, r#""thinking":{"type":"enabled"}"#, None),
        (
            MESSAGES,
            r#""output_config":{"effort":"max"}"#,
            Some(Effort::Max),
        ),
    ] {
        assert_eq!(effort(path, members), expected, "{members}");
    }
}

#[test]
fn a_budget_of_thinking_is_read_in_every_spelling() {
    for (path, members) in [
        (
            MESSAGES,
            r#""thinking":{"type":"enabled","budget_tokens":1024}"#,
        ),
        (CHAT, r#""chat_template_kwargs":{"thinking_budget":1024}"#),
        (CHAT, r#""thinking_budget":1024.0"#),
        (CHAT, r#""thinking_token_budget":1024"#),
        (CHAT, r#""reasoning":{"max_tokens":1024}"#),
    ] {
        let body = format!(r#"{{"model":"m","messages":[1],{members}}}"#);
        assert_eq!(
            read(path, &body).reasoning.budget,
            Some(Tokens(1024)),
            "{members}"
        );
    }
}

#[test]
fn tools_are_counted() {
    let tools = |tools: &str| chat(&format!(r#","tools":{tools}"#)).features.tools;
    assert_eq!(tools(r#"[{"type":"function","function":{"name":"f"}}]"#), 1);
    assert_eq!(tools(r#"[{"a":[1,2]},[3,4],null]"#), 3);
    for none in ["[]", "null", r#""none""#, r#"{"a":1}"#, "7"] {
        assert_eq!(tools(none), 0, "{none}");
    }
}

#[test]
fn an_answer_that_must_have_a_form_is_told_from_free_text() {
    let has_form = |path, members: &str| {
        let body = format!(r#"{{"model":"m","messages":[1],"input":"x",{members}}}"#);
        read(path, &body).features.response_format
    };
    for (path, members, expected) in [
        (CHAT, r#""response_format":{"type":"json_object"}"#, true),
        (CHAT, r#""response_format":{"type":"text"}"#, false),
        (CHAT, r#""response_format":null"#, false),
        (CHAT, r#""guided_json":{"type":"object"}"#, true),
        (CHAT, r#""guided_json":{}"#, false),
        (CHAT, r#""guided_json":true"#, true),
        (CHAT, r#""guided_choice":7"#, true),
        (CHAT, r#""guided_choice":false"#, false),
        (CHAT, r#""guided_regex":"""#, false),
        (CHAT, r#""guided_choice":["a"]"#, true),
        (CHAT, r#""guided_regex":"a+""#, true),
        (CHAT, r#""structured_outputs":{"choice":["a"]}"#, true),
        (
            RESPONSES,
            r#""text":{"format":{"type":"json_schema"}}"#,
            true,
        ),
        (RESPONSES, r#""text":{"format":{"type":"text"}}"#, false),
        (
            RESPONSES,
            r#""text":{"verbosity":"low","type":"json_schema"}"#,
            false,
        ),
        (MESSAGES, r#""output_format":{"type":"json_schema"}"#, true),
        (
            MESSAGES,
            r#""output_config":{"format":{"type":"json_schema"}}"#,
            true,
        ),
        (MESSAGES, r#""output_config":{"effort":"low"}"#, false),
    ] {
        assert_eq!(has_form(path, members), expected, "{members}");
    }
}

#[test]
fn arguments_of_the_template_are_seen() {
    for (arguments, expected) in [
        (r#"{"enable_thinking":true}"#, true),
        (r#"{"x":[1]}"#, true),
        ("{}", false),
        ("null", false),
        ("[1]", false),
    ] {
        let facts = chat(&format!(r#","chat_template_kwargs":{arguments}"#));
        assert_eq!(facts.features.template_arguments, expected, "{arguments}");
    }
}

#[test]
fn of_a_member_that_comes_twice_the_last_counts() {
    let twice = read(
        CHAT,
        r#"{"model":1,"messages":[],"max_tokens":1,"tools":[1],"reasoning":{"effort":"low"},
            "stream":true,"chat_template_kwargs":{"enable_thinking":false,"enable_thinking":1},
            "messages":[{"role":"user","content":"hi"}],"model":"m","max_tokens":"x","tools":null,
            "reasoning":null,"stream":false,"chat_template_kwargs":null}"#,
    );
    let once = chat("");
    let body_bytes = twice.body_bytes;
    assert_eq!(twice, RequestFacts { body_bytes, ..once });
}

#[test]
fn a_member_inside_of_one_that_comes_again_without_it_is_forgotten() {
    let path = "/inference/v1/generate";
    let once = read(path, r#"{"model":"m","token_ids":[1,2],"features":{}}"#);
    let twice = r#"{"model":"m","features":{"mm_hashes":{"image":["a"]}},"token_ids":[3],
        "token_ids":[1,2],"features":{}}"#;
    let twice = read(path, twice);
    assert_eq!(twice.media, []);
    assert_eq!(twice.template_inputs, 0);
    assert_eq!(keys(&twice), keys(&once));
}

#[test]
fn a_name_written_with_escapes_is_the_same_name() {
    let body = r#"{"mod\u0065l":"m","mes\u0073ages":[{"r\u006fle":"user","content":"hi"}]}"#;
    let facts = read(CHAT, body);
    let body_bytes = facts.body_bytes;
    assert_eq!(
        facts,
        RequestFacts {
            body_bytes,
            ..chat("")
        }
    );
}
