//! `pointsman lab list`: what is built in.

use std::io::Write;

use anyhow::{Context as _, Result};
use clap::Args;
use pointsman_lab::builtin;
use pointsman_lab::policy;
use pointsman_lab::scenario::Scenario;
use serde::Serialize;

use crate::table;

/// How to show it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Print JSON in the place of tables.
    #[arg(long)]
    json: bool,
}

/// Prints all built-in scenarios and policies.
pub(super) fn run(arguments: &Arguments, output: &mut dyn Write) -> Result<()> {
    let list = List::new()?;
    let text = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&list)?)
    } else {
        list.tables()
    };
    output
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

#[derive(Debug, Serialize)]
struct List {
    scenarios: Vec<ScenarioLine>,
    policies: Vec<PolicyLine>,
}

#[derive(Debug, Serialize)]
struct ScenarioLine {
    name: String,
    title: String,
    about: String,
    seeds: u32,
    show: Vec<String>,
    cases: Vec<CaseLine>,
    checks: usize,
}

#[derive(Debug, Serialize)]
struct CaseLine {
    name: String,
    policies: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PolicyLine {
    name: &'static str,
    about: &'static str,
}

impl List {
    fn new() -> Result<Self> {
        let scenarios = builtin::SCENARIOS.iter().map(|scenario| {
            let read = scenario.scenario();
            read.map(ScenarioLine::from)
                .with_context(|| format!("the built-in scenario {}", scenario.name))
        });
        let policies = policy::BUILTIN.iter().map(|policy| PolicyLine {
            name: policy.name,
            about: policy.about,
        });
        Ok(Self {
            scenarios: scenarios.collect::<Result<_>>()?,
            policies: policies.collect(),
        })
    }

    fn tables(&self) -> String {
        let scenarios = self.scenarios.iter().map(ScenarioLine::row);
        let cases = self.scenarios.iter().flat_map(ScenarioLine::cases);
        let policies = self.policies.iter();
        let policies = policies.map(|line| vec![line.name.to_owned(), line.about.to_owned()]);
        format!(
            "{}\n\n{}\n\n{}\n",
            table::words(&["scenario", "seeds", "what it is"], scenarios.collect()),
            table::words(&["scenario", "case", "run with"], cases.collect()),
            table::words(&["policy", "what it picks"], policies.collect()),
        )
    }
}

impl From<Scenario> for ScenarioLine {
    fn from(scenario: Scenario) -> Self {
        let cases = scenario.cases.into_iter().map(|case| CaseLine {
            name: case.name,
            policies: case.policies,
        });
        Self {
            name: scenario.name,
            title: scenario.title,
            about: scenario.about,
            seeds: scenario.seeds,
            show: scenario.show,
            cases: cases.collect(),
            checks: scenario.checks.len(),
        }
    }
}

impl ScenarioLine {
    fn row(&self) -> Vec<String> {
        vec![
            self.name.clone(),
            self.seeds.to_string(),
            self.title.clone(),
        ]
    }

    fn cases(&self) -> impl Iterator<Item = Vec<String>> {
        let cases = self.cases.iter();
        cases.map(|case| {
            vec![
                self.name.clone(),
                case.name.clone(),
                case.policies.join(", "),
            ]
        })
    }
}

const EXAMPLES: &str = "Examples:
  pointsman lab list
  pointsman lab list --json | jq -r '.scenarios[].name'";

#[cfg(test)]
mod tests;
