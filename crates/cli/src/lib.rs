//! `pointsman`, the command for people: an engine stand-in, a complete local setup, the simulator,
//! benchmarks, configurations.
//!
//! Job: the sockets, files, child processes and output of the commands; the harness that starts
//! engines, picker and Envoy serves both `pointsman up` and the end-to-end tests. Not its job: to
//! decide where a request goes, or how an engine behaves; it starts those who do.
//!
//! Read first: [`harness::stack::Stack`] (a running setup) and [`workload::Workload`] (what it is
//! asked to do).
//!
//! Invariants: every child process ends with the value that owns it; every wait has a bound and
//! says what it waited for; the same seed gives the same workload.

mod bench;
pub mod client;
pub mod command;
pub mod engine;
pub mod envoy;
pub mod envoy_binary;
pub mod harness;
mod lab;
pub mod load;
mod progress;
mod signals;
mod table;
mod task;
pub mod up;
pub mod workload;
