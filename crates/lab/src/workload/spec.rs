//! Workloads as a scenario file describes them.
//!
//! Each is a map with one key, the kind:
//!
//! ```yaml
//! workloads:
//! - mix:
//!     requests: 600
//!     arrivals: {poisson: {mean_gap_ms: 5}}
//!     classes:
//!     - name: short
//!       share: 0.8
//!       prefix: {groups: 6, zipf: 0.8, tokens: {uniform: [400, 480]}}
//!       suffix_tokens: {uniform: [40, 260]}
//!       output_tokens: {around: 80}
//! - sessions:
//!     sessions: 60
//!     arrivals: {poisson: {mean_gap_ms: 14}}
//!     steps: 12
//!     system: {tokens: 1200}
//!     step_tokens: 350
//!     output_tokens: {uniform: [20, 80]}
//!     think_ms: {exponential: {mean: 30}}
//! ```
//!
//! Times are in milliseconds. Wherever a [`Distribution`] is read, a plain number will do.

use pointsman_engine::job::AdapterId;
use rand::Rng;
use serde::Deserialize;

use super::Piece;
use super::choice::Choice;
use super::distribution::Distribution;
use super::fan_out::FanOutSpec;
use super::list::ListSpec;
use super::mix::MixSpec;
use super::number::{Count, Unevenness};
use super::planner::{Planner, beneath};
use super::rag::RagSpec;
use super::sessions::SessionsSpec;
use super::trace::TraceSpec;

/// One workload.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadSpec {
    /// Independent requests of several classes.
    Mix(MixSpec),
    /// Chats and tool agents, whose prompts grow from step to step.
    Sessions(SessionsSpec),
    /// Questions that are answered from retrieved documents.
    Rag(RagSpec),
    /// Parents that send many children at once.
    FanOut(FanOutSpec),
    /// Requests that are written out.
    List(ListSpec),
    /// Requests of a trace file.
    Trace(TraceSpec),
}

/// Beginnings of prompts that requests share: each request has one of them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedPrefix {
    /// How many different ones there are.
    #[serde(default = "one")]
    pub groups: Count,
    /// How uneven their popularity is: that of the n-th is 1/n to the power of this. 0 is even.
    #[serde(default)]
    pub zipf: Unevenness,
    /// Tokens of each, drawn once for each.
    pub tokens: Distribution,
}

/// The LoRA adapters that requests ask for. An adapter's number names the same adapter in all
/// workloads of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adapters {
    /// How many there are.
    pub count: Count,
    /// How uneven their popularity is: that of the n-th is 1/n to the power of this. 0 is even.
    #[serde(default)]
    pub zipf: Unevenness,
}

/// The names of all classes, in the order in which plans number them.
pub fn class_names(specs: &[WorkloadSpec]) -> Vec<String> {
    specs.iter().flat_map(WorkloadSpec::class_names).collect()
}

impl WorkloadSpec {
    /// Reads the file that the workload names, if it names one, and checks what no single field can
    /// tell: that the plan is not larger than [`REQUESTS_MAX`] and [`PIECES_MAX`] allow.
    pub fn load(&mut self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        match self {
            Self::Mix(mix) => mix.check(),
            Self::Sessions(sessions) => sessions.size().check(),
            Self::Rag(rag) => rag.size().check(),
            Self::FanOut(fan_out) => fan_out.size().check(),
            Self::List(list) => list.size().check(),
            Self::Trace(trace) => trace.load(read),
        }
    }

    /// The names of its classes.
    pub fn class_names(&self) -> Vec<String> {
        match self {
            Self::Mix(mix) => mix.class_names(),
            Self::Sessions(sessions) => vec![sessions.name.clone()],
            Self::Rag(rag) => vec![rag.name.clone()],
            Self::FanOut(fan_out) => vec![fan_out.name.clone()],
            Self::List(list) => vec![list.name.clone()],
            Self::Trace(trace) => trace.class_names(),
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        match self {
            Self::Mix(mix) => mix.plan(planner),
            Self::Sessions(sessions) => sessions.plan(planner),
            Self::Rag(rag) => rag.plan(planner),
            Self::FanOut(fan_out) => fan_out.plan(planner),
            Self::List(list) => list.plan(planner),
            Self::Trace(trace) => trace.plan(planner),
        }
    }
}

impl SharedPrefix {
    /// Draws the lengths of all groups. `kind` tells them from other groups of the specification.
    pub(crate) fn choice(self, planner: &mut Planner<'_>, kind: u64) -> Choice<Piece> {
        let root = beneath(planner.root(), kind);
        Choice::zipf(self.groups, self.zipf, |group| Piece {
            key: beneath(root, u64::from(group)),
            end_tokens: self.tokens.draw_whole(&mut planner.lengths).max(1),
        })
    }
}

impl Adapters {
    pub(crate) fn choice(self) -> Choice<AdapterId> {
        Choice::zipf(self.count, self.zipf, AdapterId)
    }
}

/// How large a plan is expected to be.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) requests: f64,
    /// Of all prompts together.
    pub(crate) pieces: f64,
}

impl Size {
    fn check(self) -> Result<(), String> {
        for (what, size, size_max) in [
            ("requests", self.requests, REQUESTS_MAX),
            ("pieces of prompts", self.pieces, PIECES_MAX),
        ] {
            if size > size_max {
                return Err(format!(
                    "the workload has about {size:.0} {what}, at most {size_max:.0} are allowed"
                ));
            }
        }
        Ok(())
    }
}

/// Draws one, if there is a choice.
pub(crate) fn drawn<T: Copy>(choice: Option<&Choice<T>>, rng: &mut impl Rng) -> Option<T> {
    choice.map(|choice| *choice.draw(rng))
}

const fn one() -> Count {
    Count::ONE
}

/// Requests of one workload.
pub const REQUESTS_MAX: f64 = 10e6;

/// Pieces of all prompts of one workload, as each takes memory.
pub const PIECES_MAX: f64 = 50e6;

#[cfg(test)]
mod tests;
