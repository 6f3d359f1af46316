//! The section `plugins`: each entry read by its type, and the references to them.

use std::collections::BTreeMap;

use pointsman_api::picker_config::PluginSpec;
use pointsman_domain::block::BlockSize;
use pointsman_pipeline::config::PrefixSource;
use pointsman_schedule::scorer::Scorer;

use crate::fields::within;
use crate::parameter::text::any_of;
use crate::plugin::prefix_cache::BLOCK_SIZE_DEFAULT;
use crate::plugin::{Part, PluginType, Producer, Role, State};
use crate::problem::{Findings, quoted};
use crate::registry::{self, APPROX_PREFIX_CACHE_PRODUCER};

/// The plugins of a file.
pub(crate) struct Plugins {
    list: Vec<Plugin>,
    by_name: BTreeMap<String, usize>,
}

/// One plugin.
pub(crate) struct Plugin {
    /// What references call it.
    pub(crate) name: String,
    /// Its entry, as in `plugins[2]`.
    pub(crate) path: String,
    /// What it is; `None` where its type is not known, which is a problem already.
    pub(crate) plugin_type: Option<&'static PluginType>,
    /// What it gives.
    pub(crate) part: Part,
}

impl Plugin {
    /// Whether it is of a type that works or is accepted; any other type is a problem already.
    fn is_usable(&self) -> bool {
        self.plugin_type
            .is_some_and(|known| !matches!(known.state, State::NotBuilt))
    }

    /// Whether it has this role.
    pub(crate) fn has_role(&self, role: Role) -> bool {
        self.plugin_type.is_some_and(|known| known.role == role)
    }
}

/// Reads all entries.
pub(crate) fn compile(specs: &[PluginSpec], findings: &mut Findings) -> Plugins {
    if specs.len() > PLUGINS_MAX {
        findings.problem(
            "plugins",
            format!(
                "has {} entries and the limit is {PLUGINS_MAX}: remove some",
                specs.len()
            ),
        );
    }
    let mut plugins = Plugins {
        list: Vec::new(),
        by_name: BTreeMap::new(),
    };
    for (index, spec) in specs.iter().take(PLUGINS_MAX).enumerate() {
        let path = format!("plugins[{index}]");
        let name = spec
            .name
            .as_ref()
            .filter(|name| !name.is_empty())
            .unwrap_or(&spec.plugin_type);
        if let Some(first) = plugins.by_name.get(name) {
            findings.problem(
                format!("{path}.name"),
                format!(
                    "{} is the name of plugins[{first}] too: write another",
                    quoted(name)
                ),
            );
        } else {
            plugins.by_name.insert(name.clone(), index);
        }
        let plugin_type = registry::find(&spec.plugin_type);
        let part = part(spec, plugin_type, &path, findings);
        plugins.list.push(Plugin {
            name: name.clone(),
            path,
            plugin_type,
            part,
        });
    }
    plugins.check_producers(findings);
    plugins
}

