//! The command line of `pointsman-epp`.
//!
//! Every flag of today's pickers parses, so that their manifests work unchanged. A flag that we do
//! not need is accepted and named once in the log; any other flag ends the process with code 2.

use core::net::IpAddr;
use core::time::Duration;
use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::TypedValueParser;
use clap::parser::ValueSource;
use clap::{ArgAction, ArgMatches, Parser};
use pointsman_policy::{duration, quantity};

/// Endpoint picker for LLM inference: answers a gateway's question which endpoint serves a request.
#[derive(Debug, Parser)]
#[command(
    name = "pointsman-epp",
    version,
    after_help = "Examples:\n  pointsman-epp --config-file picker.yaml --secure-serving=false\n  \
                  pointsman-epp --config-file picker.yaml --eds-port 9004   # for our standalone Envoy\n  \
                  pointsman-epp --config-file picker.yaml --record run.jsonl   # see pointsman lab replay"
)]
pub struct Flags {
    /// Port of the ext_proc gRPC server.
    #[arg(long, default_value_t = 9002)]
    pub grpc_port: u16,

    /// Port of the gRPC health server, always without TLS.
    #[arg(long, default_value_t = 9003)]
    pub grpc_health_port: u16,

    /// Port of the admin HTTP server: metrics, readiness, explanations of picks.
    #[arg(long, default_value_t = 9090)]
    pub metrics_port: u16,

    /// Port of the EDS server for a standalone Envoy. Off when not given; when given, a pick lists
    /// up to three endpoints unless the configuration says otherwise.
    #[arg(long)]
    pub eds_port: Option<u16>,

    /// Address that all servers listen on.
    #[arg(long, default_value = "::")]
    pub bind_address: IpAddr,

    /// File with an EndpointPickerConfig; the built-in default profile without it.
    #[arg(long, conflicts_with = "config_text")]
    pub config_file: Option<PathBuf>,

    /// An EndpointPickerConfig as text.
    #[arg(long)]
    pub config_text: Option<String>,

    /// Serve ext_proc over TLS; with a self-signed certificate unless --cert-path is given.
    #[arg(long, default_value_t = true, action = ArgAction::Set, num_args = 0..=1,
          require_equals = true, default_missing_value = "true")]
    pub secure_serving: bool,

    /// Folder with `tls.crt` and `tls.key`.
    #[arg(long, default_value = "")]
    pub cert_path: String,

    /// Time that open streams get to finish after SIGTERM, such as `30s`.
    #[arg(long, default_value = "30s", value_parser = duration_value())]
    pub drain_timeout: Duration,

    /// Time between two scrapes of an endpoint's metrics, at least 5ms.
    #[arg(long, default_value = "50ms", value_parser = duration_value())]
    pub refresh_metrics_interval: Duration,

    /// Largest ext_proc message that is accepted, such as `64Mi`.
    #[arg(long, default_value = "64Mi", value_parser = bytes_value())]
    pub grpc_max_recv_msg_size: u64,

    /// Largest request body; a larger one is answered 413.
    #[arg(long, default_value = "32Mi", value_parser = bytes_value())]
    pub body_bytes_max: u64,

    /// Bytes of all request bodies held at once; beyond it requests are answered 429.
    #[arg(long, default_value = "1Gi", value_parser = bytes_value())]
    pub held_bytes_max: u64,

    /// File of InferenceModelRewrite documents: which model an engine is asked for in place of the one
    /// that a client names.
    #[arg(long, value_name = "FILE")]
    pub model_rewrites: Option<PathBuf>,

    /// Remove engines' load reports (ORCA) from the answers that clients get.
    #[arg(long)]
    pub remove_load_reports: bool,

    /// Answer `GET /v1/models` with the models of all endpoints, in place of the list of one of them.
    /// Each endpoint is asked for its list every 10s.
    #[arg(long)]
    pub merge_models: bool,

    /// Keep the full explanation of one pick in so many, for /debug/picks; 0 keeps none.
    #[arg(long, default_value_t = 16)]
    pub explain_every: u64,

    /// Record all that happens to the pool, to be replayed with `pointsman lab replay`. The file must
    /// not exist; it holds no prompt, but names of models, flows and endpoints.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Largest recording; it ends there, and serving goes on.
    #[arg(long, default_value = "1Gi", value_parser = bytes_value(), requires = "record")]
    pub record_bytes_max: u64,

    /// Log verbosity of today's pickers: 0 is quiet, above 3 shows debug messages.
    #[arg(short, long, default_value_t = 2)]
    pub v: u8,

    /// Log level (`error`, `warn`, `info`, `debug`, `trace`); takes precedence over -v.
    #[arg(long)]
    pub zap_log_level: Option<String>,

    /// Log form: `json` or `console`.
    #[arg(long, default_value = "console")]
    pub zap_encoder: String,

    /// Flags of today's pickers that have no effect here.
    #[command(flatten)]
    pub accepted: Accepted,
}

