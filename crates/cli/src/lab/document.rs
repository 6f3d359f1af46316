//! What a run found, as JSON.

use std::collections::BTreeMap;

use pointsman_lab::check::OverSeeds;
use serde::Serialize;

use super::estimate::Estimate;
use super::jobs::Run;
use super::judge::Judged;
use super::run::{Measured, Results, Seeds};

/// The whole answer.
#[derive(Debug, Serialize)]
pub(super) struct Document {
    pub(super) scenarios: Vec<ScenarioPart>,
    pub(super) work: Work,
    /// The command that does all this again.
    pub(super) repeat: String,
}

/// One scenario.
#[derive(Debug, Serialize)]
pub(super) struct ScenarioPart {
    scenario: String,
    title: String,
    seeds: Seeds,
    runs: Vec<RunsPart>,
    checks: Vec<Judged>,
}

/// What it took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Work {
    /// Simulated requests.
    pub(super) requests: u64,
    /// From the begin to the end.
    pub(super) seconds: f64,
    pub(super) threads: usize,
    pub(super) requests_per_minute_per_thread: f64,
}

/// One case under one policy.
#[derive(Debug, Serialize)]
struct RunsPart {
    case: String,
    policy: String,
    seeds: Vec<SeedPart>,
    /// Of the measures that every seed has.
    summary: BTreeMap<String, Summary>,
    /// `None` for the first policy of the case.
    difference: Option<Difference>,
}

#[derive(Debug, Serialize)]
struct SeedPart {
    seed: u64,
    /// As text, as it has more bits than a number of JSON.
    digest: String,
    requests: u64,
    measures: BTreeMap<String, f64>,
}

#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    estimate: Estimate,
    least: Option<f64>,
    median: Option<f64>,
    most: Option<f64>,
}

/// To the first policy of the case, seed by seed.
#[derive(Debug, Serialize)]
struct Difference {
    to: String,
    measures: BTreeMap<String, Estimate>,
}

impl ScenarioPart {
    pub(super) fn new(results: &Results<'_>, checks: Vec<Judged>) -> Self {
        let scenario = &results.chosen.scenario;
        let runs = results.by_case().flat_map(|measured| {
            let first = measured.first();
            let others = measured
                .iter()
                .skip(1)
                .map(move |other| RunsPart::new(other, first));
            first
                .map(|first| RunsPart::new(first, None))
                .into_iter()
                .chain(others)
        });
        Self {
            scenario: scenario.name.clone(),
            title: scenario.title.clone(),
            seeds: results.seeds,
            runs: runs.collect(),
            checks,
        }
    }
}

impl RunsPart {
    fn new(measured: &Measured<'_>, first: Option<&Measured<'_>>) -> Self {
        let names = || measured.names();
        let summaries = names().filter_map(|name| Some((name.to_owned(), measured.summary(name)?)));
        let difference = first.map(|first| {
            let measures = names().filter_map(|name| {
                let values = measured.values(name)?;
                let difference = Estimate::of_differences(&values, &first.values(name)?)?;
                Some((name.to_owned(), difference))
            });
            Difference {
                to: first.policy.name.clone(),
                measures: measures.collect(),
            }
        });
        Self {
            case: measured.case.name.clone(),
            policy: measured.policy.name.clone(),
            seeds: measured.runs.iter().map(SeedPart::new).collect(),
            summary: summaries.collect(),
            difference,
        }
    }
}

impl Measured<'_> {
    fn summary(&self, name: &str) -> Option<Summary> {
        let estimate = Estimate::of(&self.values(name)?)?;
        let measures = self.measures();
        Some(Summary {
            estimate,
            least: OverSeeds::Least.of(&measures, name),
            median: OverSeeds::Median.of(&measures, name),
            most: OverSeeds::Most.of(&measures, name),
        })
    }
}

impl SeedPart {
    fn new(run: &Run) -> Self {
        let measures = run.measures.iter();
        Self {
            seed: run.seed,
            digest: format!("{:016x}", run.digest),
            requests: run.requests,
            measures: measures
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests;
