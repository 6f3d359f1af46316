use pointsman_domain::facts::NameHash;

use super::*;

fn session(path: &str, body: &Value) -> Option<Session> {
    read_json(path, body).session
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn chat_of(messages: &[Value]) -> Value {
    json!({"model": "m", "messages": messages})
}

#[test]
fn the_turns_of_one_chat_are_one_session_and_those_of_another_user_are_not() {
    let system = json!({"role": "system", "content": "You are a pointsman."});
    let answer = json!({"role": "assistant", "content": "Which train?"});
    let first = [system.clone(), user("hello")];
    let second = [
        system.clone(),
        user("hello"),
        answer.clone(),
        user("the next one"),
    ];
    for path in [CHAT, MESSAGES] {
        let of_first = session(path, &chat_of(&first)).unwrap();
        assert_eq!(of_first.source, SessionSource::Prompt);
        assert_eq!(session(path, &chat_of(&second)), Some(of_first));
        let other = [system.clone(), user("hello!")];
        assert_ne!(session(path, &chat_of(&other)), Some(of_first));
    }
    let items = |messages: &[Value]| json!({"model": "m", "input": messages});
    let of_first = session(RESPONSES, &items(&first));
    assert!(of_first.is_some());
    assert_eq!(session(RESPONSES, &items(&second)), of_first);
}

#[test]
fn a_session_does_not_depend_on_model_tools_or_system_prompt() {
    let base = chat_of(&[user("hello")]);
    let other = json!({
        "model": "n", "messages": [user("hello"), user("again")], "tools": [{"name": "f"}],
        "system": "s", "thinking": {"type": "enabled"}, "cache_salt": "s",
    });
    assert_eq!(session(MESSAGES, &base), session(MESSAGES, &other));
}

#[test]
fn a_role_behind_the_content_counts_too() {
    let body = |messages: &str| format!(r#"{{"model":"m","messages":[{messages}]}}"#);
    let first = r#"{"content":"hello","role":"user"}"#;
    let more = format!(r#"{first},{{"content":"and","role":"user"}}"#);
    let one = read(CHAT, &body(first)).session;
    assert!(one.is_some());
    assert_eq!(read(CHAT, &body(&more)).session, one);
}

#[test]
fn a_role_is_the_last_member_of_that_name_of_the_message_itself() {
    let sessions = |message: &str| {
        let body = |rest| format!(r#"{{"model":"m","messages":[{message}{rest}]}}"#);
        let rest = r#",{"role":"user","content":"long enough to fill one more block"}"#;
        (
            read(CHAT, &body("")).session,
            read(CHAT, &body(rest)).session,
        )
    };
    let (one, more) = sessions(r#"{"role":"system","role":"user","content":"hello"}"#);
    assert_eq!(one, more);
    for other in [
        r#"{"role":"user","role":"system","content":"hello"}"#,
        r#"{"content":[{"role":"user"}],"role":"system"}"#,
        r#"{"role":"users","content":"hello"}"#,
        r#"{"x":{"role":"user"}}"#,
    ] {
        let (one, more) = sessions(other);
        assert_ne!(one, more, "{other}");
    }
}

#[test]
fn another_prompt_is_named_by_its_first_four_blocks_or_not_at_all() {
    let of = |text: &str| session(COMPLETIONS, &json!({"model": "m", "prompt": text}));
    // Blocks of one token, and a mark of one.
    let long = of("0123456789ab and so on");
    assert_eq!(long, of("0123456789ab and on and on"));
    assert_ne!(long, of("0123456789xx and so on"));

    let none = with_body(
        &post(COMPLETIONS),
        &[Bytes::from_static(br#"{"model":"m","prompt":"short"}"#)],
        BlockSize::DEFAULT,
    );
    assert_eq!(none.unwrap().facts.session, None);
}

#[test]
fn a_prompt_of_fewer_blocks_has_no_session_that_would_change_as_it_grows() {
    let of = |text: &str| session(COMPLETIONS, &json!({"model": "m", "prompt": text}));
    let text = "0123456789ab";
    for length in 1..text.len() {
        assert_eq!(of(&text[..length]), None, "{length}");
    }
    assert!(of(text).is_some());
    assert_eq!(of(text), of(&text.repeat(9)));
}

#[test]
fn the_response_that_another_is_built_on_names_no_session() {
    let body =
        |id: &str| json!({"model": "m", "input": [user("hello")], "previous_response_id": id});
    let one = session(RESPONSES, &body("r1")).unwrap();
    assert_eq!(one.source, SessionSource::Prompt);
    assert_eq!(session(RESPONSES, &body("r2")), Some(one));
    let bare = json!({"model": "m", "previous_response_id": "r1"});
    assert_eq!(session(RESPONSES, &bare), None);
}

#[test]
fn a_member_names_the_session_before_the_prompt_does_and_a_header_before_both() {
    let named = |name: &str| {
        Some(Session {
            id: NameHash::of(name.as_bytes()),
            source: SessionSource::Body,
        })
    };
    for (path, member) in [
        (CHAT, r#""session_id":"s""#),
        (CHAT, r#""session_params":{"id":"s"}"#),
        (COMPLETIONS, r#""session_id":"s""#),
        (RESPONSES, r#""conversation":"s""#),
        (
            RESPONSES,
            r#""conversation":{"id":"s"},"previous_response_id":"r""#,
        ),
        ("/generate", r#""session_params":{"a":{"id":"x"},"id":"s"}"#),
    ] {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],
                "input":"x","prompt":"x","text":"x",{member}}}"#
        );
        assert_eq!(read(path, &body).session, named("s"), "{member}");

        let mut head = post(path);
        head.header("x-session-id", b"h");
        let facts = with_body(&head, &[Bytes::from(body)], BlockSize::DEFAULT)
            .unwrap()
            .facts;
        assert_eq!(facts.session.unwrap().source, SessionSource::Header);
    }
}
