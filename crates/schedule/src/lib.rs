//! Which endpoint is best for a request.
//!
//! Job: score the candidates of one request and pick from them, as a profile says. Not its job:
//! who is a candidate, whether the request may go at all, and keeping any load (`pipeline`,
//! `admission`, `ledger`).
//!
//! Read first: [`profile::Profile`] (scorers, weights and a picker) and [`candidate::Candidate`]
//! (all that a scorer or picker may know of an endpoint).
//!
//! Invariants: a score is within `0..=1`; a picker returns candidates only, each at most once; the
//! same candidates, profile and random numbers give the same order.
//!
//! To add a scorer or a picker: one file in `scorer/` or `picker/`, one line in its registry, one arm
//! and one row of parameters in `policy`, from which `docs/configuration.md` is generated.

pub mod candidate;
pub mod load_view;
pub mod picker;
pub mod profile;
pub mod question;
pub mod scorer;
