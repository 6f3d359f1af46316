//! Streams that no honest engine sends.

use super::*;

const ALL: [Observation; 4] = [OUTPUT, VISIBLE, FINISHED, usage(7, 10)];

#[test]
fn a_line_of_a_mebibyte_does_not_hide_the_next_event() {
    let long = "x".repeat(1 << 20);
    for line in [
        long.clone(),
        format!("data: {long}"),
        format!(": {long}"),
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{long}\"}}}}]}}"),
        format!("data: {{\"{long}\":1}}"),
        format!("data: {}", " ".repeat(1 << 20)),
        format!("data:{}", "\ndata:".repeat(1 << 17)),
    ] {
        let body = format!("{TOKEN}\n\n{line}\n\n{USAGE}\n\n");
        for size in [1000, 16_384, body.len()] {
            let pieces: Vec<_> = body.as_bytes().chunks(size).collect();
            assert_eq!(all(CHAT, &pieces), ALL, "{} {size}", &line[..10]);
        }
    }
}

#[test]
fn an_event_of_a_mebibyte_is_read_wherever_it_is_cut() {
    let long = "\\\"usage\\\":{".repeat(100_000);
    let body = format!(
        "{TOKEN}\n\ndata: {{\"x\":\"{long}\",\"choices\":[],\"usage\":{{\"prompt_tokens\":7,\"completion_tokens\":10}},\"y\":[\"{long}\"]}}\n\n"
    );
    for size in [777, 16_384, body.len()] {
        let pieces: Vec<_> = body.as_bytes().chunks(size).collect();
        assert_eq!(all(CHAT, &pieces), ALL, "{size}");
    }
}

#[test]
fn deep_nesting_says_nothing() {
    for (open, close) in [("[", "]"), ("{\"usage\":", "}"), ("{\"choices\":[", "]}")] {
        for depth in [100, 2000, 200_000] {
            let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            let body = format!("{TOKEN}\n\ndata: {deep}\n\n{USAGE}\n\n");
            let pieces: Vec<_> = body.as_bytes().chunks(5000).collect();
            assert_eq!(all(CHAT, &pieces), ALL);
            assert_eq!(all(CHAT, &[&body]), ALL);
            assert_eq!(all(JSON, &[&deep]), ALL[..3]);
        }
    }
}

#[test]
fn b36_counts_that_are_no_counts_are_none() {
    for usage in [
        "\"n/a\"",
        "[]",
        "{}",
        "7",
        "true",
        "{\"prompt_tokens_details\":7}",
        "{\"prompt_tokens\":\"12\",\"completion_tokens\":10}",
        "{\"prompt_tokens\":7,\"completion_tokens\":1e400}",
        "{\"prompt_tokens\":-3,\"completion_tokens\":10}",
        "{\"prompt_tokens\":NaN,\"completion_tokens\":10}",
        "{\"prompt_tokens\":18446744073709551616,\"completion_tokens\":10}",
        "{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":10}",
        "{\"prompt_tokens\":4294967297,\"completion_tokens\":10}",
        "{\"total_tokens\":true}",
    ] {
        let body = format!("{{\"choices\":[],\"usage\":{usage}}}");
        assert_eq!(all(JSON, &[&body]), ALL[..3], "{usage}");
        let stream = format!("{TOKEN}\n\ndata: {body}\n\ndata: [DONE]\n\n");
        assert_eq!(all(CHAT, &[&stream]), ALL[..3], "{usage}");
        let told_before = format!("{TOKEN}\n\n{}\n\ndata: {body}\n\n", continuous());
        assert_eq!(all(CHAT, &[&told_before]), ALL, "{usage}");
    }
}

/// A token whose event reports counts.
fn continuous() -> String {
    let counts = ",\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":10}}";
    TOKEN.strip_suffix('}').unwrap().to_owned() + counts
}

#[test]
fn bytes_that_are_no_text_are_no_reason_to_stop() {
    let mut body = b"data: \xff\xfe\x00\n\n\xef\xbb\ndata: {\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}\n\n".to_vec();
    body.extend_from_slice(USAGE.as_bytes());
    assert_eq!(all(CHAT, &[&body]), ALL);
    assert_eq!(all(CHAT, &bytes_of(&body)), ALL);
}

#[test]
fn events_of_another_dialect_are_read_as_far_as_they_go() {
    let messages = Expected {
        dialect: Dialect::Messages,
        ..CHAT
    };
    let body = format!("{TOKEN}\n\n{STOP}\n\ndata: [DONE]\n\n");
    assert_eq!(all(messages, &[&body]), ALL[..3]);
    let body = r#"data: {"type":"message_stop"}"#;
    assert_eq!(all(CHAT, &[format!("{body}\n\n")]), [FINISHED]);
}
