//! A discrete-event simulator around the picker's own pool.
//!
//! Job: run a scenario (engines, clients, pickers with their own stale views, faults) under a policy
//! and a seed, check at each step that nothing is lost, and measure what came out. Not its job: any
//! policy (a policy is a picker configuration, compiled and run as in the server), files and threads
//! (`cli` has those).
//!
//! Read first: [`scenario::Scenario`] (what is simulated) and [`world::World`] (the loop).
//!
//! Invariants: the same scenario, policy and seed give the same outcome, to the last bit; requests
//! are planned before the run, so policies under one seed meet the same requests; the pool is used
//! through its door only.

pub mod builtin;
pub mod check;
pub mod explain;
pub mod measure;
pub mod outcome;
pub mod policy;
mod prompt;
pub mod replay;
pub mod scenario;
pub mod workload;
pub mod world;