impl Plugins {
    /// All, in the order of the file.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Plugin> {
        self.list.iter()
    }

    /// The plugin that the field at `path` names.
    ///
    /// `None` if there is none, or if its type is a problem already.
    pub(crate) fn find(&self, path: &str, name: &str, findings: &mut Findings) -> Option<&Plugin> {
        if let Some(plugin) = self
            .by_name
            .get(name)
            .and_then(|&index| self.list.get(index))
        {
            return Some(plugin).filter(|plugin| plugin.is_usable());
        }
        if !self.has_nameless() {
            let names = self.by_name.keys().map(String::as_str);
            let end = findings.suggestion(name, names, "add it there, or write another");
            findings.problem(
                path,
                format!(
                    "{} is not the name of an entry of `plugins`{end}",
                    quoted(name)
                ),
            );
        }
        None
    }

    /// The plugin of this role that the field at `path` names.
    ///
    /// `None` also if the name is that of a plugin which is there without an entry.
    pub(crate) fn find_with_role(
        &self,
        path: &str,
        name: &str,
        role: Role,
        findings: &mut Findings,
    ) -> Option<&Plugin> {
        if !self.by_name.contains_key(name) && registry::is_supplied(name, role) {
            return None;
        }
        let plugin = self.find(path, name, findings)?;
        if !plugin.has_role(role) {
            let kind = plugin
                .plugin_type
                .map_or_else(String::new, |known| known.role.to_string());
            let message = format!(
                "{} is a plugin of the kind {kind}: name one of the kind {role}",
                quoted(name)
            );
            findings.problem(path, message);
            return None;
        }
        Some(plugin)
    }

    /// The block size that the one producer of prefix matches sets, and what it learns from.
    pub(crate) fn prefix_index(&self, findings: &mut Findings) -> (BlockSize, PrefixSource) {
        let mut producers = self.list.iter().filter_map(|plugin| match plugin.part {
            Part::PrefixIndex(size, source) => Some((&plugin.path, size, source)),
            _ => None,
        });
        let Some((path, size, source)) = producers.next() else {
            return (BLOCK_SIZE_DEFAULT, PrefixSource::default());
        };
        for (path, ..) in producers {
            findings.problem(
                format!("{path}.type"),
                "more than one producer of prefix matches is not built in this version: keep one",
            );
        }
        self.warn_of_reports(path, source, findings);
        (size, source)
    }

    /// What a file should know that has the index learn from reports.
    fn warn_of_reports(&self, path: &str, source: PrefixSource, findings: &mut Findings) {
        let without_feed = match source {
            PrefixSource::Predicted => return,
            PrefixSource::Reported => "stays empty",
            PrefixSource::ReportedAndPredicted => "holds predictions only",
        };
        findings.warning(
            format!("{path}.type"),
            format!(
                "this picker does not subscribe to KV events yet: without another feed the index \
                 {without_feed}"
            ),
        );
        for plugin in &self.list {
            if matches!(plugin.part, Part::Scorer(Scorer::PrefixCache(_), None)) {
                findings.warning(
                    format!("{}.parameters.prefixMatchInfoProducerName", plugin.path),
                    format!(
                        "is absent, so that the one producer of the file counts; llm-d takes \
                         `{APPROX_PREFIX_CACHE_PRODUCER}`: write which you mean"
                    ),
                );
            }
        }
    }

    /// A scorer must not read from a producer that is not there: it would give 0 to all.
    fn check_producers(&self, findings: &mut Findings) {
        for plugin in &self.list {
            let Part::Scorer(_, Some(producer)) = &plugin.part else {
                continue;
            };
            let Producer {
                parameter,
                name,
                plugin_types,
            } = producer;
            // The first type is there without an entry, unless one of another type is in its place.
            if let Some((first, others)) = plugin_types.split_first()
                && name == first
                && !self.by_name.contains_key(name)
                && !self.has_any_of(others)
            {
                continue;
            }
            let path = format!("{}.parameters.{parameter}", plugin.path);
            let found = self
                .find(&path, name, findings)
                .and_then(|found| found.plugin_type);
            if found.is_some_and(|found| !plugin_types.contains(&found.name)) {
                let types = any_of(plugin_types);
                let message = format!("{} is not of the type {types}", quoted(name));
                findings.problem(path, message);
            }
        }
    }

    /// Whether an entry is of one of these types.
    fn has_any_of(&self, plugin_types: &[&str]) -> bool {
        self.list
            .iter()
            .filter_map(|plugin| plugin.plugin_type)
            .any(|known| plugin_types.contains(&known.name))
    }

    /// Whether an entry has no name that could be read, so that any reference may mean it.
    fn has_nameless(&self) -> bool {
        self.by_name.contains_key("")
    }
}

fn part(
    spec: &PluginSpec,
    plugin_type: Option<&'static PluginType>,
    path: &str,
    findings: &mut Findings,
) -> Part {
    let written = quoted(&spec.plugin_type);
    let Some(known) = plugin_type else {
        let names = registry::PLUGIN_TYPES.iter().map(|known| known.name);
        let end = findings.suggestion(&spec.plugin_type, names, "correct or remove it");
        findings.problem(
            format!("{path}.type"),
            format!("{written} is not a plugin type{end}"),
        );
        return Part::Nothing;
    };
    let parameters = spec.parameters.as_ref();
    let parameters_path = format!("{path}.parameters");
    match known.state {
        State::Built(built) => {
            let part = within(parameters, &parameters_path, findings, built.read);
            part.unwrap_or(Part::Nothing)
        }
        State::Accepted(accepted) => {
            within(parameters, &parameters_path, findings, |fields| {
                accepted.parameters.iter().for_each(|row| row.check(fields));
            });
            findings.warning(
                format!("{path}.type"),
                format!("{written} is not active in this version: {}", accepted.why),
            );
            Part::Nothing
        }
        State::NotBuilt => {
            findings.problem(
                format!("{path}.type"),
                format!("{written} is not built in this version: remove it"),
            );
            Part::Nothing
        }
    }
}

/// How many plugins a file may list.
const PLUGINS_MAX: usize = 256;
