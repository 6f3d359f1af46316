//! Which samples of a page are meant, as configurations write it.

use core::fmt;
use core::str::FromStr;

/// A metric, and labels that its samples must have: `name{label=value,...}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricSpec {
    pub(crate) name: Box<str>,
    pub(crate) labels: Vec<(Box<str>, Box<str>)>,
}

/// Why a text is no [`MetricSpec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadMetricSpec {
    /// There is no name before the braces.
    NameMissing,
    /// The name has characters that no metric's name has.
    NameForeign,
    /// The braces do not close at the end.
    BraceOpen,
    /// What stands between the braces is not `label=value`, with a comma between two.
    LabelForeign,
}

impl MetricSpec {
    /// A metric whatever its labels.
    pub fn named(name: &str) -> Self {
        Self {
            name: name.into(),
            labels: Vec::new(),
        }
    }

    /// The same metric, of samples that have this label.
    #[must_use]
    pub fn with(mut self, label: &str, value: &str) -> Self {
        self.labels.push((label.into(), value.into()));
        self
    }
}

impl FromStr for MetricSpec {
    type Err = BadMetricSpec;

    /// Reads a text in which the quotes around values may be left out.
    fn from_str(text: &str) -> Result<Self, BadMetricSpec> {
        let (name, inside) = match text.trim().split_once('{') {
            None => (text.trim(), ""),
            Some((name, rest)) => {
                let inside = rest.strip_suffix('}').ok_or(BadMetricSpec::BraceOpen)?;
                (name.trim(), inside)
            }
        };
        if name.is_empty() {
            return Err(BadMetricSpec::NameMissing);
        }
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || "_:.".contains(letter);
        if !name.chars().all(is_of_name) {
            return Err(BadMetricSpec::NameForeign);
        }
        let mut spec = Self::named(name);
        let labels = inside.trim().trim_end_matches(',');
        if !labels.is_empty() {
            for item in labels.split(',') {
                let (label, value) = item.split_once('=').ok_or(BadMetricSpec::LabelForeign)?;
                let (label, value) = (label.trim(), unquoted(value.trim()));
                if label.is_empty() || value.contains(['"', '{', '}']) {
                    return Err(BadMetricSpec::LabelForeign);
                }
                spec = spec.with(label, value);
            }
        }
        Ok(spec)
    }
}

impl fmt::Display for BadMetricSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NameMissing => "names no metric",
            Self::NameForeign => "has a character that no metric's name has",
            Self::BraceOpen => "has a `{` without a `}` at its end",
            Self::LabelForeign => "has something else than `label=value` between its braces",
        })
    }
}

impl core::error::Error for BadMetricSpec {}

fn unquoted(text: &str) -> &str {
    let inside = text
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    inside.unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn labels_may_be_quoted_and_blanks_do_not_count() {
        let expected = MetricSpec::named("nv_metric")
            .with("request_type", "waiting")
            .with("a", "b c");
        for text in [
            "nv_metric{request_type=waiting,a=b c}",
            r#" nv_metric { request_type = "waiting" , a="b c", } "#,
        ] {
            assert_eq!(text.parse(), Ok(expected.clone()), "{text}");
        }
        let bare = MetricSpec::named("vllm:num_requests_waiting");
        assert_eq!("vllm:num_requests_waiting".parse(), Ok(bare.clone()));
        assert_eq!("vllm:num_requests_waiting{}".parse(), Ok(bare));
    }

    #[test]
    fn what_is_no_metric_is_told() {
        for (text, problem) in [
            ("", BadMetricSpec::NameMissing),
            ("{a=b}", BadMetricSpec::NameMissing),
            ("a metric", BadMetricSpec::NameForeign),
            ("metric{a=b", BadMetricSpec::BraceOpen),
            ("metric{a=b} 1", BadMetricSpec::BraceOpen),
            ("metric{a}", BadMetricSpec::LabelForeign),
            ("metric{=b}", BadMetricSpec::LabelForeign),
            ("metric{a={b}", BadMetricSpec::LabelForeign),
        ] {
            assert_eq!(text.parse::<MetricSpec>(), Err(problem), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "[a:{}=\", ]{0,20}") {
            let _ = text.parse::<MetricSpec>();
        }
    }
}
