//! What engines tell of themselves, brought in over the network.
//!
//! Job: the loops that read engines' metrics pages and lists of models. Not its job: what a metrics
//! page means (`telemetry` says), what a result changes (whoever is behind [`scrape::Sink`] and
//! [`models::Sink`] decides), and when a loop lives (whoever runs it spawns and cancels it).
//!
//! Read first: [`scrape::Scraper`] (the loop) and [`scrape::Sink`] (where its results go).
//!
//! Invariants: a reading ends within its time-out and holds at most `body_bytes_max` bytes of a page;
//! a slow or failing endpoint is asked less often, never more; every scrape that has begun is
//! reported done or failed, unless its loop was cancelled.

pub mod models;
pub mod page;
pub mod scrape;
