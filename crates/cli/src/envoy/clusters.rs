//! The clusters: the engines by EDS, the picker, and the picker's EDS port.

use core::net::SocketAddr;

use serde_json::{Value, json};

use super::{
    DESTINATION, DESTINATION_SERVED, ENGINES, EngineProtocol, EnvoySettings, METADATA_NAMESPACE,
    PICKER, PickerSecurity, XDS, socket_address, type_url,
};

/// The engines. The load balancer obeys the picker's list; without one, as when the picker is away,
/// it balances by itself over the endpoints it heard of last.
pub(super) fn engines(protocol: EngineProtocol) -> Value {
    json!({
        "name": ENGINES,
        "type": "EDS",
        "connect_timeout": "1s",
        "eds_cluster_config": {
            "service_name": ENGINES,
            "eds_config": {
                "resource_api_version": "V3",
                "initial_fetch_timeout": "5s",
                "api_config_source": {
                    "api_type": "GRPC",
                    "transport_api_version": "V3",
                    "set_node_on_first_message_only": true,
                    "grpc_services": [{ "envoy_grpc": { "cluster_name": XDS } }],
                },
            },
        },
        "circuit_breakers": circuit_breakers(),
        "common_lb_config": { "healthy_panic_threshold": { "value": 0.0 } },
        "load_balancing_policy": {
            "policies": [{
                "typed_extension_config": {
                    "name": "envoy.load_balancing_policies.override_host",
                    "typed_config": override_host(),
                },
            }],
        },
        "typed_extension_protocol_options": http_protocol_options(engine_protocol(protocol)),
    })
}

/// Without keepalives for HTTP/2: gRPC servers end a connection on which pings come more often than
/// every few minutes.
fn engine_protocol(protocol: EngineProtocol) -> Value {
    match protocol {
        EngineProtocol::Http1 => json!({ "http_protocol_options": { "enable_trailers": true } }),
        EngineProtocol::H2c => http2(&Value::Null),
    }
}

fn override_host() -> Value {
    let key = |name: &str| json!({ "key": METADATA_NAMESPACE, "path": [{ "key": name }] });
    json!({
        "@type": type_url("extensions.load_balancing_policies.override_host.v3.OverrideHost"),
        "override_host_sources": [{ "metadata": key(DESTINATION) }],
        "selected_host_key": key(DESTINATION_SERVED),
        "fallback_policy": {
            "policies": [{
                "typed_extension_config": {
                    "name": "envoy.load_balancing_policies.client_side_weighted_round_robin",
                    "typed_config": {
                        "@type": type_url(
                            "extensions.load_balancing_policies.client_side_weighted_round_robin\
                             .v3.ClientSideWeightedRoundRobin",
                        ),
                    },
                },
            }],
        },
    })
}

/// The picker. A request fails open only while this cluster has no healthy host, so its health is
/// asked often, one miss is enough, and an unhealthy host is never used.
pub(super) fn picker(settings: &EnvoySettings) -> Value {
    json!({
        "name": PICKER,
        "type": "STATIC",
        "connect_timeout": "1s",
        "circuit_breakers": circuit_breakers(),
        "load_assignment": load_assignment(PICKER, settings.ext_proc),
        "typed_extension_protocol_options": http_protocol_options(http2(&keepalive())),
        "transport_socket": transport_socket(settings.security),
        "common_lb_config": { "healthy_panic_threshold": { "value": 0.0 } },
        "health_checks": [{
            "timeout": "1s",
            "interval": "0.2s",
            "no_traffic_interval": "0.2s",
            "unhealthy_interval": "0.2s",
            "unhealthy_threshold": 1,
            "healthy_threshold": 1,
            "grpc_health_check": { "service_name": EXT_PROC_SERVICE },
        }],
    })
}

/// The picker's EDS port.
pub(super) fn xds(settings: &EnvoySettings) -> Value {
    json!({
        "name": XDS,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": load_assignment(XDS, settings.eds),
        "typed_extension_protocol_options": http_protocol_options(http2(&keepalive())),
    })
}

fn load_assignment(cluster: &str, address: SocketAddr) -> Value {
    json!({
        "cluster_name": cluster,
        "endpoints": [{
            "lb_endpoints": [{ "endpoint": { "address": socket_address(address) } }],
        }],
    })
}

fn http_protocol_options(explicit_http_config: Value) -> Value {
    json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": type_url("extensions.upstreams.http.v3.HttpProtocolOptions"),
            "explicit_http_config": explicit_http_config,
        },
    })
}

/// HTTP/2 with windows for large bodies, and with keepalives unless they are null.
fn http2(connection_keepalive: &Value) -> Value {
    json!({
        "http2_protocol_options": {
            "initial_stream_window_size": 1 << 20,
            "initial_connection_window_size": 8 << 20,
            "connection_keepalive": connection_keepalive,
        },
    })
}

/// Pings, which notice a picker that is gone without a word.
fn keepalive() -> Value {
    json!({ "interval": "5s", "timeout": "5s" })
}

fn transport_socket(security: PickerSecurity) -> Value {
    match security {
        PickerSecurity::Plain => Value::Null,
        PickerSecurity::UnverifiedTls => json!({
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": type_url("extensions.transport_sockets.tls.v3.UpstreamTlsContext"),
                "common_tls_context": { "alpn_protocols": ["h2"] },
            },
        }),
    }
}

/// Admission is the picker's task, so Envoy's own limits are only a last resort.
fn circuit_breakers() -> Value {
    json!({
        "thresholds": [{
            "max_connections": 40_000,
            "max_pending_requests": 40_000,
            "max_requests": 40_000,
            "max_retries": 1_024,
        }],
    })
}

/// The gRPC service whose health the picker reports for its `ext_proc` port.
const EXT_PROC_SERVICE: &str = "envoy.service.ext_proc.v3.ExternalProcessor";
