//! Whether a scenario's checks hold, where enough was run to tell.

use core::cell::RefCell;

use pointsman_lab::check::{Check, Measured};
use pointsman_lab::measure::Measures;
use pointsman_lab::scenario::Scenario;
use serde::Serialize;

/// One check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Judged {
    /// What is demanded, or the place of the check in the file.
    pub(super) demand: String,
    /// What was found, or why nothing was.
    pub(super) found: String,
    pub(super) outcome: Outcome,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Holds,
    Fails,
    NotJudged,
}

/// The measures of one case and policy, in the order of the seeds.
#[derive(Clone, Debug)]
pub(super) struct Measurement<'a> {
    pub(super) case: &'a str,
    pub(super) policy: &'a str,
    pub(super) seeds: Vec<Measures>,
}

/// Judges every check of the scenario.
pub(super) fn judge(scenario: &Scenario, measurements: &[Measurement<'_>]) -> Vec<Judged> {
    let checks = scenario.checks.iter().enumerate();
    checks
        .map(|(place, check)| {
            let source = Source {
                measurements,
                seeds_needed: scenario.seeds as usize,
                missing: RefCell::default(),
            };
            source.judge(place, check)
        })
        .collect()
}

/// Gives out what has enough seeds, and notes what was asked for in vain.
struct Source<'a> {
    measurements: &'a [Measurement<'a>],
    seeds_needed: usize,
    missing: RefCell<Option<String>>,
}

impl Source<'_> {
    fn judge(&self, place: usize, check: &Check) -> Judged {
        if let Some(verdict) = check.judge(self) {
            let outcome = if verdict.holds {
                Outcome::Holds
            } else {
                Outcome::Fails
            };
            return Judged {
                demand: verdict.demand,
                found: verdict.found,
                outcome,
            };
        }
        let demand = format!("checks[{place}]");
        match self.missing.take() {
            Some(found) => Judged {
                demand,
                found,
                outcome: Outcome::NotJudged,
            },
            // All was run, so the name of the measure is wrong, or a seed gave nothing to measure.
            None => Judged {
                demand,
                found: "not every seed has the measure that it asks for".to_owned(),
                outcome: Outcome::Fails,
            },
        }
    }
}

impl Measured for Source<'_> {
    fn of(&self, case: &str, policy: &str) -> &[Measures] {
        let measurement = self
            .measurements
            .iter()
            .find(|measurement| measurement.case == case && measurement.policy == policy);
        let missing = match measurement {
            Some(measurement) if measurement.seeds.len() >= self.seeds_needed => {
                return &measurement.seeds;
            }
            Some(measurement) => format!(
                "{} of the {} seeds that it needs were run",
                measurement.seeds.len(),
                self.seeds_needed
            ),
            None => format!("case {case} was not run with {policy}"),
        };
        self.missing.borrow_mut().get_or_insert(missing);
        &[]
    }
}

#[cfg(test)]
mod tests;
