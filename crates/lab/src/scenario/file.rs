//! From the text of a scenario file to a scenario.

use core::num::NonZeroU32;

use serde::Deserialize;
use serde_json::Value;

use super::validity::repeated;
use super::{Case, ONLY_CASE, Scenario, Setup, Unreadable};
use crate::check::Check;

impl Scenario {
    /// Reads a scenario file. `read` gives the text of a file that the scenario names.
    pub fn parse(
        text: &str,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, Unreadable> {
        let value: Value = serde_yaml::from_str(text).map_err(|error| Unreadable {
            at: "the file".to_owned(),
            what: error.to_string(),
        })?;
        let file: File = typed("the file", value)?;
        let cases = if file.cases.is_empty() {
            vec![CaseFile::only()]
        } else {
            file.cases
        };
        let cases = cases
            .into_iter()
            .map(|case| case.apply(&file.setup, &file.policies, read))
            .collect::<Result<_, _>>()?;
        let scenario = Self {
            name: file.name,
            title: file.title,
            about: file.about,
            seeds: file.seeds.get(),
            show: file.show,
            cases,
            checks: file.checks,
        };
        scenario.check()?;
        Ok(scenario)
    }

    /// A check of something that is never run would pass or fail for no reason.
    fn check(&self) -> Result<(), Unreadable> {
        let mut names: Vec<_> = self.cases.iter().map(|case| &case.name).collect();
        names.sort_unstable();
        if let Some(name) = repeated(&names) {
            return Err(Unreadable {
                at: "cases".to_owned(),
                what: format!("two cases have the name `{name}`"),
            });
        }
        let runs = |case: &str, policy: &str| {
            self.case(case)
                .is_some_and(|case| case.policies.iter().any(|name| name == policy))
        };
        for (index, check) in self.checks.iter().enumerate() {
            if let Err(what) = check.check() {
                let at = format!("checks[{index}]");
                return Err(Unreadable { at, what });
            }
            if let Some((case, policy)) = check
                .subjects()
                .into_iter()
                .find(|(case, policy)| !runs(case, policy))
            {
                return Err(Unreadable {
                    at: format!("checks[{index}]"),
                    what: format!("case `{case}` is not run with policy `{policy}`"),
                });
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    about: String,
    seeds: NonZeroU32,
    show: Vec<String>,
    #[serde(default)]
    policies: Vec<String>,
    setup: Value,
    #[serde(default)]
    cases: Vec<CaseFile>,
    #[serde(default)]
    checks: Vec<Check>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    name: String,
    #[serde(default)]
    policies: Option<Vec<String>>,
    #[serde(default)]
    change: Value,
}

impl CaseFile {
    /// The case of a scenario that has no cases.
    fn only() -> Self {
        Self {
            name: ONLY_CASE.to_owned(),
            policies: None,
            change: Value::Null,
        }
    }

    fn apply(
        self,
        setup: &Value,
        policies: &[String],
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Case, Unreadable> {
        let at = format!("case `{}`", self.name);
        let mut value = setup.clone();
        merge(&mut value, self.change);
        let mut setup: Setup = typed(&at, value)?;
        for workload in &mut setup.workloads {
            workload.load(read).map_err(|what| Unreadable {
                at: at.clone(),
                what,
            })?;
        }
        setup.check().map_err(|what| Unreadable { at, what })?;
        Ok(Case {
            name: self.name,
            policies: self.policies.unwrap_or_else(|| policies.to_vec()),
            setup,
        })
    }
}

/// Lays `change` over `value`.
fn merge(value: &mut Value, change: Value) {
    match (value, change) {
        (Value::Object(value), Value::Object(change)) => {
            for (key, change) in change {
                merge(value.entry(key).or_insert(Value::Null), change);
            }
        }
        (_, Value::Null) => {}
        (value, change) => *value = change,
    }
}

fn typed<T: for<'de> Deserialize<'de>>(at: &str, value: Value) -> Result<T, Unreadable> {
    serde_path_to_error::deserialize(value).map_err(|error| Unreadable {
        at: format!("{at}, {}", error.path()),
        what: error.inner().to_string(),
    })
}
