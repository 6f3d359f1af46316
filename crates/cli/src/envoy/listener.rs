//! The listener: what a client may say, when the picker is asked, and how a failed try is repeated.

use serde_json::{Value, json};

use super::{
    DESTINATION, DESTINATION_SERVED, DESTINATION_SUBSET, ENGINES, EnvoySettings,
    METADATA_NAMESPACE, PICKER, SENT_ONCE, SUBSET_NAMESPACE, socket_address, type_url,
};

pub(super) fn listener(settings: &EnvoySettings) -> Value {
    json!({
        "name": "inference",
        "address": socket_address(settings.listen),
        "per_connection_buffer_limit_bytes": CONNECTION_BUFFER_BYTES,
        "filter_chains": [{
            "filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": connection_manager(settings),
            }],
        }],
    })
}

fn connection_manager(settings: &EnvoySettings) -> Value {
    json!({
        "@type": type_url(
            "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        ),
        "stat_prefix": "inference",
        "codec_type": "AUTO",
        "use_remote_address": true,
        "normalize_path": true,
        "merge_slashes": true,
        "server_header_transformation": "PASS_THROUGH",
        "request_headers_timeout": "10s",
        // A long prefill is silent, so the limit is only there to end abandoned streams.
        "stream_idle_timeout": "3600s",
        "http2_protocol_options": {
            "max_concurrent_streams": 1024,
            "initial_stream_window_size": 1 << 20,
            "initial_connection_window_size": 8 << 20,
        },
        "early_header_mutation_extensions": [early_header_mutation()],
        "http_filters": [ext_proc(), router()],
        "route_config": {
            "name": "inference",
            "virtual_hosts": [{
                "name": "inference",
                "domains": ["*"],
                "routes": [
                    sent_once_route(settings),
                    sampled_route(settings),
                    remaining_route(settings),
                ],
            }],
        },
        "access_log": [error_log()],
    })
}

/// A client must not steer the request past the picker, so what only a gateway, the picker or an
/// engine's sidecar may say is removed before any filter runs.
fn early_header_mutation() -> Value {
    let removals: Vec<Value> = CLIENT_HEADERS_REMOVED
        .iter()
        .map(|name| json!({ "remove": name }))
        .collect();
    json!({
        "name": "envoy.http.early_header_mutation.header_mutation",
        "typed_config": {
            "@type": type_url(
                "extensions.http.early_header_mutation.header_mutation.v3.HeaderMutation",
            ),
            "mutations": removals,
        },
    })
}

fn ext_proc() -> Value {
    json!({
        "name": EXT_PROC,
        "typed_config": {
            "@type": type_url("extensions.filters.http.ext_proc.v3.ExternalProcessor"),
            "grpc_service": { "envoy_grpc": { "cluster_name": PICKER } },
            "failure_mode_allow": true,
            // Not in force in duplex mode, where the picker's own deadlines count.
            "message_timeout": "10s",
            "processing_mode": processing_mode("NONE"),
            "metadata_options": {
                "forwarding_namespaces": { "untyped": [METADATA_NAMESPACE, SUBSET_NAMESPACE] },
                "receiving_namespaces": { "untyped": [METADATA_NAMESPACE] },
            },
        },
    })
}

fn router() -> Value {
    json!({
        "name": "envoy.filters.http.router",
        "typed_config": {
            "@type": type_url("extensions.filters.http.router.v3.Router"),
            "suppress_envoy_headers": true,
        },
    })
}

/// The trailers of the response are asked for even where its body is not: they keep the stream to
/// the picker open to the end of the response, so that it knows exactly what is in flight.
fn processing_mode(response_body_mode: &str) -> Value {
    json!({
        "request_header_mode": "SEND",
        "request_body_mode": "FULL_DUPLEX_STREAMED",
        "request_trailer_mode": "SEND",
        "response_header_mode": "SEND",
        "response_body_mode": response_body_mode,
        "response_trailer_mode": "SEND",
    })
}

/// A random share of requests takes this route, on which the picker sees the response's body too.
/// A route is the only way: Envoy ignores `mode_override` as soon as one side is duplex.
fn sampled_route(settings: &EnvoySettings) -> Value {
    let fraction = json!({
        "runtime_key": "pointsman.sample",
        "default_value": {
            "numerator": sample_parts(settings.sample_percent),
            "denominator": "MILLION",
        },
    });
    let filters = json!({
        (EXT_PROC): {
            "@type": type_url("extensions.filters.http.ext_proc.v3.ExtProcPerRoute"),
            "overrides": { "processing_mode": processing_mode("STREAMED") },
        },
    });
    let matched = json!({ "prefix": "/", "runtime_fraction": fraction });
    route(settings, "sampled", &matched, &filters, &retry_policy())
}

/// The picker wants these requests to be sent once: with a retry policy, Envoy would send a body that
/// ends in trailers twice (envoyproxy/envoy#45470). The route is chosen again after the pick, so the
/// metadata is there by then.
fn sent_once_route(settings: &EnvoySettings) -> Value {
    let wish = json!({
        "filter": METADATA_NAMESPACE,
        "path": [{ "key": SENT_ONCE }],
        "value": { "bool_match": true },
    });
    let matched = json!({ "prefix": "/", "dynamic_metadata": [wish] });
    route(settings, "sent-once", &matched, &json!({}), &Value::Null)
}

fn remaining_route(settings: &EnvoySettings) -> Value {
    let matched = json!({ "prefix": "/" });
    route(settings, "remaining", &matched, &json!({}), &retry_policy())
}

fn route(
    settings: &EnvoySettings,
    name: &str,
    matched: &Value,
    filters: &Value,
    retry_policy: &Value,
) -> Value {
    json!({
        "name": name,
        "match": matched,
        "typed_per_filter_config": filters,
        // The engine is not told what the picker chose.
        "request_headers_to_remove": [DESTINATION],
        "request_body_buffer_limit": settings.body_bytes_max.saturating_add(BODY_SLACK_BYTES),
        "route": {
            "cluster": ENGINES,
            "timeout": "0s",
            "retry_policy": retry_policy,
        },
    })
}

/// Until the first byte of the response an inference request has no effect that a second try would
/// repeat, so it is safe to send a POST again. Each try takes the next endpoint of the picker's list.
fn retry_policy() -> Value {
    json!({
        "retry_on": "connect-failure,refused-stream,reset,retriable-status-codes",
        "retriable_status_codes": [502, 503],
        "num_retries": 2,
        "retry_back_off": { "base_interval": "0.005s", "max_interval": "0.05s" },
        "retry_host_predicate": [{
            "name": "envoy.retry_host_predicates.previous_hosts",
            "typed_config": {
                "@type": type_url(
                    "extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate",
                ),
            },
        }],
        "host_selection_retry_max_attempts": 5,
    })
}

/// One line for each answer of 500 and above, as those are what an operator is asked about.
fn error_log() -> Value {
    json!({
        "name": "envoy.access_loggers.stdout",
        "filter": {
            "status_code_filter": {
                "comparison": {
                    "op": "GE",
                    "value": { "default_value": 500, "runtime_key": "pointsman.log_status" },
                },
            },
        },
        "typed_config": {
            "@type": type_url("extensions.access_loggers.stream.v3.StdoutAccessLog"),
            "log_format": { "text_format_source": { "inline_string": ERROR_LOG_FORMAT } },
        },
    })
}

/// Parts of a million.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to 0..=1,000,000 before"
)]
fn sample_parts(percent: f64) -> u32 {
    (percent.clamp(0.0, 100.0) * 10_000.0).round() as u32
}

const EXT_PROC: &str = "envoy.filters.http.ext_proc";

const CLIENT_HEADERS_REMOVED: [&str; 10] = [
    DESTINATION,
    DESTINATION_SERVED,
    DESTINATION_SUBSET,
    "x-prefiller-host-port",
    "x-encoder-hosts-ports",
    "x-data-parallel-host-port",
    "x-kv-cache-source-host-port",
    "x-data-parallel-rank",
    "x-llm-d-model-name-rewrite",
    "x-gateway-model-name-rewrite",
];

/// How far above the picker's cap a body may be and still reach the picker.
const BODY_SLACK_BYTES: u32 = 1 << 20;

const CONNECTION_BUFFER_BYTES: u32 = 1 << 20;

const ERROR_LOG_FORMAT: &str = "[%START_TIME%] %REQ(:METHOD)% %REQ(:PATH)% code=%RESPONSE_CODE% \
    flags=%RESPONSE_FLAGS% details=%RESPONSE_CODE_DETAILS% upstream=%UPSTREAM_HOST% \
    attempts=%UPSTREAM_REQUEST_ATTEMPT_COUNT% request_id=%REQ(X-REQUEST-ID)%\n";
