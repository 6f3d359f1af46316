//! `pointsman-epp`: the endpoint picker as a process.
//!
//! Job: sockets, locks, the clock, the seed, tasks and files around the pure stages. Not its job: any
//! decision (`pipeline`), the meaning of messages (`extproc`) or of configuration (`policy`).
//!
//! Read first: [`run::run`] (start, serve, drain) and `session` (one ext_proc stream).
//!
//! Invariants: no lock is held across an await; every task is spawned by `task`; a stream's
//! reservation ends when its session is dropped, however that happens.

pub mod flags;
pub mod run;

mod admin;
mod clock;
mod connections;
mod discovery;
mod eds;
mod feeding;
mod health;
mod held;
mod inbound;
mod metrics;
mod models;
mod picker;
mod pool;
mod record;
mod recording;
mod rollout;
mod scraping;
mod serve;
mod session;
mod task;
mod tls;
