//! Load reports in the headers of answers, for requests that ask for one.
//!
//! The text and the JSON form are vLLM's, which reports two values. It has no binary form; that one
//! is as gRPC and Envoy read it.

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use pointsman_engine::stats::EngineStats;
use pointsman_proto::orca::OrcaLoadReport;
use prost::Message as _;
use serde_json::json;
use tonic::metadata::BinaryMetadataValue;

/// How a request wants its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// `name=value, name=value`.
    Text,
    /// A JSON object.
    Json,
    /// A message in base64.
    Binary,
}

impl Format {
    /// What the headers of a request ask for; an unknown format is as none.
    pub(crate) fn asked(headers: &HeaderMap) -> Option<Self> {
        let format = headers.get(FORMAT)?.as_bytes();
        let known: [(&[u8], Self); 3] = [
            (b"TEXT", Self::Text),
            (b"JSON", Self::Json),
            (b"BIN", Self::Binary),
        ];
        known
            .into_iter()
            .find(|(name, _)| format.eq_ignore_ascii_case(name))
            .map(|(_, format)| format)
    }

    /// The header that reports `stats`.
    pub(crate) fn report(self, stats: &EngineStats) -> (HeaderName, HeaderValue) {
        let named = [
            (KV_USAGE, stats.kv_usage.value()),
            (WAITING, stats.waiting as f64),
        ];
        let (name, value) = match self {
            Self::Text => {
                let named = named.map(|(name, value)| format!("named_metrics.{name}={value:?}"));
                (REPORT, format!("TEXT {}", named.join(", ")))
            }
            Self::Json => {
                let named = serde_json::Map::from_iter(
                    named.map(|(name, value)| (name.to_owned(), value.into())),
                );
                (
                    REPORT,
                    format!("JSON {}", json!({ "named_metrics": named })),
                )
            }
            Self::Binary => {
                let report = OrcaLoadReport {
                    named_metrics: named.map(|(name, value)| (name.to_owned(), value)).into(),
                    ..OrcaLoadReport::default()
                };
                (REPORT_BINARY, padded_base64(&report.encode_to_vec()))
            }
        };
        let value = HeaderValue::try_from(value);
        debug_assert!(value.is_ok(), "numbers and plain words: {value:?}");
        (name, value.unwrap_or(HeaderValue::from_static("")))
    }
}

/// Base64 with padding: gRPC takes it and leaves it out, Envoy wants it.
fn padded_base64(bytes: &[u8]) -> String {
    let encoded = BinaryMetadataValue::from_bytes(bytes);
    let mut text = String::from_utf8_lossy(encoded.as_encoded_bytes()).into_owned();
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

const KV_USAGE: &str = "kv_cache_usage_perc";
const WAITING: &str = "num_requests_waiting";

/// Asks for a report.
const FORMAT: HeaderName = HeaderName::from_static("endpoint-load-metrics-format");

/// Carries a report that begins with its format.
const REPORT: HeaderName = HeaderName::from_static("endpoint-load-metrics");

/// Carries a binary report.
const REPORT_BINARY: HeaderName = HeaderName::from_static("endpoint-load-metrics-bin");

#[cfg(test)]
mod tests {
    use pointsman_domain::units::Unit;
    use pointsman_engine::stats::EngineTotals;
    use tonic::metadata::MetadataMap;

    use super::*;

    fn report(format: Format) -> (HeaderName, String) {
        let (name, value) = format.report(&EngineStats {
            running: 5,
            waiting: 3,
            deferred: 0,
            kv_usage: Unit::clamped(0.25),
            totals: EngineTotals::default(),
        });
        (name, value.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_texts_are_those_of_vllm() {
        let (name, text) = report(Format::Text);
        assert_eq!(name, "endpoint-load-metrics");
        assert_eq!(
            text,
            "TEXT named_metrics.kv_cache_usage_perc=0.25, named_metrics.num_requests_waiting=3.0"
        );
        let (name, text) = report(Format::Json);
        assert_eq!(name, "endpoint-load-metrics");
        assert_eq!(
            text,
            r#"JSON {"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":3.0}}"#
        );
    }

    #[test]
    fn the_binary_form_is_a_message_in_whole_groups_of_base64() {
        let (name, text) = report(Format::Binary);
        assert_eq!(name, "endpoint-load-metrics-bin");
        assert_eq!(text.len() % 4, 0);
        let headers = HeaderMap::from_iter([(name.clone(), text.parse().unwrap())]);
        let headers = MetadataMap::from_headers(headers);
        let bytes = headers.get_bin(name.as_str()).unwrap().to_bytes().unwrap();
        let named = OrcaLoadReport::decode(bytes).unwrap().named_metrics;
        let named: Vec<_> = named.into_iter().collect();
        assert_eq!(
            named,
            [(KV_USAGE.to_owned(), 0.25), (WAITING.to_owned(), 3.0)]
        );
        for (bytes, text) in [
            (&b""[..], ""),
            (b"a", "YQ=="),
            (b"ab", "YWI="),
            (b"abc", "YWJj"),
        ] {
            assert_eq!(padded_base64(bytes), text);
        }
    }

    #[test]
    fn a_format_is_known_in_any_case_and_others_ask_for_nothing() {
        for (text, format) in [
            ("TEXT", Some(Format::Text)),
            ("json", Some(Format::Json)),
            ("Bin", Some(Format::Binary)),
            ("", None),
            ("BINARY", None),
            ("TEXT, JSON", None),
        ] {
            let headers = HeaderMap::from_iter([(FORMAT, HeaderValue::from_static(text))]);
            assert_eq!(Format::asked(&headers), format, "{text:?}");
        }
        assert_eq!(Format::asked(&HeaderMap::new()), None);
    }
}
