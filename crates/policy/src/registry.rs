//! All plugin types that users may write: ours and llm-d's. One line adds one.

use crate::plugin::{
    Accepted, Built, PluginType, Role, State, accepted, data_layer, picker, prefix_cache, scorer,
};

/// The plugin type of this name.
pub(crate) fn find(name: &str) -> Option<&'static PluginType> {
    PLUGIN_TYPES
        .iter()
        .find(|plugin_type| plugin_type.name == name)
}

/// Whether a plugin of this name is there although no entry of the file has it: one that is
/// accepted, as llm-d adds those by itself.
pub(crate) fn is_supplied(name: &str, role: Role) -> bool {
    find(name).is_some_and(|plugin_type| {
        plugin_type.role == role && matches!(plugin_type.state, State::Accepted(_))
    })
}

pub(crate) const APPROX_PREFIX_CACHE_PRODUCER: &str = "approx-prefix-cache-producer";
pub(crate) const INFLIGHT_LOAD_PRODUCER: &str = "inflight-load-producer";
pub(crate) const KV_CACHE_UTILIZATION_SCORER: &str = "kv-cache-utilization-scorer";
pub(crate) const OWN_INFLIGHT_SCORER: &str = "own-inflight-scorer";
pub(crate) const PRECISE_PREFIX_CACHE_PRODUCER: &str = "precise-prefix-cache-producer";
pub(crate) const PREFIX_CACHE_SCORER: &str = "prefix-cache-scorer";
pub(crate) const QUEUE_SCORER: &str = "queue-scorer";

