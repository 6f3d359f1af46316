//! The configuration file, `EndpointPickerConfig`.

pub mod flow_control;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::flow_control::{FlowControl, SaturationDetector};

/// The `apiVersion` of the file.
pub const API_VERSION: &str = "llm-d.ai/v1alpha1";

/// The older spelling of [`API_VERSION`], which is still accepted.
pub const API_VERSION_DEPRECATED: &str = "inference.networking.x-k8s.io/v1alpha1";

/// The `kind` of the file.
pub const KIND: &str = "EndpointPickerConfig";

/// The whole file. The default value is an empty configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EndpointPickerConfig {
    /// [`API_VERSION`] or [`API_VERSION_DEPRECATED`].
    pub api_version: String,
    /// [`KIND`].
    pub kind: String,
    /// Switches: `name`, `name=true` or `name=false`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_gates: Vec<String>,
    /// The plugins that the rest of the file refers to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plugins: Vec<PluginSpec>,
    /// How to choose among endpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scheduling_profiles: Vec<SchedulingProfile>,
    /// Where endpoints and their load are learned from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_layer: Option<DataLayer>,
    /// How requests are read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_handler: Option<RequestHandler>,
    /// Deprecated; counts where `requestHandler.parsers` is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parser: Option<PluginReference>,
    /// Deprecated; moved to `flowControl.saturationDetector`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation_detector: Option<SaturationDetector>,
    /// What may wait, and in which order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_control: Option<FlowControl>,
}

impl Default for EndpointPickerConfig {
    fn default() -> Self {
        Self {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            feature_gates: Vec::new(),
            plugins: Vec::new(),
            scheduling_profiles: Vec::new(),
            data_layer: None,
            request_handler: None,
            parser: None,
            saturation_detector: None,
            flow_control: None,
        }
    }
}

/// One plugin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginSpec {
    /// What references call it; its type when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is.
    #[serde(rename = "type")]
    pub plugin_type: String,
    /// Its parameters, whose names depend on the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
}

/// A named set of plugins that choose together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulingProfile {
    /// Its name.
    pub name: String,
    /// Its scorers and its picker.
    #[serde(default)]
    pub plugins: Vec<ProfilePlugin>,
}

/// A plugin's part in a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfilePlugin {
    /// The plugin's name.
    pub plugin_ref: String,
    /// What a score of 1 counts, if it is a scorer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

/// A reference to a plugin and nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PluginReference {
    /// The plugin's name.
    pub plugin_ref: String,
}

/// Where endpoints and their load are learned from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataLayer {
    /// Whether the metrics source is added where `sources` lacks it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inject_defaults: Option<bool>,
    /// What is read of each endpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<DataSource>,
    /// What tells which endpoints there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovery: Option<PluginReference>,
    /// What tells which other pickers there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_discovery: Option<PluginReference>,
    /// What shares state with other pickers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_replica_syncer_plugin_ref: Option<String>,
    /// How often state is shared; a duration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_replica_sync_interval: Option<String>,
}

/// A source and what reads values from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DataSource {
    /// The source's name.
    pub plugin_ref: String,
    /// The plugins that read its text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extractors: Vec<PluginReference>,
}

/// How requests are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHandler {
    /// The parsers of request bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parsers: Vec<PluginReference>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_configuration_writes_only_what_it_is() {
        assert_eq!(
            serde_json::to_value(EndpointPickerConfig::default()).unwrap(),
            json!({ "apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig" }),
        );
    }

    #[test]
    fn names_are_those_that_users_know() {
        let value = json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "dataLayer": { "crossReplicaSyncerPluginRef": "a", "peerDiscovery": { "pluginRef": "b" } },
            "flowControl": { "noEndpointRequestTTL": "5s", "maxBytes": 100, "maxRequests": "1k" },
        });
        let spec: EndpointPickerConfig = serde_json::from_value(value).unwrap();
        let flow_control = spec.flow_control.unwrap();
        assert_eq!(flow_control.no_endpoint_request_ttl.as_deref(), Some("5s"));
        assert_eq!(flow_control.max_bytes.as_deref(), Some("100"));
    }
}
