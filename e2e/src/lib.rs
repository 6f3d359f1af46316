//! What the end-to-end tests share: a place for one test's processes, clients, and a bare backend.
//!
//! Job: to start real processes for one test, to speak to them as clients and gateways do, and to
//! wait for real conditions with a bound. Not its job: to start a process (`pointsman-cli`'s harness
//! does), or to judge (the tests do).
//!
//! Read first: [`case::Case`] (one test's place) and [`client::Client`] (one user of the gateway).
//!
//! Invariants: every wait has a bound and says what it waited for; what a test started ends with it;
//! a failed test keeps its folder and prints the ends of the logs in it.

pub mod backend;
pub mod body;
pub mod case;
pub mod chat;
pub mod client;
pub mod coding;
pub mod exposition;
pub mod frames;
pub mod gateway;
pub mod traffic;
pub mod wait;
pub mod wire;
