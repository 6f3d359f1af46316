//! What clients ask for: every request of a run, planned before the run begins.
//!
//! A plan depends on the scenario and the seed alone, never on what a policy does with it, so two
//! policies under one seed meet the same requests. Only when a request of a session comes depends on
//! the run: its think time begins when the request before it has ended.

pub mod arrivals;
mod choice;
pub mod distribution;
pub mod fan_out;
pub mod list;
pub mod mix;
pub mod number;
mod planner;
pub mod rag;
pub mod sessions;
pub mod spec;
pub mod trace;

use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::BlockKey;
use pointsman_domain::time::Timestamp;
use pointsman_engine::job::AdapterId;
use rand_pcg::Pcg64Mcg;

use self::planner::{Names, Planner};
use self::spec::WorkloadSpec;

/// All requests of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    /// Every request; others name them by their place here.
    pub plans: Vec<Plan>,
    /// Requests that come at a time of their own, in the order of these times.
    pub arrivals: Vec<Arrival>,
}

/// A request that comes at a time of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it comes.
    pub at: Timestamp,
    /// Its place among the plans.
    pub plan: usize,
}

/// One request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The parts of the prompt that other requests may share, from its beginning on. What is left of
    /// the prompt behind the last one is this request's own.
    pub pieces: Vec<Piece>,
    /// Tokens of the whole prompt.
    pub prompt_tokens: NonZeroU32,
    /// Tokens that the engine generates.
    pub output_tokens: NonZeroU32,
    /// The LoRA adapter that it asks for.
    pub adapter: Option<AdapterId>,
    /// Which class of the workload it belongs to, in the order of the specification.
    pub class: usize,
    /// The session that it belongs to.
    pub session: Option<u32>,
    /// The request that follows when this one has ended.
    pub next: Option<Next>,
}

/// A part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Names the whole prompt from its beginning to the end of this part.
    pub key: BlockKey,
    /// Tokens of the prompt up to the end of this part.
    pub end_tokens: u32,
}

/// What follows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Next {
    /// The time between the end of the one and the start of the other.
    pub think: Duration,
    /// The place of the next among the plans.
    pub plan: usize,
}

impl Workload {
    /// Plans all requests of `specs`, side by side. All randomness comes from `rng`.
    ///
    /// No two specifications share prompts or sessions.
    pub fn plan(specs: &[WorkloadSpec], rng: &mut Pcg64Mcg) -> Self {
        let mut workload = Self::default();
        let mut names = Names::default();
        for spec in specs {
            spec.plan(&mut Planner::new(&mut workload, &mut names, rng));
            names.end_spec(spec.class_names().len());
        }
        // What comes at one time stays in the order of the specifications.
        workload.arrivals.sort_by_key(|arrival| arrival.at);
        workload
    }
}

#[cfg(test)]
mod tests;
