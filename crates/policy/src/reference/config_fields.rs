//! The fields of both files. A test holds this table against the types.

use super::Field;
use crate::config::flow_control::{BYTES_MAX_DEFAULT, REQUESTS_MAX_DEFAULT, WAIT_MAX_DEFAULT};
use crate::config::profile::WEIGHT_DEFAULT;
use crate::duration;

/// The fields of the configuration file.
pub(super) static CONFIG_FIELDS: &[Field] = &[
    Field {
        path: "apiVersion",
        values: "`llm-d.ai/v1alpha1`, or `inference.networking.x-k8s.io/v1alpha1` (deprecated)",
        default: required,
        about: "The version of the file.",
    },
    Field {
        path: "kind",
        values: "`EndpointPickerConfig`",
        default: required,
        about: "The kind of the file.",
    },
    Field {
        path: "featureGates[]",
        values: "`name`, `name=true`, `name=false`",
        default: none,
        about: "Switches: `flowControl` (off by default) holds requests while the pool is empty; \
                `haPopulateNonLeaderDatastore` (on by default) has no effect.",
    },
    Field {
        path: "plugins[].name",
        values: "text",
        default: || "the type".to_owned(),
        about: "What references call the plugin; unique.",
    },
    Field {
        path: "plugins[].type",
        values: "a plugin type",
        default: required,
        about: "What the plugin is; see below.",
    },
    Field {
        path: "plugins[].parameters",
        values: "mapping",
        default: none,
        about: "The parameters of the type; see below.",
    },
    Field {
        path: "schedulingProfiles[].name",
        values: "text",
        default: required,
        about: "The name of the profile. Only one profile is built. Without any, one profile has \
                all scorers and the picker that `plugins` lists.",
    },
    Field {
        path: "schedulingProfiles[].plugins[].pluginRef",
        values: "name of a plugin",
        default: required,
        about: "A scorer or the picker of the profile. Without a picker, the first that `plugins` \
                lists, else `max-score-picker`.",
    },
    Field {
        path: "schedulingProfiles[].plugins[].weight",
        values: "number, 0 or more",
        default: || WEIGHT_DEFAULT.to_string(),
        about: "What a score of 1 adds to the total.",
    },
    Field {
        path: "dataLayer.injectDefaults",
        values: "true or false",
        default: || "true".to_owned(),
        about: "Engines' metrics are always read. *Not active.*",
    },
    Field {
        path: "dataLayer.sources[].pluginRef",
        values: "name of a data source",
        default: required,
        about: "Which `metrics-data-source` counts; one.",
    },
    Field {
        path: "dataLayer.sources[].extractors[].pluginRef",
        values: "name of an extractor",
        default: required,
        about: "What reads the source's text.",
    },
    Field {
        path: "dataLayer.discovery.pluginRef",
        values: "name of a discovery plugin",
        default: none,
        about: "What tells which endpoints there are.",
    },
    Field {
        path: "dataLayer.peerDiscovery.pluginRef",
        values: "name of a plugin",
        default: none,
        about: "What tells which other pickers there are. *Not active.*",
    },
    Field {
        path: "dataLayer.crossReplicaSyncerPluginRef",
        values: "name of a plugin",
        default: none,
        about: "What shares state with other pickers. *Not active.*",
    },
    Field {
        path: "dataLayer.crossReplicaSyncInterval",
        values: "duration",
        default: none,
        about: "How often state is shared. *Not active.*",
    },
    Field {
        path: "requestHandler.parsers[].pluginRef",
        values: "name of a parser",
        default: none,
        about: "A request's path decides how its body is read. *Not active.*",
    },
    Field {
        path: "parser.pluginRef",
        values: "name of a parser",
        default: none,
        about: "Deprecated: `requestHandler.parsers`. *Not active.*",
    },
    Field {
        path: "saturationDetector.pluginRef",
        values: "name of a saturation detector",
        default: none,
        about: "Deprecated: `flowControl.saturationDetector`. *Not active.*",
    },
    Field {
        path: "flowControl.maxBytes",
        values: "quantity; 0 is the default",
        default: || BYTES_MAX_DEFAULT.to_string(),
        about: "Body bytes of all waiting requests; one more is refused with 429.",
    },
    Field {
        path: "flowControl.maxRequests",
        values: "quantity; 0 is the default",
        default: || REQUESTS_MAX_DEFAULT.to_string(),
        about: "Waiting requests; one more is refused with 429.",
    },
    Field {
        path: "flowControl.noEndpointRequestTTL",
        values: "duration; `0s` waits for ever",
        default: || {
            format!(
                "`defaultRequestTTL`, else {}",
                duration::text(WAIT_MAX_DEFAULT)
            )
        },
        about: "The longest wait while the pool is empty; then 503.",
    },
    Field {
        path: "flowControl.defaultRequestTTL",
        values: "duration; `0s` waits for ever",
        default: || duration::text(WAIT_MAX_DEFAULT),
        about: "The default of `noEndpointRequestTTL`, and nothing else yet.",
    },
    Field {
        path: "flowControl.defaultPriorityBand",
        values: "as an entry of `priorityBands`",
        default: none,
        about: "Limits of a priority that is not listed. *Not active.*",
    },
    Field {
        path: "flowControl.defaultNegativePriorityBand",
        values: "as an entry of `priorityBands`",
        default: none,
        about: "Limits of a priority below 0 that is not listed. *Not active.*",
    },
    Field {
        path: "flowControl.priorityBands[].priority",
        values: "whole number",
        default: || "0".to_owned(),
        about: "The priority; each once. *Not active.*",
    },
    Field {
        path: "flowControl.priorityBands[].maxBytes",
        values: "quantity",
        default: none,
        about: "Body bytes of its waiting requests. *Not active.*",
    },
    Field {
        path: "flowControl.priorityBands[].maxRequests",
        values: "quantity",
        default: none,
        about: "Its waiting requests. *Not active.*",
    },
    Field {
        path: "flowControl.priorityBands[].fairnessPolicyRef",
        values: "name of a fairness policy",
        default: none,
        about: "The order among flows. *Not active.*",
    },
    Field {
        path: "flowControl.priorityBands[].orderingPolicyRef",
        values: "name of an ordering policy",
        default: none,
        about: "The order within a flow. *Not active.*",
    },
    Field {
        path: "flowControl.usageLimitPolicyPluginRef",
        values: "name of a usage limit policy",
        default: none,
        about: "The ceiling of each priority. *Not active.*",
    },
    Field {
        path: "flowControl.saturationDetector.pluginRef",
        values: "name of a saturation detector",
        default: none,
        about: "What tells how full the pool is. *Not active.*",
    },
    Field {
        path: "flowControl.enableEviction",
        values: "true or false",
        default: || "false".to_owned(),
        about: "Whether running requests may be stopped for more important ones. *Not active.*",
    },
];

/// The fields of the endpoints file.
pub(super) static ENDPOINT_FIELDS: &[Field] = &[
    Field {
        path: "endpoints[].name",
        values: "text without `/`",
        default: required,
        about: "The endpoint's name, unique in its namespace.",
    },
    Field {
        path: "endpoints[].namespace",
        values: "text without `/`",
        default: || "`default`".to_owned(),
        about: "Its namespace.",
    },
    Field {
        path: "endpoints[].address",
        values: "IPv4 or IPv6 address",
        default: required,
        about: "Where it is; no host name. Each address with its port once.",
    },
    Field {
        path: "endpoints[].port",
        values: "1 to 65535, text or number",
        default: required,
        about: "Its port.",
    },
    Field {
        path: "endpoints[].labels",
        values: "mapping of texts",
        default: none,
        about: "Labels, as a pod would have them.",
    },
];

fn required() -> String {
    "required".to_owned()
}

fn none() -> String {
    "none".to_owned()
}
