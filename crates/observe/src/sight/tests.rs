use core::fmt::Write as _;

use pointsman_domain::facts::Dialect;
use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;
use proptest::prelude::*;

use super::*;

fn facts(text: &str) -> Facts {
    Reading::of(text.as_bytes(), Scope::Event).unwrap_or_else(|why| panic!("{why:?}: {text}"))
}

/// The usage in a text, read as the body of a response.
fn usage(text: &str) -> Option<Usage> {
    let facts = Reading::of(text.as_bytes(), Scope::Counts).ok()?;
    let mut counts = facts.envelope_usage;
    counts.update(facts.meta);
    counts.update(facts.usage);
    counts.usage(Dialect::ChatCompletions)
}

const fn tokens(prompt: u64, output: u64, cached: Option<u64>) -> Option<Usage> {
    Some(Usage {
        prompt: Tokens(prompt),
        output: Tokens(output),
        cached: match cached {
            Some(cached) => Some(Tokens(cached)),
            None => None,
        },
        reasoning: None,
    })
}

/// Output, visible, and the number of answers that are finished.
fn answers(text: &str) -> (bool, bool, u32) {
    let facts = facts(text);
    (facts.output, facts.visible, facts.finished.len())
}

#[test]
fn b35_counts_are_found_at_the_top_one_level_deeper_and_nowhere_else() {
    for text in [
        r#"{"usage":{"prompt_tokens":20,"completion_tokens":5}}"#,
        r#"{"usage":null,"type":"response.completed","response":{"output":[{"usage":1}],"usage":{"input_tokens":20,"output_tokens":5,"total_tokens":25}}}"#,
        r#"{"type":"message_start","message":{"usage":{"input_tokens":20,"output_tokens":5}}}"#,
        r#"{"text":"x","meta_info":{"prompt_tokens":20,"completion_tokens":5}}"#,
        r#"[{"meta_info":{"prompt_tokens":15,"completion_tokens":2}},{"meta_info":{"prompt_tokens":5,"completion_tokens":3}}]"#,
        " {\"usage\" :\t{ \"prompt_tokens\"\n:20 , \"completion_tokens\": 5 } } ",
        r#"{"\u0075sage":{"prompt\u005ftokens":20,"completion_tokens":5}}"#,
        "\u{feff}{\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":5}}",
    ] {
        assert_eq!(usage(text), tokens(20, 5, None), "{text}");
    }
    for text in [
        r#"{"type":"response.created","response":{"usage":null}}"#,
        r#"{"response":[{"usage":{"input_tokens":20,"output_tokens":5}}]}"#,
        r#"{"data":{"usage":{"input_tokens":20,"output_tokens":5}}}"#,
        r#"{"response":{"response":{"usage":{"input_tokens":20,"output_tokens":5}}}}"#,
        r#"{"usage":{"usage":{"prompt_tokens":20,"completion_tokens":5}}}"#,
        r#"{"usage":[{"prompt_tokens":20,"completion_tokens":5}]}"#,
        r#"{"usage":[20,5]}"#,
        r#"[{"usage":{"prompt_tokens":20,"completion_tokens":5}}]"#,
        r#"[[{"meta_info":{"prompt_tokens":20,"completion_tokens":5}}]]"#,
        r#"{"usage":{"prompt_tokens_details":{"prompt_tokens":20,"completion_tokens":5}}}"#,
        r#"{"choices":[{"text":"\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":5}"}]}"#,
        r#""usage""#,
        "[]",
        "{}",
    ] {
        assert_eq!(usage(text), None, "{text}");
    }
}

