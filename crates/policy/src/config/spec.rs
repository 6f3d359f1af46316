//! The shape of the configuration file: a text becomes a spec, with every field that does not fit
//! noted and left out.

use pointsman_api::picker_config::flow_control::{FlowControl, PriorityBand, SaturationDetector};
use pointsman_api::picker_config::{
    DataLayer, DataSource, EndpointPickerConfig, PluginReference, PluginSpec, ProfilePlugin,
    RequestHandler, SchedulingProfile,
};
use serde_json::Value;

use crate::document;
use crate::fields::{Fields, Scalar, within};
use crate::problem::Findings;

/// Reads a text as far as it can be read.
pub(crate) fn read(text: &str, findings: &mut Findings) -> EndpointPickerConfig {
    match document::read(text, findings) {
        None | Some(Value::Null) => EndpointPickerConfig::default(),
        Some(tree) => within(Some(&tree), "", findings, root).unwrap_or_default(),
    }
}

fn root(fields: &mut Fields<'_>) -> EndpointPickerConfig {
    EndpointPickerConfig {
        api_version: fields.required("apiVersion").unwrap_or_default(),
        kind: fields.required("kind").unwrap_or_default(),
        feature_gates: fields.texts("featureGates"),
        plugins: fields.list("plugins", plugin),
        scheduling_profiles: fields.list("schedulingProfiles", scheduling_profile),
        data_layer: fields.object("dataLayer", data_layer),
        request_handler: fields.object("requestHandler", |fields| RequestHandler {
            parsers: fields.list("parsers", plugin_reference),
        }),
        parser: fields.object("parser", plugin_reference),
        saturation_detector: fields.object("saturationDetector", saturation_detector),
        flow_control: fields.object("flowControl", flow_control),
    }
}

fn plugin(fields: &mut Fields<'_>) -> PluginSpec {
    PluginSpec {
        name: fields.optional("name"),
        plugin_type: fields.required("type").unwrap_or_default(),
        parameters: fields.optional("parameters"),
    }
}

fn scheduling_profile(fields: &mut Fields<'_>) -> SchedulingProfile {
    SchedulingProfile {
        name: fields.required("name").unwrap_or_default(),
        plugins: fields.list("plugins", |fields| ProfilePlugin {
            plugin_ref: fields.required("pluginRef").unwrap_or_default(),
            weight: fields.optional("weight"),
        }),
    }
}

fn data_layer(fields: &mut Fields<'_>) -> DataLayer {
    DataLayer {
        inject_defaults: fields.optional("injectDefaults"),
        sources: fields.list("sources", |fields| DataSource {
            plugin_ref: fields.required("pluginRef").unwrap_or_default(),
            extractors: fields.list("extractors", plugin_reference),
        }),
        discovery: fields.object("discovery", plugin_reference),
        peer_discovery: fields.object("peerDiscovery", plugin_reference),
        cross_replica_syncer_plugin_ref: fields.optional("crossReplicaSyncerPluginRef"),
        cross_replica_sync_interval: fields.optional("crossReplicaSyncInterval"),
    }
}

fn flow_control(fields: &mut Fields<'_>) -> FlowControl {
    FlowControl {
        max_bytes: quantity(fields, "maxBytes"),
        max_requests: quantity(fields, "maxRequests"),
        default_request_ttl: fields.optional("defaultRequestTTL"),
        no_endpoint_request_ttl: fields.optional("noEndpointRequestTTL"),
        default_priority_band: fields.object("defaultPriorityBand", priority_band),
        default_negative_priority_band: fields.object("defaultNegativePriorityBand", priority_band),
        priority_bands: fields.list("priorityBands", priority_band),
        usage_limit_policy_plugin_ref: fields.optional("usageLimitPolicyPluginRef"),
        saturation_detector: fields.object("saturationDetector", saturation_detector),
        enable_eviction: fields.optional("enableEviction"),
    }
}

fn priority_band(fields: &mut Fields<'_>) -> PriorityBand {
    PriorityBand {
        priority: fields.optional("priority").unwrap_or_default(),
        max_bytes: quantity(fields, "maxBytes"),
        max_requests: quantity(fields, "maxRequests"),
        fairness_policy_ref: fields.optional("fairnessPolicyRef"),
        ordering_policy_ref: fields.optional("orderingPolicyRef"),
    }
}

fn saturation_detector(fields: &mut Fields<'_>) -> SaturationDetector {
    SaturationDetector {
        plugin_ref: fields.optional("pluginRef"),
    }
}

fn plugin_reference(fields: &mut Fields<'_>) -> PluginReference {
    PluginReference {
        plugin_ref: fields.required("pluginRef").unwrap_or_default(),
    }
}

fn quantity(fields: &mut Fields<'_>, name: &'static str) -> Option<String> {
    fields.optional(name).map(|Scalar(text)| text)
}

#[cfg(test)]
pub(crate) mod tests;
