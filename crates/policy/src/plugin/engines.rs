//! The parameter `engineConfigs`: what further engines call their metrics.

use pointsman_telemetry::engines::Engine;
use pointsman_telemetry::mapping::EngineNames;
use pointsman_telemetry::metric_spec::MetricSpec;

use crate::fields::Fields;
use crate::parameter::Row;

/// An engine of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineConfig {
    /// The word for it in labels of endpoints.
    pub(crate) name: String,
    /// What it calls its metrics.
    pub(crate) names: EngineNames,
}

/// The list of engines, which is read by its entries.
pub(crate) struct EngineConfigs;

impl EngineConfigs {
    pub(crate) fn of(fields: &mut Fields<'_>) -> Vec<EngineConfig> {
        fields.list(NAME, engine)
    }
}

impl Row for EngineConfigs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn unit(&self) -> &'static str {
        ""
    }

    fn default_text(&self) -> String {
        "none".to_owned()
    }

    fn range_text(&self) -> String {
        "a list, see [below](#the-parameter-engineconfigs)".to_owned()
    }

    fn about(&self) -> String {
        "The names of metrics of further engines, or others for one that is known.".to_owned()
    }

    fn check(&self, fields: &mut Fields<'_>) {
        Self::of(fields);
    }
}

fn engine(fields: &mut Fields<'_>) -> EngineConfig {
    let mut name: String = fields.required("name").unwrap_or_default();
    if name == RESERVED {
        fields.problem("name", "`default` is reserved: choose another name");
        name.clear();
    }
    let mut names = EngineNames {
        waiting: metric(fields, "queuedRequestsSpec"),
        running: metric(fields, "runningRequestsSpec"),
        kv_usage: metric(fields, "kvUsageSpec"),
        adapters: metric(fields, "loraSpec"),
        cache_info: metric(fields, "cacheInfoSpec"),
        block_tokens_label: label(fields, "cacheBlockSizeLabelName"),
        blocks_label: label(fields, "cacheNumBlocksLabelName"),
        block_tokens: metric(fields, "cacheBlockSizeSpec"),
        blocks: metric(fields, "cacheNumBlocksSpec"),
        ..EngineNames::default()
    };
    if fields.value("customMetrics").is_some() {
        fields.warning("customMetrics", "is not active in this version");
    }
    if let Some(known) = Engine::named(&name) {
        // The file has no fields for these, and means to change the others.
        let EngineNames {
            counters,
            rank_label,
            ..
        } = known.names();
        names.counters = counters;
        names.rank_label = rank_label;
    }
    EngineConfig { name, names }
}

/// A metric; none if the field is absent or empty.
fn metric(fields: &mut Fields<'_>, field: &'static str) -> Vec<MetricSpec> {
    let text: String = fields.optional(field).unwrap_or_default();
    if text.trim().is_empty() {
        return Vec::new();
    }
    match text.parse() {
        Ok(spec) => vec![spec],
        Err(problem) => {
            fields.problem(field, format!("{problem}: write `name{{label=value,...}}`"));
            Vec::new()
        }
    }
}

fn label(fields: &mut Fields<'_>, field: &'static str) -> Box<str> {
    let text: Option<String> = fields.optional(field);
    text.unwrap_or_default().into()
}

const NAME: &str = "engineConfigs";

/// llm-d's word for the engine of endpoints without a label.
const RESERVED: &str = "default";
