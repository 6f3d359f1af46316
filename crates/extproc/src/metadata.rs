//! What the gateway tells in the metadata of a message: which endpoints it admits, and which one
//! served. The names are those of the [Endpoint Picker Protocol].
//!
//! [Endpoint Picker Protocol]: https://github.com/kubernetes-sigs/gateway-api-inference-extension/tree/main/docs/proposals/004-endpoint-picker-protocol

use core::net::SocketAddr;

use pointsman_domain::endpoint::SubsetEntry;
use pointsman_proto::ext_proc::Metadata;
use prost_types::Value;
use prost_types::value::Kind;

/// The subset hint: `None` if the gateway gave none; empty, which admits nothing, if it gave one in
/// which no address could be read.
pub(crate) fn subset(metadata: Option<&Metadata>) -> Option<Vec<SubsetEntry>> {
    let hint = field(metadata, SUBSET_NAMESPACE, SUBSET_KEY)?;
    let mut entries = Vec::new();
    match &hint.kind {
        Some(Kind::ListValue(list)) => {
            for text in list.values.iter().filter_map(text_of) {
                entries.extend(text.split(',').filter_map(SubsetEntry::parse));
            }
        }
        Some(Kind::StringValue(text)) => {
            entries.extend(text.split(',').filter_map(SubsetEntry::parse));
        }
        _ => {}
    }
    Some(entries)
}

/// The endpoint that served, if the gateway names exactly one.
pub(crate) fn served(metadata: Option<&Metadata>) -> Option<SocketAddr> {
    let value = field(metadata, BALANCER_NAMESPACE, SERVED_KEY)?;
    text_of(value)?.trim().parse().ok()
}

fn field<'a>(metadata: Option<&'a Metadata>, namespace: &str, key: &str) -> Option<&'a Value> {
    metadata?.filter_metadata.get(namespace)?.fields.get(key)
}

fn text_of(value: &Value) -> Option<&str> {
    match &value.kind {
        Some(Kind::StringValue(text)) => Some(text),
        _ => None,
    }
}

/// Namespace of what we and the gateway's load balancer tell each other.
pub(crate) const BALANCER_NAMESPACE: &str = "envoy.lb";
const SUBSET_NAMESPACE: &str = "envoy.lb.subset_hint";
const SUBSET_KEY: &str = "x-gateway-destination-endpoint-subset";
const SERVED_KEY: &str = "x-gateway-destination-endpoint-served";

#[cfg(test)]
mod tests {
    use prost_types::{ListValue, Struct};

    use super::*;

    fn text(value: &str) -> Value {
        Value {
            kind: Some(Kind::StringValue(value.to_owned())),
        }
    }

    fn list(values: &[&str]) -> Value {
        let values = values.iter().map(|value| text(value)).collect();
        Value {
            kind: Some(Kind::ListValue(ListValue { values })),
        }
    }

    fn with(namespace: &str, key: &str, value: Value) -> Metadata {
        let fields = [(key.to_owned(), value)].into();
        Metadata {
            filter_metadata: [(namespace.to_owned(), Struct { fields })].into(),
        }
    }

    fn admitted(value: Value) -> Option<Vec<String>> {
        let metadata = with(SUBSET_NAMESPACE, SUBSET_KEY, value);
        let entries = subset(Some(&metadata))?;
        Some(
            entries
                .iter()
                .map(|entry| format!("{} {:?}", entry.ip, entry.port))
                .collect(),
        )
    }

    #[test]
    fn a_hint_is_a_list_or_a_comma_separated_string_and_ports_count() {
        let expected = Some(vec![
            "10.0.0.1 Some(8000)".to_owned(),
            "10.0.0.2 None".to_owned(),
            "fd00:1::5 Some(8000)".to_owned(),
        ]);
        let entries = ["10.0.0.1:8000", "10.0.0.2", "[fd00:1::5]:8000"];
        assert_eq!(admitted(list(&entries)), expected);
        assert_eq!(admitted(text(&entries.join(", "))), expected);
    }

    #[test]
    fn b68_b77_a_hint_without_a_readable_address_admits_nothing() {
        let number = Value {
            kind: Some(Kind::NumberValue(1.0)),
        };
        for value in [
            list(&[]),
            text(""),
            list(&["pod-1"]),
            number,
            Value { kind: None },
        ] {
            assert_eq!(admitted(value), Some(Vec::new()));
        }
    }

    #[test]
    fn without_the_key_there_is_no_hint() {
        assert_eq!(subset(None), None);
        assert_eq!(subset(Some(&Metadata::default())), None);
        let other = with(SUBSET_NAMESPACE, "another-key", list(&["10.0.0.1"]));
        assert_eq!(subset(Some(&other)), None);
    }

    #[test]
    fn the_served_endpoint_is_taken_only_if_it_is_one_address() {
        let of = |value| served(Some(&with(BALANCER_NAMESPACE, SERVED_KEY, value)));
        assert_eq!(of(text("10.0.0.1:8000")), "10.0.0.1:8000".parse().ok());
        assert_eq!(of(text("[fd00:1::5]:80")), "[fd00:1::5]:80".parse().ok());
        assert_eq!(of(text("10.0.0.1:8000,10.0.0.2:8000")), None);
        assert_eq!(of(text("10.0.0.1")), None);
        assert_eq!(of(list(&["10.0.0.1:8000"])), None);
        assert_eq!(served(None), None);
    }
}