/// The table.
pub(crate) static PLUGIN_TYPES: &[PluginType] = &[
    built(
        "active-request-scorer",
        Role::Scorer,
        &scorer::ACTIVE_REQUEST,
    ),
    built(
        KV_CACHE_UTILIZATION_SCORER,
        Role::Scorer,
        &scorer::KV_CACHE_UTILIZATION,
    ),
    built(OWN_INFLIGHT_SCORER, Role::Scorer, &scorer::OWN_INFLIGHT),
    built(PREFIX_CACHE_SCORER, Role::Scorer, &scorer::PREFIX_CACHE),
    built(QUEUE_SCORER, Role::Scorer, &scorer::QUEUE),
    built("token-load-scorer", Role::Scorer, &scorer::TOKEN_LOAD),
    not_built("context-length-aware", Role::Scorer),
    not_built("endpoint-attribute-scorer", Role::Scorer),
    not_built("header-label-affinity-scorer", Role::Scorer),
    not_built("latency-scorer", Role::Scorer),
    not_built("load-aware-scorer", Role::Scorer),
    not_built("lora-affinity-scorer", Role::Scorer),
    not_built("mm-embeddings-cache-scorer", Role::Scorer),
    not_built("multicluster-kv-cache-utilization-scorer", Role::Scorer),
    not_built("multicluster-prefix-cache-scorer", Role::Scorer),
    not_built("multicluster-queue-scorer", Role::Scorer),
    not_built("no-hit-lru-scorer", Role::Scorer),
    not_built("precise-prefix-cache-scorer", Role::Scorer),
    not_built("running-requests-size-scorer", Role::Scorer),
    not_built("session-affinity-scorer", Role::Scorer),
    not_built("topology-affinity-scorer", Role::Scorer),
    built(
        "consistent-hash-picker",
        Role::Picker,
        &picker::CONSISTENT_HASH,
    ),
    built(
        "least-outstanding-picker",
        Role::Picker,
        &picker::LEAST_OUTSTANDING,
    ),
    built("max-score-picker", Role::Picker, &picker::MAX_SCORE),
    built(
        "prefix-affinity-picker",
        Role::Picker,
        &picker::PREFIX_AFFINITY,
    ),
    built("random-picker", Role::Picker, &picker::RANDOM),
    built("round-robin-picker", Role::Picker, &picker::ROUND_ROBIN),
    built("two-choices-picker", Role::Picker, &picker::TWO_CHOICES),
    not_built("weighted-random-picker", Role::Picker),
    built(
        "single-profile-handler",
        Role::ProfileHandler,
        &accepted::SINGLE_PROFILE,
    ),
    not_built("data-parallel-profile-handler", Role::ProfileHandler),
    not_built("disagg-headers-handler", Role::ProfileHandler),
    not_built("disagg-profile-handler", Role::ProfileHandler),
    not_built("header-profile-handler", Role::ProfileHandler),
    not_built("pd-profile-handler", Role::ProfileHandler),
    not_built("prefill-header-handler", Role::ProfileHandler),
    built(
        APPROX_PREFIX_CACHE_PRODUCER,
        Role::Producer,
        &prefix_cache::APPROXIMATE,
    ),
    built(
        PRECISE_PREFIX_CACHE_PRODUCER,
        Role::Producer,
        &prefix_cache::PRECISE,
    ),
    accepted(
        INFLIGHT_LOAD_PRODUCER,
        Role::Producer,
        &accepted::INFLIGHT_LOAD,
    ),
    not_built("agent-identity", Role::Producer),
    not_built("burst-prefix-cache-producer", Role::Producer),
    not_built("mm-embeddings-cache-producer", Role::Producer),
    not_built("multicluster-approx-prefix-cache-producer", Role::Producer),
    not_built("p2p-source-producer", Role::Producer),
    not_built("predicted-latency-producer", Role::Producer),
    not_built("session-id-producer", Role::Producer),
    not_built("token-producer", Role::Producer),
    not_built("tokenizer", Role::Producer),
    built(
        "file-discovery",
        Role::Discovery,
        &data_layer::FILE_DISCOVERY,
    ),
    not_built("multicluster-file-discovery", Role::Discovery),
    built(
        "metrics-data-source",
        Role::Source,
        &data_layer::METRICS_SOURCE,
    ),
    not_built("dcgm-data-source", Role::Source),
    not_built("endpoint-notification-source", Role::Source),
    not_built("k8s-notification-source", Role::Source),
    not_built("models-data-source", Role::Source),
    not_built("multicluster-metrics-data-source", Role::Source),
    built(
        "core-metrics-extractor",
        Role::Extractor,
        &data_layer::METRICS_EXTRACTOR,
    ),
    not_built("dcgm-extractor", Role::Extractor),
    not_built("models-data-extractor", Role::Extractor),
    not_built("multicluster-metrics-extractor", Role::Extractor),
    not_built("topology-extractor", Role::Extractor),
    not_built("by-label", Role::Filter),
    not_built("by-label-selector", Role::Filter),
    not_built("decode-filter", Role::Filter),
    not_built("encode-filter", Role::Filter),
    not_built("endpoint-attribute-filter", Role::Filter),
    not_built("header-based-testing-filter", Role::Filter),
    not_built("label-selector-filter", Role::Filter),
    not_built("multicluster-session-affinity-filter", Role::Filter),
    not_built("prefill-filter", Role::Filter),
    not_built("prefix-cache-affinity-filter", Role::Filter),
    not_built("session-affinity-filter", Role::Filter),
    not_built("slo-headroom-tier-filter", Role::Filter),
    not_built("topology-affinity-filter", Role::Filter),
    not_built("utilization-filter", Role::Filter),
    not_built("always-disagg-multimodal-decider", Role::Decider),
    not_built("always-disagg-pd-decider", Role::Decider),
    not_built("prefix-based-pd-decider", Role::Decider),
    not_built("disaggregatedset-rollout-screener", Role::Screener),
    not_built("latency-slo-admitter", Role::Admitter),
    not_built("probabilistic-admitter", Role::Admitter),
    accepted(
        "utilization-detector",
        Role::SaturationDetector,
        &accepted::UTILIZATION_DETECTOR,
    ),
    not_built("concurrency-detector", Role::SaturationDetector),
    accepted(
        "fcfs-ordering-policy",
        Role::OrderingPolicy,
        &accepted::ORDERING,
    ),
    not_built("edf-ordering-policy", Role::OrderingPolicy),
    not_built("slo-deadline-ordering-policy", Role::OrderingPolicy),
    accepted(
        "global-strict-fairness-policy",
        Role::FairnessPolicy,
        &accepted::FAIRNESS,
    ),
    not_built("program-aware-fairness", Role::FairnessPolicy),
    not_built("round-robin-fairness-policy", Role::FairnessPolicy),
    accepted(
        "static-usage-limit-policy",
        Role::UsageLimitPolicy,
        &accepted::USAGE_LIMIT,
    ),
    not_built("priority-holdback-policy", Role::UsageLimitPolicy),
    not_built("soft-reflective-ceiling-policy", Role::UsageLimitPolicy),
    not_built(
        "priority-then-time-eviction-order-policy",
        Role::EvictionPolicy,
    ),
    not_built("sheddable-eviction-filter", Role::EvictionPolicy),
    not_built("destination-endpoint-served-verifier", Role::Reporter),
    not_built("request-attribute-reporter", Role::Reporter),
    accepted("anthropic-parser", Role::Parser, &accepted::PARSER),
    accepted("openai-parser", Role::Parser, &accepted::PARSER),
    accepted("passthrough-parser", Role::Parser, &accepted::PARSER),
    accepted("vllmhttp-parser", Role::Parser, &accepted::PARSER),
    not_built("sglanghttp-parser", Role::Parser),
    not_built("vertexai-parser", Role::Parser),
    not_built("vllmgrpc-parser", Role::Parser),
];

const fn built(name: &'static str, role: Role, built: &'static Built) -> PluginType {
    PluginType {
        name,
        role,
        state: State::Built(built),
    }
}

const fn accepted(name: &'static str, role: Role, accepted: &'static Accepted) -> PluginType {
    PluginType {
        name,
        role,
        state: State::Accepted(accepted),
    }
}

const fn not_built(name: &'static str, role: Role) -> PluginType {
    PluginType {
        name,
        role,
        state: State::NotBuilt,
    }
}

#[cfg(test)]
mod tests;