#[test]
fn b36_a_wrong_type_costs_no_more_than_its_member() {
    let both = r#""prompt_tokens":7,"completion_tokens":10"#;
    for beside in [
        r#""prompt_tokens_details":7"#,
        r#""prompt_tokens_details":null"#,
        r#""prompt_tokens_details":[4]"#,
        r#""prompt_tokens_details":[{"cached_tokens":4}]"#,
        r#""prompt_tokens_details":{"cached_tokens":"4"}"#,
        r#""prompt_tokens_details":{"cached_tokens":-3}"#,
        r#""prompt_tokens_details":{"cached_tokens":8}"#,
        r#""prompt_tokens_details":{"cached_tokens":{"cached_tokens":4}}"#,
        r#""completion_tokens_details":{"reasoning_tokens":11}"#,
        r#""input_tokens":"12""#,
        r#""total_tokens":true"#,
        r#""total_tokens":1e400"#,
        r#""total_tokens":-3"#,
        r#""prompt_tokens":[7]"#,
        r#""prompt_tokens":{"a":[{}]}"#,
    ] {
        for members in [format!("{beside},{both}"), format!("{both},{beside}")] {
            let text = format!(r#"{{"usage":{{{members}}}}}"#);
            assert_eq!(usage(&text), tokens(7, 10, None), "{text}");
        }
    }
    let cached = r#"{"usage":{"prompt_tokens":7,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":4,"audio_tokens":"x"}}}"#;
    assert_eq!(usage(cached), tokens(7, 10, Some(4)));
}

#[test]
fn b36_a_count_of_a_wrong_type_is_none() {
    for wrong in [
        r#""12""#,
        "true",
        "1e400",
        "-3",
        "7.5",
        "null",
        "[7]",
        "{}",
        "999999999999999999999",
    ] {
        for counts in [
            format!(r#""prompt_tokens":{wrong},"completion_tokens":10"#),
            format!(r#""prompt_tokens":7,"completion_tokens":{wrong}"#),
        ] {
            let text = format!(r#"{{"usage":{{{counts}}}}}"#);
            assert_eq!(usage(&text), None, "{text}");
        }
    }
    for text in [
        r#"{"usage":"n/a"}"#,
        r#"{"usage":[]}"#,
        r#"{"usage":{"prompt_tokens_details":7}}"#,
        r#"{"usage":{}}"#,
        r#"{"usage":true}"#,
    ] {
        assert_eq!(usage(text), None, "{text}");
    }
}

#[test]
fn a_text_that_is_broken_or_cut_says_nothing() {
    let text = r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}}"#;
    for end in 1..text.len() {
        let cut = Reading::of(&text.as_bytes()[..end], Scope::Counts);
        assert_eq!(cut.err(), Some(Unread::Broken), "{end}");
    }
    for text in [
        format!("{text} x"),
        text.replace("10", "NaN"),
        text.replace("10", "Infinity"),
        text.replace(":10", ":010"),
        text.replace("\"usage\"", "usage"),
        "[DONE]".to_owned(),
        "\u{1}".to_owned(),
    ] {
        let read = Reading::of(text.as_bytes(), Scope::Counts);
        assert_eq!(read.err(), Some(Unread::Broken), "{text}");
    }
    for text in ["", " ", "\n\t \r\n"] {
        let read = Reading::of(text.as_bytes(), Scope::Event);
        assert_eq!(read.err(), Some(Unread::Blank), "{text}");
    }
}

#[test]
fn of_a_member_that_comes_twice_the_last_counts() {
    let text = r#"{"usage":{"prompt_tokens":1,"completion_tokens":2},"usage":{"prompt_tokens":7,"prompt_tokens":8,"completion_tokens":10}}"#;
    assert_eq!(usage(text), tokens(8, 10, None));
    let text = r#"{"usage":{"prompt_tokens":1,"completion_tokens":2},"usage":{"prompt_tokens":7}}"#;
    assert_eq!(usage(text), None);
}

#[test]
fn a_token_is_text_a_thought_a_call_or_the_reason_to_end() {
    let choice = |choice: &str| answers(&format!(r#"{{"choices":[{{"index":0,{choice}}}]}}"#));
    for (text, expected) in [
        (r#""delta":{"content":"x"}"#, (true, true, 0)),
        (
            r#""delta":{"role":"assistant","content":"x"}"#,
            (true, true, 0),
        ),
        (
            r#""delta":{"content":[{"type":"text","text":"x"}]}"#,
            (true, true, 0),
        ),
        (r#""delta":{"refusal":"x"}"#, (true, true, 0)),
        (r#""delta":{"tool_calls":[{"index":0}]}"#, (true, true, 0)),
        (r#""delta":{"function_call":{"name":"f"}}"#, (true, true, 0)),
        (r#""delta":{"reasoning_content":"x"}"#, (true, false, 0)),
        (
            r#""delta":{"reasoning":"x","content":null}"#,
            (true, false, 0),
        ),
        (
            r#""delta":{"role":"assistant","content":"","reasoning":"x"}"#,
            (true, false, 0),
        ),
        (
            r#""delta":{"reasoning_details":[{"text":"x"}]}"#,
            (true, false, 0),
        ),
        (r#""delta":{"content":""}"#, (true, false, 0)),
        (r#""delta":{"role":null,"content":""}"#, (true, false, 0)),
        (
            r#""delta":{"role":"assistant","content":""},"finish_reason":null"#,
            (false, false, 0),
        ),
        (
            r#""delta":{"role":"assistant","content":null,"tool_calls":[]}"#,
            (false, false, 0),
        ),
        (r#""delta":{"role":"assistant"}"#, (false, false, 0)),
        (r#""delta":{}"#, (false, false, 0)),
        (r#""delta":{},"finish_reason":"stop""#, (true, false, 1)),
        (r#""delta":{},"finish_reason":"""#, (false, false, 0)),
        (r#""delta":null"#, (false, false, 0)),
        (r#""delta":"x""#, (false, false, 0)),
        (r#""text":"x","finish_reason":null"#, (true, true, 0)),
        (r#""text":"""#, (true, false, 0)),
        (r#""token_ids":[7]"#, (true, true, 0)),
        (r#""token_ids":[]"#, (false, false, 0)),
        (
            r#""logprobs":{"content":[{"token":"x"}]}"#,
            (false, false, 0),
        ),
    ] {
        assert_eq!(choice(text), expected, "{text}");
    }
}

#[test]
fn answers_are_told_apart_by_their_index() {
    let finished = |indexes: &[&str]| {
        let mut text = String::from(r#"{"choices":["#);
        for index in indexes {
            let comma = if text.ends_with('[') { "" } else { "," };
            write!(text, r#"{comma}{{"index":{index},"finish_reason":"stop"}}"#).unwrap();
        }
        text.push_str("]}");
        facts(&text).finished.len()
    };
    assert_eq!(finished(&["0", "1", "0"]), 2);
    assert_eq!(finished(&["127", "128", "4294967296"]), 3);
    assert_eq!(finished(&["-1", "1.5", "\"0\"", "null"]), 3);
    assert_eq!(
        answers(r#"{"index":1,"text":"x","meta_info":{"finish_reason":{"type":"stop"}}}"#),
        (true, true, 1)
    );
    assert_eq!(
        answers(r#"{"text":"","output_ids":[5],"meta_info":{"finish_reason":null}}"#),
        (true, true, 0)
    );
}

#[test]
fn the_shape_of_a_text_tells_whether_anything_is_known_of_it() {
    for (text, shape) in [
        ("{}", Shape::Empty),
        (r#"{"id":"x"}"#, Shape::Unknown),
        (r#"{"id":"x","choices":[]}"#, Shape::Known),
        (r#"{"choices":[],"id":"x"}"#, Shape::Known),
        ("[]", Shape::Array),
        ("7", Shape::Scalar),
        (r#""choices""#, Shape::Scalar),
    ] {
        assert_eq!(facts(text).shape, shape, "{text}");
    }
    assert_eq!(facts(r#"{"choices":[]}"#).choices, Some(0));
    assert_eq!(facts(r#"{"choices":[{},7,{},null]}"#).choices, Some(2));
    assert_eq!(facts(r#"{"choices":{}}"#).choices, None);
    assert!(facts(r#"{"error":{"message":"x"}}"#).error);
    assert!(facts(r#"{"error":"x"}"#).error);
    assert!(!facts(r#"{"error":null}"#).error);
}

#[test]
fn texts_of_any_depth_and_words_of_any_length_are_passed_over() {
    for (open, close) in [("[", "]"), (r#"{"usage":"#, "}"), (r#"{"choices":["#, "]}")] {
        let deep = format!("{}7{}", open.repeat(400), close.repeat(400));
        let text = format!(
            r#"{{"x":{deep},"choices":{deep},"usage":{deep},"usage":{{"prompt_tokens":7,"completion_tokens":10}}}}"#
        );
        assert_eq!(usage(&text), tokens(7, 10, None), "{open}");
        facts(&text);
        let deeper = Reading::of(open.repeat(1 << 20).as_bytes(), Scope::Event);
        assert_eq!(deeper.err(), Some(Unread::Broken), "{open}");
    }
    let long = "x".repeat(1 << 20);
    let digits = "7".repeat(1 << 20);
    let text = format!(
        r#"{{"{long}":"{long}","type":"{long}","index":{digits},"usage":{{"{long}":7,"prompt_tokens":{digits},"prompt_tokens":7,"completion_tokens":10}}}}"#
    );
    assert_eq!(usage(&text), tokens(7, 10, None));
    assert_eq!(facts(&text).kind.bytes(), None);
}

#[test]
fn a_word_is_kept_up_to_its_limit() {
    let mut word = Word::NONE;
    for _ in 0..Word::BYTES_MAX {
        word.push(b"7");
    }
    assert_eq!(word.bytes(), Some(&[b'7'; Word::BYTES_MAX][..]));
    word.push(b"7");
    assert_eq!(word.bytes(), None);
    assert!(!word.is_empty());
    word.clear();
    assert!(word.is_empty());
    assert_eq!(word.bytes(), Some(&b""[..]));
}

fn fragment() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        prop_oneof![
            Just("{"),
            Just("}"),
            Just("["),
            Just("]"),
            Just(","),
            Just(":"),
            Just(" ")
        ],
        prop_oneof![
            Just("\"choices\":[{"),
            Just("\"delta\":{"),
            Just("\"usage\":{"),
            Just("\"prompt_tokens\":7"),
            Just("\"completion_tokens\":10"),
            Just("\"finish_reason\":\"stop\""),
            Just("\"content\":\"x\""),
            Just("\"meta_info\":{"),
            Just("\"response\":{"),
            Just("\"type\":\"message_stop\""),
            Just("\"\\u0075sage\":{"),
        ],
        prop_oneof![
            Just("7"),
            Just("-1e5"),
            Just("null"),
            Just("true"),
            Just("\"\\ud83d\"")
        ],
    ]
}

proptest! {
    #[test]
    fn where_a_text_is_cut_changes_nothing(
        fragments in proptest::collection::vec(fragment(), 0..20),
        scope in prop_oneof![Just(Scope::Event), Just(Scope::Counts)],
    ) {
        let text = format!("{{{}", fragments.concat());
        let whole = format!("{:?}", Reading::of(text.as_bytes(), scope));
        let mut reading = Reading::new(scope);
        for byte in text.as_bytes() {
            reading.push(core::slice::from_ref(byte));
        }
        prop_assert_eq!(format!("{:?}", reading.finish()), whole);
    }
}
