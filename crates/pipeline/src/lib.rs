//! One pool: the stages in their order, behind one door.
//!
//! Job: keep the endpoints and requests of one pool, run each request through admission and
//! scheduling, and reserve its load in the same step. Not its job: streams, bodies, locks, clocks
//! and sleeping (`server` and `lab` have those), and the meaning of configuration (`policy`).
//!
//! Read first: [`pool::Pool`] and [`pool::Input`].
//!
//! Invariants: each offered request gets at most one decision, and a picked one is completed exactly
//! once; a
//! decision and its reservation are one step; the same inputs, times and seed give the same outputs.

pub mod config;
pub mod pool;
pub mod record;
pub mod rewrite;

mod ejection;
mod endpoints;
