//! Usage in one JSON text.
//!
//! Members of a wrong type are ignored one by one: what an engine writes beside its counts, or in
//! their place, must cost no more than that count.

use core::fmt;
use std::borrow::Cow;

use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;
use serde::Deserialize;
use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The usage of a response or of one of its events: at the top level, or one deeper in `response`.
pub(crate) fn of_json(json: &[u8]) -> Option<Usage> {
    let [usage, response] = members(json, ["usage", "response"])?;
    usage.and_then(of_counts).or_else(|| {
        let [usage] = members(response?.get().as_bytes(), ["usage"])?;
        usage.and_then(of_counts)
    })
}

/// A usage needs both counts, and is not believed where one of them cannot be true; the share from cache is told by some engines only.
fn of_counts(counts: &RawValue) -> Option<Usage> {
    let [
        prompt,
        input,
        completion,
        output,
        prompt_details,
        input_details,
    ] = members(
        counts.get().as_bytes(),
        [
            "prompt_tokens",
            "input_tokens",
            "completion_tokens",
            "output_tokens",
            "prompt_tokens_details",
            "input_tokens_details",
        ],
    )?;
    let prompt = count(prompt).or_else(|| count(input))?;
    let cached = cached(prompt_details).or_else(|| cached(input_details));
    Some(Usage {
        prompt,
        output: count(completion).or_else(|| count(output))?,
        cached: cached.filter(|cached| *cached <= prompt),
    })
}

fn cached(details: Option<&RawValue>) -> Option<Tokens> {
    let [cached] = members(details?.get().as_bytes(), ["cached_tokens"])?;
    count(cached)
}

fn count(raw: Option<&RawValue>) -> Option<Tokens> {
    let tokens = serde_json::from_str(raw?.get()).ok().map(Tokens);
    tokens.filter(|tokens| *tokens <= TOKENS_MAX)
}

/// The values of the members with these names, if the text is an object. Of a member that comes
/// twice the last counts.
fn members<'a, const N: usize>(
    json: &'a [u8],
    names: [&'static str; N],
) -> Option<[Option<&'a RawValue>; N]> {
    let mut json = serde_json::Deserializer::from_slice(json);
    let found = json.deserialize_map(Members(names)).ok()?;
    json.end().ok()?;
    Some(found)
}

struct Members<const N: usize>([&'static str; N]);

impl<'de, const N: usize> Visitor<'de> for Members<N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(Name(name)) = map.next_key()? {
            let wanted = self.0.iter().position(|wanted| *wanted == name);
            match wanted.and_then(|index| found.get_mut(index)) {
                Some(value) => *value = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(found)
    }
}

/// The name of a member, borrowed unless it is written with escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// More than any engine makes of one request. A greater count is a fault of the engine, and added to
/// others it could wrap a counter.
const TOKENS_MAX: Tokens = Tokens(1 << 32);

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(prompt: u64, output: u64, cached: Option<u64>) -> Option<Usage> {
        Some(Usage {
            prompt: Tokens(prompt),
            output: Tokens(output),
            cached: cached.map(Tokens),
        })
    }

    #[test]
    fn both_spellings_of_the_counts_are_read() {
        for (json, expected) in [
            (
                r#"{"usage":{"prompt_tokens":7,"completion_tokens":10,"total_tokens":17}}"#,
                usage(7, 10, None),
            ),
            (
                r#"{"usage":{"prompt_tokens":7,"completion_tokens":10,
                    "prompt_tokens_details":{"cached_tokens":4}}}"#,
                usage(7, 10, Some(4)),
            ),
            (
                r#"{"usage":{"input_tokens":7,"output_tokens":0,
                    "input_tokens_details":{"cached_tokens":0}}}"#,
                usage(7, 0, Some(0)),
            ),
        ] {
            assert_eq!(of_json(json.as_bytes()), expected, "{json}");
        }
    }

    #[test]
    fn b35_usage_is_found_one_level_deeper() {
        let json = r#"{"usage":null,"type":"response.completed","response":{"output":[{"usage":1}],
            "usage":{"input_tokens":20,"output_tokens":5,"total_tokens":25}}}"#;
        assert_eq!(of_json(json.as_bytes()), usage(20, 5, None));
        for json in [
            r#"{"type":"response.created","response":{"usage":null}}"#,
            r#"{"usage":null,"response":null}"#,
            r#"{"response":[{"usage":{"input_tokens":20,"output_tokens":5}}]}"#,
        ] {
            assert_eq!(of_json(json.as_bytes()), None, "{json}");
        }
    }

    #[test]
    fn b36_a_wrong_type_costs_no_more_than_its_field() {
        let both = r#""prompt_tokens":7,"completion_tokens":10"#;
        for beside in [
            r#""prompt_tokens_details":7"#,
            r#""prompt_tokens_details":[4]"#,
            r#""prompt_tokens_details":{"cached_tokens":"4"}"#,
            r#""prompt_tokens_details":{"cached_tokens":-3}"#,
            r#""prompt_tokens_details":{"cached_tokens":8}"#,
            r#""input_tokens":"12""#,
            r#""total_tokens":true"#,
            r#""total_tokens":1e400"#,
            r#""total_tokens":-3"#,
        ] {
            let json = format!(r#"{{"usage":{{{beside},{both}}}}}"#);
            assert_eq!(of_json(json.as_bytes()), usage(7, 10, None), "{json}");
        }
    }

    #[test]
    fn a_count_that_no_request_has_is_not_believed() {
        let most = TOKENS_MAX.0;
        let of = |prompt: u64, output: u64, cached: u64| {
            let json = format!(
                r#"{{"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output},
                    "prompt_tokens_details":{{"cached_tokens":{cached}}}}}}}"#
            );
            of_json(json.as_bytes())
        };
        assert_eq!(of(most, most, most), usage(most, most, Some(most)));
        for wrong in [most + 1, u64::MAX] {
            assert_eq!(of(wrong, 1, 1), None);
            assert_eq!(of(1, wrong, 1), None);
            assert_eq!(of(1, 1, wrong), usage(1, 1, None));
        }
    }

    #[test]
    fn b36_a_count_of_a_wrong_type_is_none() {
        for wrong in [r#""12""#, "true", "1e400", "-3", "7.5", "null", "[7]", "{}"] {
            for counts in [
                format!(r#""prompt_tokens":{wrong},"completion_tokens":10"#),
                format!(r#""prompt_tokens":7,"completion_tokens":{wrong}"#),
            ] {
                let json = format!(r#"{{"usage":{{{counts}}}}}"#);
                assert_eq!(of_json(json.as_bytes()), None, "{json}");
            }
        }
        for json in [
            r#"{"usage":"n/a"}"#,
            r#"{"usage":[]}"#,
            r#"{"usage":[7,10]}"#,
            r#"{"usage":{"prompt_tokens_details":7}}"#,
            r#"{"usage":{}}"#,
            r#"[{"usage":{"prompt_tokens":7,"completion_tokens":10}}]"#,
            r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}"#,
            r#"{"usage":{"prompt_tokens":7,"completion_tokens":10}} x"#,
            "[DONE]",
            "",
        ] {
            assert_eq!(of_json(json.as_bytes()), None, "{json}");
        }
    }
}
