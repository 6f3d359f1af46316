//! From an engine's metrics page to loads, and from loads to figures of the pool.
//!
//! Job: read the text that engines expose, know which names mean what, keep each endpoint's last
//! known load with its age, and average over a pool. Not its job: fetching pages (`feeds` does) and
//! judging a load (`schedule` does).
//!
//! Read first: [`mapping::Mapping`] (page to sample) and [`load::LoadTracker`] (samples to load).
//!
//! Invariants: any bytes are read without a panic; a value that makes no sense is left out, never
//! turned into a number; the order of a page's lines does not matter; what was missing in one page
//! keeps its last value, and its age says so.

pub mod aggregate;
pub mod cache_trust;
pub mod engines;
pub mod exposition;
pub mod families;
pub mod load;
pub mod mapping;
pub mod metric_spec;
pub mod rates;
pub mod variability;
