//! Counts by the name of what was counted.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Instructions of each function, sorted by name.
#[derive(Debug, PartialEq)]
pub(super) struct Values(pub(super) BTreeMap<String, u64>);

impl Values {
    /// Reads what gungraun writes: one JSON object in a line for each benchmark.
    pub(super) fn of_summaries(text: &str) -> Result<Self> {
        let mut values = BTreeMap::new();
        for line in text.lines() {
            let summary: Value = serde_json::from_str(line)
                .with_context(|| format!("gungraun wrote a line that is not JSON: {line}"))?;
            let (name, count) = named_count(&summary)
                .with_context(|| format!("gungraun wrote a line without a count: {line}"))?;
            if values.insert(name.clone(), count).is_some() {
                bail!("two benchmarks have the name {name}");
            }
        }
        Ok(Self(values))
    }

    /// Reads the stored form.
    pub(super) fn parse(json: &str) -> Result<Self> {
        Ok(Self(serde_json::from_str(json)?))
    }
}

/// The stored form.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string_pretty(&self.0).map_err(|_| fmt::Error)?;
        writeln!(f, "{json}")
    }
}

fn named_count(summary: &Value) -> Option<(String, u64)> {
    let function = summary.get("function_name")?.as_str()?;
    let case = summary.get("id")?.as_str()?;
    let count = summary.pointer("/profiles/0/data/total/metrics/Ir/values/new")?;
    Some((format!("{function}/{case}"), count.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line as gungraun 0.20 writes it, with some of its members.
    fn summary(function: &str, case: &str, count: &str) -> String {
        format!(
            r#"{{"function_name":"{function}","group":"hot_functions","id":"{case}","profiles":[{{"data":{{"parts":[],"total":{{"metrics":{{"Ir":{{"change":{{"diff_pct":"0","factor":"1"}},"values":{{"new":{count},"old":7}}}}}},"regressions":[]}}}},"tool":"Callgrind"}}],"version":"7"}}"#
        )
    }

    #[test]
    fn each_summary_gives_the_new_count_of_its_function_and_case() {
        let text = [summary("b", "two", "20"), summary("a", "one", "10")].join("\n");
        let values = Values::of_summaries(&text).unwrap();
        assert_eq!(
            values.0,
            BTreeMap::from([("a/one".to_owned(), 10), ("b/two".to_owned(), 20)])
        );
    }

    #[test]
    fn a_summary_that_cannot_be_read_fails_instead_of_being_left_out() {
        for text in [
            "not JSON".to_owned(),
            "{}".to_owned(),
            summary("a", "one", "null"),
            [summary("a", "one", "1"), summary("a", "one", "1")].join("\n"),
        ] {
            assert!(Values::of_summaries(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_stored_form_is_sorted_and_reads_back() {
        let values = Values(BTreeMap::from([
            ("b/one".to_owned(), 1_000_000),
            ("a/two".to_owned(), 2),
        ]));
        let stored = values.to_string();
        assert_eq!(stored, "{\n  \"a/two\": 2,\n  \"b/one\": 1000000\n}\n");
        assert_eq!(Values::parse(&stored).unwrap(), values);
        assert!(Values::parse(r#"{"a/one": -1}"#).is_err());
    }
}
