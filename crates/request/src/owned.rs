//! Headers that belong to the system: what comes under these names never reaches an engine or a
//! gateway's routing, or else a client could choose its own endpoint or rank. Some are read here once
//! (objective, flow, model and goals), as the word of a gateway, which removes what its clients send.

use crate::head::{
    FAIRNESS_ID, FAIRNESS_ID_DEPRECATED, MODEL_OVERRIDE, MODEL_OVERRIDE_DEPRECATED, OBJECTIVE,
    OBJECTIVE_DEPRECATED, TPOT, TPOT_DEPRECATED, TTFT, TTFT_DEPRECATED,
};

/// Whether `name`, in any case, is a header that the system reads as its own or sets itself.
pub fn is_system_owned(name: &str) -> bool {
    NAMES.iter().any(|owned| name.eq_ignore_ascii_case(owned))
}

/// Their names, in lower case.
pub const NAMES: [&str; 23] = [
    FAIRNESS_ID,
    FAIRNESS_ID_DEPRECATED,
    OBJECTIVE,
    OBJECTIVE_DEPRECATED,
    MODEL_OVERRIDE,
    MODEL_OVERRIDE_DEPRECATED,
    TTFT,
    TTFT_DEPRECATED,
    TPOT,
    TPOT_DEPRECATED,
    "x-llm-d-video-fps",
    "x-llm-d-video-duration-seconds",
    "x-llm-d-video-resolution",
    "x-gateway-destination-endpoint",
    "x-gateway-destination-endpoint-subset",
    "x-gateway-destination-endpoint-served",
    "x-gateway-destination-endpoint-scores",
    "x-llm-d-request-dropped-reason",
    "x-prefiller-host-port",
    "x-encoder-hosts-ports",
    "x-data-parallel-host-port",
    // Engines take it as the rank that is to serve.
    "x-data-parallel-rank",
    "x-kv-cache-source-host-port",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b15_control_headers_are_owned_in_any_case() {
        for name in [
            "x-gateway-destination-endpoint",
            "X-Gateway-Destination-Endpoint-Subset",
            "X-LLM-D-REQUEST-DROPPED-REASON",
            "x-slo-TTFT-ms",
            "X-Gateway-Inference-Fairness-Id",
            "x-llm-d-inference-objective",
            "x-prefiller-host-port",
            "X-Data-Parallel-Rank",
        ] {
            assert!(is_system_owned(name), "{name}");
        }
    }

    #[test]
    fn a_clients_own_headers_are_left_alone() {
        for name in [
            "",
            "content-length",
            "authorization",
            "x-request-id",
            "x-gateway-destination-endpoint-",
            "x-prefiller-host-port-2",
        ] {
            assert!(!is_system_owned(name), "{name}");
        }
    }

    #[test]
    fn every_owned_name_is_listed_once_and_in_lower_case() {
        for (index, name) in NAMES.iter().enumerate() {
            assert_eq!(*name, name.to_ascii_lowercase());
            assert!(!NAMES[..index].contains(name), "{name}");
        }
    }
}
