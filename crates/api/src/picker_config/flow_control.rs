//! The section `flowControl`.

use serde::{Deserialize, Serialize};

/// What may wait, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FlowControl {
    /// Body bytes of all waiting requests; a quantity.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::scalar::optional"
    )]
    pub max_bytes: Option<String>,
    /// Waiting requests; a quantity.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::scalar::optional"
    )]
    pub max_requests: Option<String>,
    /// The longest wait while there are endpoints; a duration.
    #[serde(
        rename = "defaultRequestTTL",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub default_request_ttl: Option<String>,
    /// The longest wait while there is no endpoint; a duration.
    #[serde(
        rename = "noEndpointRequestTTL",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub no_endpoint_request_ttl: Option<String>,
    /// Limits of a priority that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_priority_band: Option<PriorityBand>,
    /// Limits of a priority below zero that is not listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_negative_priority_band: Option<PriorityBand>,
    /// Limits of single priorities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priority_bands: Vec<PriorityBand>,
    /// What sets the ceiling of each priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_limit_policy_plugin_ref: Option<String>,
    /// What tells how full the pool is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saturation_detector: Option<SaturationDetector>,
    /// Whether running requests may be stopped for more important ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enable_eviction: Option<bool>,
}

/// A reference to a saturation detector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SaturationDetector {
    /// The detector's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin_ref: Option<String>,
}

/// Limits and order of the requests of one priority.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PriorityBand {
    /// The priority.
    #[serde(default)]
    pub priority: i64,
    /// Body bytes of its waiting requests; a quantity.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::scalar::optional"
    )]
    pub max_bytes: Option<String>,
    /// Its waiting requests; a quantity.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::scalar::optional"
    )]
    pub max_requests: Option<String>,
    /// The order among flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fairness_policy_ref: Option<String>,
    /// The order within a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordering_policy_ref: Option<String>,
}
