//! From what users write to what runs: every default, range and cross-field rule, once.
//!
//! Job: read a configuration (`api` types or their text) into a
//! [`pipeline`](pointsman_pipeline::config::RuntimeConfig) configuration, read an endpoints file and
//! model rewrites, and render the reference of all of it. Not its job: reading files, watching them, or keeping the
//! last good one (`server` does).
//!
//! Read first: [`config::compile`] and [`problem::Problems`].
//!
//! Invariants: compiling is total (any text gives a value or problems, never a panic); all problems
//! of a text are told at once, each with the path of its field and the remedy; what is accepted
//! without effect is a warning; the reference is rendered from the tables that do the reading.
//!
//! To add a plugin: its file in `plugin/`, its line in `registry.rs`, and `cargo xtask generate`.

pub mod config;
pub mod duration;
pub mod endpoints;
pub mod problem;
pub mod quantity;
pub mod reference;
pub mod rewrites;

mod document;
mod fields;
mod parameter;
mod plugin;
mod registry;
