//! The configuration file: text to spec to what runs.

mod data_layer;
mod feature_gates;
pub(crate) mod flow_control;
mod header;
mod plugins;
pub(crate) mod profile;
mod request_handler;
pub(crate) mod spec;

use core::time::Duration;
use std::collections::BTreeMap;

use pointsman_api::picker_config::EndpointPickerConfig;
use pointsman_domain::load::PrefillRate;
use pointsman_pipeline::config::{Attachment, RuntimeConfig};
use pointsman_pipeline::rewrite::Rewrites;
use pointsman_telemetry::engines::Engine;
use pointsman_telemetry::mapping::EngineNames;

use crate::plugin::data_layer::{ENGINE_DEFAULT, ENGINE_LABEL_DEFAULT, METRICS_PATH_DEFAULT};
use crate::problem::{Findings, Problem, Problems};

/// All that follows from a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// What the pool runs by.
    pub runtime: RuntimeConfig,
    /// The file that lists the endpoints, if the configuration names one.
    pub discovery: Option<FileDiscovery>,
    /// How engines' metrics are read.
    pub metrics: MetricsSource,
    /// What engines call their metrics.
    pub metric_names: MetricNames,
    /// What was accepted and has no effect.
    pub warnings: Vec<Problem>,
}

/// A file that lists the endpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiscovery {
    /// Where it is.
    pub path: String,
    /// Whether a change of it counts at once.
    pub watch: bool,
}

/// How engines' metrics are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricsSource {
    /// The path of the URL.
    pub path: String,
    /// The port, where it is not the endpoint's own.
    pub port: Option<u16>,
    /// The time between two reads, where it is not the one of the process.
    pub interval: Option<Duration>,
}

impl Default for MetricsSource {
    fn default() -> Self {
        Self {
            path: METRICS_PATH_DEFAULT.to_owned(),
            port: None,
            interval: None,
        }
    }
}

/// What engines call their metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricNames {
    /// The label of an endpoint that names its kind of engine.
    pub label: String,
    /// The kind of engine of other endpoints, which is in the table.
    pub default: String,
    /// The names, by the kind of engine.
    pub engines: BTreeMap<String, EngineNames>,
}

impl Default for MetricNames {
    fn default() -> Self {
        let known = |engine: Engine| (engine.name().to_owned(), engine.names());
        Self {
            label: ENGINE_LABEL_DEFAULT.to_owned(),
            default: ENGINE_DEFAULT.to_owned(),
            engines: Engine::ALL.into_iter().map(known).collect(),
        }
    }
}

/// Reads a text, YAML or JSON, into a spec. A text without content is an empty configuration.
///
/// The problems are those of the text's shape: syntax, unknown fields, wrong types.
pub fn parse(text: &str) -> Result<EndpointPickerConfig, Problems> {
    let mut findings = Findings::default();
    let spec = spec::read(text, &mut findings);
    findings.finish(spec).map(|(spec, _)| spec)
}

/// Works out what runs. The problems are all that the spec has.
pub fn compile(spec: &EndpointPickerConfig, attachment: Attachment) -> Result<Compiled, Problems> {
    compile_noting(spec, attachment, Findings::default())
}

/// Parses and compiles; the problems are those of both.
pub fn load(text: &str, attachment: Attachment) -> Result<Compiled, Problems> {
    let mut findings = Findings::default();
    let spec = spec::read(text, &mut findings);
    compile_noting(&spec, attachment, findings)
}

/// Byte budget of the prefix index. At some 100 bytes for a block of 64 tokens it remembers about 170
/// million tokens, the KV caches of a few hundred engines.
pub(crate) const PREFIX_BYTES_MAX: usize = 256 << 20;

/// How many endpoints an answer lists if the picker's parameters do not say.
const fn destinations_max_default(attachment: Attachment) -> usize {
    match attachment {
        Attachment::Gateway => 1,
        Attachment::Standalone => 3,
    }
}

fn compile_noting(
    spec: &EndpointPickerConfig,
    attachment: Attachment,
    mut findings: Findings,
) -> Result<Compiled, Problems> {
    let noted = &mut findings;
    header::check(spec, noted);
    let gates = feature_gates::read(&spec.feature_gates, noted);
    let plugins = plugins::compile(&spec.plugins, noted);
    let choice = profile::compile(&spec.scheduling_profiles, &plugins, noted);
    let data_layer = data_layer::compile(spec.data_layer.as_ref(), &plugins, noted);
    request_handler::check(spec, &plugins, noted);
    let hold = flow_control::compile(spec, gates, &plugins, noted);
    let (block_size, prefix_source) = plugins.prefix_index(noted);
    let runtime = RuntimeConfig {
        profile: choice.profile,
        destinations_max: choice
            .destinations_max
            .unwrap_or_else(|| destinations_max_default(attachment)),
        block_size,
        prefix_source,
        prefix_bytes_max: PREFIX_BYTES_MAX,
        hold,
        rewrites: Rewrites::default(),
        prefill_rate: PrefillRate::default(),
    };
    let (discovery, metrics) = (data_layer.discovery, data_layer.metrics);
    let compiled = Compiled {
        runtime,
        discovery,
        metrics,
        metric_names: data_layer.metric_names,
        warnings: Vec::new(),
    };
    let (compiled, warnings) = findings.finish(compiled)?;
    Ok(Compiled {
        warnings,
        ..compiled
    })
}

#[cfg(test)]
mod tests;