/// Flags that parse and have no effect yet.
#[derive(Debug, Parser)]
pub struct Accepted {
    /// No effect yet: endpoints come from the configuration's discovery plugin.
    #[arg(long, hide = true)]
    pool_name: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    pool_namespace: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    pool_group: Option<String>,
    /// No effect yet: endpoints come from the configuration's discovery plugin.
    #[arg(long, hide = true)]
    endpoint_selector: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    endpoint_target_ports: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    ha_enable_leader_election: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    disable_endpoint_subset_filter: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    emit_endpoint_scores: Option<bool>,
    /// No effect: pool gauges are computed when they are read.
    #[arg(long, hide = true)]
    refresh_prometheus_metrics_interval: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    metrics_staleness_threshold: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    grpc_max_send_msg_size: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    zap_devel: Option<bool>,
    /// No effect.
    #[arg(long, hide = true)]
    zap_stacktrace_level: Option<String>,
    /// No effect.
    #[arg(long, hide = true)]
    zap_time_encoding: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    tracing: Option<bool>,
    /// No effect: health is always served on the ext_proc port too.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    health_checking: Option<bool>,
    /// No effect.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_pprof: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_cert_reload: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    enable_grpc_stream_metrics: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true)]
    tls_min_version: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    tls_cipher_suites: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    metrics_endpoint_auth: Option<bool>,
    /// No effect yet.
    #[arg(long, hide = true)]
    metrics_client_ca_file: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true)]
    metrics_cert_dir: Option<String>,
    /// No effect yet.
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_experimental_plugins: Option<bool>,
    /// Replaced by `engineConfigs`.
    #[arg(long, hide = true)]
    total_queued_requests_metric: Option<String>,
    /// Replaced by `engineConfigs`.
    #[arg(long, hide = true)]
    total_running_requests_metric: Option<String>,
    /// Replaced by `engineConfigs`.
    #[arg(long, hide = true)]
    kv_cache_usage_percentage_metric: Option<String>,
    /// Replaced by `engineConfigs`.
    #[arg(long, hide = true)]
    lora_info_metric: Option<String>,
    /// Replaced by `engineConfigs`.
    #[arg(long, hide = true)]
    cache_info_metric: Option<String>,
}

impl Flags {
    /// What to tell once about flags that were given and have no effect.
    pub fn warnings(matches: &ArgMatches) -> Vec<String> {
        let given = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let effectless = <Accepted as clap::CommandFactory>::command();
        let ids: Vec<_> = effectless
            .get_arguments()
            .map(|arg| arg.get_id().as_str())
            .collect();
        ids.iter()
            .copied()
            .filter(given)
            .map(|id| {
                let flag = id.replace('_', "-");
                if METRIC_FLAGS.contains(&id) {
                    format!("--{flag} is deprecated and has no effect: name the engine's metrics in engineConfigs of the core-metrics-extractor plugin")
                } else {
                    format!("--{flag} has no effect in this version")
                }
            })
            .collect()
    }

    /// The log filter that the verbosity flags ask for.
    pub fn log_level(&self) -> &str {
        match (&self.zap_log_level, self.v) {
            (Some(level), _) => level,
            (None, 0) => "warn",
            (None, 1..=3) => "info",
            (None, 4) => "debug",
            (None, _) => "trace",
        }
    }
}

const METRIC_FLAGS: [&str; 5] = [
    "total_queued_requests_metric",
    "total_running_requests_metric",
    "kv_cache_usage_percentage_metric",
    "lora_info_metric",
    "cache_info_metric",
];

fn duration_value() -> impl TypedValueParser<Value = Duration> {
    clap::builder::StringValueParser::new().try_map(|text| duration::parse(&text))
}

fn bytes_value() -> impl TypedValueParser<Value = u64> {
    // Today's pickers take a quantity with or without a trailing B.
    clap::builder::StringValueParser::new()
        .try_map(|text| quantity::parse(text.strip_suffix('B').unwrap_or(&text)))
}

/// Parses a command line and the warnings that it deserves.
pub fn parse(
    arguments: impl IntoIterator<Item = impl Into<std::ffi::OsString> + Clone + AsRef<OsStr>>,
) -> Result<(Flags, Vec<String>), clap::Error> {
    use clap::{CommandFactory, FromArgMatches};

    let matches = Flags::command().try_get_matches_from(arguments)?;
    let warnings = Flags::warnings(&matches);
    Ok((Flags::from_arg_matches(&matches)?, warnings))
}

#[cfg(test)]
mod tests;
