//! `serde_json` as the reference, and where we differ from it on purpose.

use super::super::{Cause, DEPTH_MAX, Fault, Kind};
use super::pieces::text;
use super::recorder::{Token, read, read_whole};
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_tokens_of_a_value_make_the_value_again(value in value(), size in 1..50_usize) {
        for text in [serde_json::to_vec(&value).unwrap(), serde_json::to_vec_pretty(&value).unwrap()] {
            let (tokens, result) = read(text.chunks(size));
            prop_assert_eq!(result, Ok(()));
            // Its own reading of a float is not always the float that it wrote.
            let theirs: Value = serde_json::from_slice(&text).unwrap();
            prop_assert_eq!(rebuilt(&tokens, &text), theirs);
        }
    }

    #[test]
    fn what_serde_json_skips_is_what_we_accept(text in text()) {
        let unmarked = text.strip_prefix(MARK).unwrap_or(&text);
        let theirs = serde_json::from_slice::<IgnoredAny>(unmarked).is_ok();
        prop_assert_eq!(read_whole(&text).1.is_ok(), theirs, "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn what_serde_json_reads_is_what_we_tell(text in text()) {
        if let Ok(value) = serde_json::from_slice::<Value>(&text) {
            let (tokens, result) = read_whole(&text);
            prop_assert_eq!(result, Ok(()));
            prop_assert_eq!(rebuilt(&tokens, &text), value);
        }
    }
}

#[test]
fn differs_from_serde_json_in_depth() {
    let deep = |depth: usize| [vec![b'['; depth], vec![b']'; depth]].concat();
    assert!(serde_json::from_slice::<Value>(&deep(200)).is_err());
    assert_eq!(read_whole(&deep(200)).1, Ok(()));
    assert!(serde_json::from_slice::<IgnoredAny>(&deep(DEPTH_MAX + 1)).is_ok());
    let fault = Fault {
        cause: Cause::TooDeep,
        at: DEPTH_MAX as u64,
    };
    assert_eq!(read_whole(&deep(DEPTH_MAX + 1)).1, Err(fault));
}

#[test]
fn differs_from_serde_json_in_surrogates() {
    assert!(serde_json::from_slice::<Value>(br#""\ud800""#).is_err());
    assert_eq!(read_whole(br#""\ud800""#).1, Ok(()));
}

#[test]
fn differs_from_serde_json_in_bytes_that_are_no_utf_8() {
    assert!(serde_json::from_slice::<Value>(b"\"\xff\"").is_err());
    assert_eq!(read_whole(b"\"\xff\"").1, Ok(()));
}

#[test]
fn differs_from_serde_json_in_the_byte_order_mark() {
    let text = [MARK, b"{}"].concat();
    assert!(serde_json::from_slice::<IgnoredAny>(&text).is_err());
    assert_eq!(read_whole(&text).1, Ok(()));
}

#[test]
fn differs_from_serde_json_in_numbers_too_large_for_it() {
    assert!(serde_json::from_slice::<Value>(b"1e400").is_err());
    assert_eq!(read_whole(b"1e400").1, Ok(()));
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z\n\"\\\\ ]{0,120}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// The value that these tokens tell of. Their offsets are checked against the text.
pub(super) fn rebuilt(tokens: &[Token], text: &[u8]) -> Value {
    let mut tokens = tokens.iter();
    let value = next_value(&mut tokens, text).expect("a value");
    assert_eq!(tokens.next(), None);
    value
}

/// The next value, or none at the end of a container.
fn next_value<'t>(tokens: &mut impl Iterator<Item = &'t Token>, text: &[u8]) -> Option<Value> {
    let Some(Token::Begin(kind, at)) = tokens.next() else {
        return None;
    };
    let byte = text[usize::try_from(*at).unwrap()];
    if *kind == Kind::Object {
        assert_eq!(byte, b'{');
        let mut members = Map::new();
        while let Some(Value::String(key)) = next_value(tokens, text) {
            members.insert(key, next_value(tokens, text).expect("a member"));
        }
        return Some(Value::from(members));
    }
    if *kind == Kind::Array {
        assert_eq!(byte, b'[');
        return Some(std::iter::from_fn(|| next_value(tokens, text)).collect());
    }
    let mut written = Vec::new();
    let end = match tokens.next() {
        Some(Token::Text(part)) => {
            written.clone_from(part);
            tokens.next()
        }
        end => end,
    };
    let Some(Token::End(end_kind, end)) = end else {
        panic!("no end: {end:?}")
    };
    assert_eq!(end_kind, kind);
    let span = &text[usize::try_from(*at).unwrap()..usize::try_from(*end).unwrap()];
    let value: Value = serde_json::from_slice(span).expect("the offsets hold the token");
    match kind {
        Kind::Key | Kind::String => {
            assert_eq!(value.as_str().map(str::as_bytes), Some(&written[..]))
        }
        Kind::Number => assert_eq!(span, written),
        _ => assert!(written.is_empty()),
    }
    Some(value)
}

pub(super) const MARK: &[u8] = b"\xef\xbb\xbf";
