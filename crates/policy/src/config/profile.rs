//! The section `schedulingProfiles`: which scorers and which picker choose.

use std::sync::Arc;

use pointsman_api::picker_config::SchedulingProfile;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::picker::max_score::MaxScore;
use pointsman_schedule::profile::{Profile, Weighted};
use pointsman_schedule::scorer::Scorer;
use pointsman_schedule::scorer::kv_cache_utilization::KvCacheUtilization;
use pointsman_schedule::scorer::own_inflight::OwnInflight;
use pointsman_schedule::scorer::prefix_cache::PrefixCache;
use pointsman_schedule::scorer::queue::Queue;

use super::plugins::{Plugin, Plugins};
use crate::plugin::{Part, Role};
use crate::problem::{Findings, quoted};
use crate::registry::{
    KV_CACHE_UTILIZATION_SCORER, OWN_INFLIGHT_SCORER, PREFIX_CACHE_SCORER, QUEUE_SCORER,
};

/// How endpoints are chosen.
pub(crate) struct Choice {
    /// The scorers and the picker.
    pub(crate) profile: Profile,
    /// How many endpoints the picker lists, if its parameters say it.
    pub(crate) destinations_max: Option<usize>,
}

/// Works out the one profile.
pub(crate) fn compile(
    profiles: &[SchedulingProfile],
    plugins: &Plugins,
    findings: &mut Findings,
) -> Choice {
    let mut choices = Vec::new();
    for (index, profile) in profiles.iter().enumerate() {
        let path = format!("schedulingProfiles[{index}]");
        if profile.name.is_empty() {
            findings.problem(format!("{path}.name"), "must not be empty");
        }
        if index > 0 {
            let message = "more than one profile is not built in this version: keep one";
            findings.problem(path.clone(), message);
        }
        choices.push(written(profile, &path, plugins, findings));
    }
    match choices.into_iter().next() {
        Some(choice) => choice,
        None => unwritten(plugins, findings),
    }
}

/// The scorers of a configuration without any, with their weights: llm-d's three, and our own.
pub(crate) fn default_scorers() -> [(&'static str, Scorer, f64); 4] {
    [
        (QUEUE_SCORER, Scorer::Queue(Queue), 2.0),
        (
            KV_CACHE_UTILIZATION_SCORER,
            Scorer::KvCacheUtilization(KvCacheUtilization),
            2.0,
        ),
        (
            PREFIX_CACHE_SCORER,
            Scorer::PrefixCache(PrefixCache::default()),
            PREFIX_CACHE_WEIGHT,
        ),
        (
            OWN_INFLIGHT_SCORER,
            Scorer::OwnInflight(OwnInflight::default()),
            OWN_INFLIGHT_WEIGHT,
        ),
    ]
}

/// The weight of a scorer that has none in its profile.
pub(crate) const WEIGHT_DEFAULT: f64 = 1.0;

/// llm-d's weight of the prefix scorer.
const PREFIX_CACHE_WEIGHT: f64 = 3.0;

/// The weight of our own requests in flight. The other load scorers know of a request only after
/// the engine reported it, so a burst needs this one to spread. It must exceed the prefix weight, or
/// an idle endpoint could never win over the holder of a whole prompt, however loaded that is.
const OWN_INFLIGHT_WEIGHT: f64 = 4.0;

/// A profile of the file.
fn written(
    profile: &SchedulingProfile,
    path: &str,
    plugins: &Plugins,
    findings: &mut Findings,
) -> Choice {
    let mut members = Members::default();
    for (index, member) in profile.plugins.iter().enumerate() {
        let path = format!("{path}.plugins[{index}]");
        let reference = format!("{path}.pluginRef");
        let weight = match member.weight {
            Some(weight) if !weight.is_finite() || weight < 0.0 => {
                findings.problem(
                    format!("{path}.weight"),
                    "must be a finite number of 0 or more",
                );
                WEIGHT_DEFAULT
            }
            weight => weight.unwrap_or(WEIGHT_DEFAULT),
        };
        let Some(plugin) = plugins.find(&reference, &member.plugin_ref, findings) else {
            continue;
        };
        if member.weight.is_some() && !plugin.has_role(Role::Scorer) {
            findings.warning(
                format!("{path}.weight"),
                "has no effect: only scorers have a weight",
            );
        }
        members.add(plugin, weight, &reference, findings);
    }
    members.choice(plugins)
}

/// The profile of a file without profiles: all scorers and the picker that it lists, or else the
/// built-in one.
fn unwritten(plugins: &Plugins, findings: &mut Findings) -> Choice {
    let mut members = Members::default();
    for plugin in plugins.iter() {
        if plugin.has_role(Role::Scorer) || plugin.has_role(Role::Picker) {
            members.add(
                plugin,
                WEIGHT_DEFAULT,
                &format!("{}.type", plugin.path),
                findings,
            );
        }
    }
    if members.scorers.is_empty() && members.picker.is_none() {
        let weighted = |(name, scorer, weight)| Weighted {
            name: Arc::from(name),
            scorer,
            weight,
        };
        members.scorers = default_scorers().map(weighted).into();
    }
    members.choice(plugins)
}

/// The plugins of a profile, by what they do in it.
#[derive(Default)]
struct Members {
    scorers: Vec<Weighted>,
    picker: Option<(String, Picker, Option<usize>)>,
}

impl Members {
    fn add(&mut self, plugin: &Plugin, weight: f64, path: &str, findings: &mut Findings) {
        let name = quoted(&plugin.name);
        match &plugin.part {
            Part::Scorer(scorer, _) => self.scorers.push(Weighted {
                name: Arc::from(plugin.name.as_str()),
                scorer: scorer.clone(),
                weight,
            }),
            Part::Picker(picker, destinations_max) => match &self.picker {
                Some((first, ..)) => findings.problem(
                    path,
                    format!(
                        "{name} is a second picker next to {}: keep one",
                        quoted(first)
                    ),
                ),
                None => {
                    self.picker = Some((plugin.name.clone(), picker.clone(), *destinations_max));
                }
            },
            _ if plugin.has_role(Role::SaturationDetector) => findings.problem(
                path,
                format!("{name} as a filter is not built in this version: remove it"),
            ),
            // Its parameters are a problem already.
            _ if plugin.has_role(Role::Scorer) || plugin.has_role(Role::Picker) => {}
            _ => findings.warning(path, format!("{name} has no effect in a profile")),
        }
    }

    /// With the picker of the profile, else the first of the file, else `max-score-picker`.
    fn choice(self, plugins: &Plugins) -> Choice {
        let listed = || {
            plugins.iter().find_map(|plugin| match &plugin.part {
                Part::Picker(picker, destinations_max) => {
                    Some((plugin.name.clone(), picker.clone(), *destinations_max))
                }
                _ => None,
            })
        };
        let (picker, destinations_max) = self.picker.or_else(listed).map_or_else(
            || (Picker::MaxScore(MaxScore::default()), None),
            |(_, picker, count)| (picker, count),
        );
        Choice {
            profile: Profile {
                scorers: self.scorers,
                picker,
            },
            destinations_max,
        }
    }
}

#[cfg(test)]
mod tests;
