//! The pool through its door: decisions, holding, lives and ends.

mod builders;
mod caches;
mod ends;
mod holding;
mod learning;
mod lives;
mod model;
mod observations;
mod panics;
mod rewrites;
mod spread;
mod views;
