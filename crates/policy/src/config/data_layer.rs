//! The section `dataLayer`: where endpoints and their load are learned from.

use pointsman_api::picker_config::DataLayer as Section;

use super::plugins::{Plugin, Plugins};
use super::{FileDiscovery, MetricNames, MetricsSource};
use crate::duration;
use crate::plugin::{Part, Role};
use crate::problem::Findings;

/// What feeds the pool.
#[derive(Default)]
pub(crate) struct DataLayer {
    /// The file that lists the endpoints.
    pub(crate) discovery: Option<FileDiscovery>,
    /// How engines' metrics are read.
    pub(crate) metrics: MetricsSource,
    /// What engines call their metrics.
    pub(crate) metric_names: MetricNames,
}

/// Works out what feeds the pool.
pub(crate) fn compile(
    section: Option<&Section>,
    plugins: &Plugins,
    findings: &mut Findings,
) -> DataLayer {
    let mut source = None;
    let mut discovery = None;
    if let Some(section) = section {
        source = sources(section, plugins, findings);
        discovery = section.discovery.as_ref().and_then(|reference| {
            let path = "dataLayer.discovery.pluginRef";
            plugins.find_with_role(path, &reference.plugin_ref, Role::Discovery, findings)
        });
        check_inactive(section, plugins, findings);
    }
    for plugin in plugins.iter() {
        if matches!(plugin.part, Part::Discovery(_))
            && discovery.is_none_or(|used| used.path != plugin.path)
        {
            findings.warning(
                format!("{}.type", plugin.path),
                "is not used: name the plugin in `dataLayer.discovery.pluginRef`",
            );
        }
    }
    DataLayer {
        discovery: discovery.and_then(|plugin| match &plugin.part {
            Part::Discovery(file) => Some(file.clone()),
            _ => None,
        }),
        metrics: metrics(source, plugins, findings),
        metric_names: metric_names(plugins, findings),
    }
}

/// The names that the file's extractor has, else the built-in ones.
fn metric_names(plugins: &Plugins, findings: &mut Findings) -> MetricNames {
    let mut names = None;
    for plugin in plugins.iter() {
        if let Part::MetricNames(listed) = &plugin.part {
            if names.is_some() {
                findings.problem(format!("{}.type", plugin.path), SECOND_EXTRACTOR);
            }
            names.get_or_insert_with(|| listed.clone());
        }
    }
    names.unwrap_or_default()
}

/// The metrics source of `sources`, after a check of all of them.
fn sources<'a>(
    section: &Section,
    plugins: &'a Plugins,
    findings: &mut Findings,
) -> Option<&'a Plugin> {
    let mut source = None;
    for (index, entry) in section.sources.iter().enumerate() {
        let path = format!("dataLayer.sources[{index}]");
        let reference = format!("{path}.pluginRef");
        let found = plugins.find_with_role(&reference, &entry.plugin_ref, Role::Source, findings);
        if source.is_some() && found.is_some() {
            findings.problem(reference, SECOND_SOURCE);
        }
        source = source.or(found);
        for (index, extractor) in entry.extractors.iter().enumerate() {
            let path = format!("{path}.extractors[{index}].pluginRef");
            plugins.find_with_role(&path, &extractor.plugin_ref, Role::Extractor, findings);
        }
    }
    source
}

/// The source that `sources` names, else the one that the file lists, else the built-in one.
fn metrics(source: Option<&Plugin>, plugins: &Plugins, findings: &mut Findings) -> MetricsSource {
    let mut listed = plugins
        .iter()
        .filter(|plugin| matches!(plugin.part, Part::Metrics(_)));
    let chosen = match source {
        Some(source) => Some(source),
        None => {
            let first = listed.next();
            for plugin in listed {
                findings.problem(format!("{}.type", plugin.path), SECOND_SOURCE);
            }
            first
        }
    };
    match chosen.map(|plugin| &plugin.part) {
        Some(Part::Metrics(source)) => source.clone(),
        _ => MetricsSource::default(),
    }
}

/// Checks what has no effect yet.
fn check_inactive(section: &Section, plugins: &Plugins, findings: &mut Findings) {
    if section.inject_defaults == Some(false) && section.sources.is_empty() {
        findings.warning(
            "dataLayer.injectDefaults",
            "is not active in this version: engines' metrics are always read",
        );
    }
    let peers = section
        .peer_discovery
        .as_ref()
        .map(|peers| &peers.plugin_ref);
    let syncer = section.cross_replica_syncer_plugin_ref.as_ref();
    for (path, reference) in [
        ("dataLayer.peerDiscovery.pluginRef", peers),
        ("dataLayer.crossReplicaSyncerPluginRef", syncer),
    ] {
        if let Some(name) = reference.filter(|name| !name.is_empty()) {
            plugins.find(path, name, findings);
            findings.warning(
                path,
                "is not active in this version: pickers share no state",
            );
        }
    }
    if let Some(text) = &section.cross_replica_sync_interval {
        let path = "dataLayer.crossReplicaSyncInterval";
        match duration::parse(text) {
            Ok(_) => {
                findings.warning(
                    path,
                    "is not active in this version: pickers share no state",
                );
            }
            Err(message) => findings.problem(path, message),
        }
    }
}

const SECOND_EXTRACTOR: &str =
    "more than one metrics extractor is not built in this version: keep one";

const SECOND_SOURCE: &str = "more than one metrics source is not built in this version: keep one";
