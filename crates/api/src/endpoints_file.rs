//! The endpoints file of `file-discovery`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The namespace of an endpoint that names none.
pub const NAMESPACE_DEFAULT: &str = "default";

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointsFile {
    /// The endpoints of the pool.
    pub endpoints: Vec<Endpoint>,
}

/// One endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Endpoint {
    /// Its name, unique in its namespace.
    pub name: String,
    /// Its namespace.
    #[serde(default = "namespace_default")]
    pub namespace: String,
    /// Its IP address.
    pub address: String,
    /// Its port; text or a number.
    #[serde(deserialize_with = "crate::scalar::text")]
    pub port: String,
    /// Labels, as a pod would have them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

fn namespace_default() -> String {
    NAMESPACE_DEFAULT.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_port_may_be_a_number_and_the_namespace_left_out() {
        let file: EndpointsFile = serde_json::from_value(json!({
            "endpoints": [{ "name": "a", "address": "10.0.0.1", "port": 8000 }],
        }))
        .unwrap();
        assert_eq!(file.endpoints[0].port, "8000");
        assert_eq!(file.endpoints[0].namespace, "default");
    }
}
