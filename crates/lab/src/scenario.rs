//! What is simulated, and what must come out: the scenario file.
//!
//! A file has one `setup` and any number of `cases`. A case is the setup with a `change` merged over
//! it: maps merge key by key, anything else is replaced.

pub mod engine;
pub mod fault;
mod file;
pub mod units;
mod validity;

use core::num::NonZeroU32;

use serde::Deserialize;

use self::engine::Fleet;
use self::fault::Fault;
use self::units::{Millis, Percent};
use crate::check::Check;
use crate::workload::spec::WorkloadSpec;

/// A scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its short name.
    pub name: String,
    /// One line for lists.
    pub title: String,
    /// What it shows, where its numbers come from, and what it leaves out.
    pub about: String,
    /// How many seeds its checks are made for.
    pub seeds: u32,
    /// The measures that a table shows.
    pub show: Vec<String>,
    /// What is run.
    pub cases: Vec<Case>,
    /// What must hold.
    pub checks: Vec<Check>,
}

/// One arrangement of a scenario.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name within the scenario.
    pub name: String,
    /// The policies that it is run with.
    pub policies: Vec<String>,
    /// The arrangement.
    pub setup: Setup,
}

/// An arrangement of engines, clients and pickers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// The engines.
    pub fleet: Fleet,
    /// What clients ask for.
    pub workloads: Vec<WorkloadSpec>,
    /// Who picks.
    #[serde(default)]
    pub pickers: Pickers,
    /// How much pickers see of responses.
    #[serde(default)]
    pub observation: Observation,
    /// How long a request travels to its engine.
    #[serde(default)]
    pub network_ms: Millis,
    /// Clients that leave before their answer is complete.
    #[serde(default)]
    pub leavers: Option<Leavers>,
    /// What goes wrong.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// The longest time to the first token that counts as good.
    #[serde(default = "Setup::slo_default")]
    pub slo_ttft_ms: Millis,
    /// Parts of the run that are measured on their own.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Measure the spread of load over the endpoints every millisecond up to this time.
    #[serde(default)]
    pub spread_until_ms: Option<Millis>,
    /// The run ends here even if requests are left.
    #[serde(default = "Setup::end_default")]
    pub end_ms: Millis,
}

/// The pickers, each with a pool and a view of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pickers {
    /// How many serve at the same time.
    pub count: NonZeroU32,
    /// Time between two scrapes of an endpoint. 0: before each decision, so that no view is stale.
    pub scrape_ms: Millis,
    /// The time from the moment that a report shows to the moment that the picker has it.
    pub scrape_delay_ms: Millis,
    /// When the pickers scrape.
    pub phases: Phases,
    /// Which picker gets a request.
    pub assignment: Assignment,
    /// How many endpoints an answer lists, in the place of what the policy says. The gateway goes on
    /// to the next when one refuses the request or answers with 5xx.
    pub destinations: Option<NonZeroU32>,
    /// How fast an engine is taken to compute prompts whose first token is not seen, in the place of
    /// what the policy says.
    pub prefill_tokens_per_second: Option<NonZeroU32>,
}

/// When pickers scrape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phases {
    /// All at the same moments.
    #[default]
    Together,
    /// Evenly spread over the interval.
    Staggered,
}

/// Which picker gets a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assignment {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// Any, with the same chance.
    Random,
}

/// How much pickers see of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// The body of every response.
    #[default]
    Full,
    /// The body of a share of the responses, of the others only headers.
    Sampled {
        /// The share.
        percent: Percent,
    },
    /// Status and end.
    HeadersOnly,
    /// Only the end.
    EndOnly,
}

/// Clients that leave.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leavers {
    /// Share of the requests whose client leaves.
    pub percent: Percent,
    /// When it leaves, after its request came.
    pub after_ms: Millis,
}

/// A part of the run: the requests that come within it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// The first part of its measures' names.
    pub name: String,
    /// Its begin.
    pub from_ms: Millis,
    /// Its end, not included.
    pub to_ms: Millis,
}

/// Why a scenario cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {what}")]
pub struct Unreadable {
    /// Which part of the file.
    pub at: String,
    /// What is wrong with it.
    pub what: String,
}

impl Scenario {
    /// The case of this name.
    pub fn case(&self, name: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.name == name)
    }
}

impl Setup {
    fn slo_default() -> Millis {
        Millis::new(80.0)
    }

    fn end_default() -> Millis {
        Millis::new(20_000.0)
    }
}

impl Default for Pickers {
    fn default() -> Self {
        Self {
            count: NonZeroU32::MIN,
            scrape_ms: Millis::default(),
            scrape_delay_ms: Millis::default(),
            phases: Phases::default(),
            assignment: Assignment::default(),
            destinations: None,
            prefill_tokens_per_second: None,
        }
    }
}

/// The name of the case of a scenario that has no cases.
pub const ONLY_CASE: &str = "all";

#[cfg(test)]
mod tests;
