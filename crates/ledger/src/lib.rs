//! Every request in flight and the load that it reserves at its endpoint.
//!
//! Job: own load per endpoint, exactly, at any time; what part of an engine's report is not ours, and
//! what we did since. Not its job: choosing an endpoint, learning rates, reading reports.
//!
//! Read first: [`reservations::Ledger`] and [`reservations::Reservation`].
//!
//! Invariants: a reservation is released once, by its own id, and by nothing else; the own load of an
//! endpoint is the sum of its reservations, each by how far it has come; a request never goes back;
//! a release for an earlier life of an endpoint changes nothing in its present one.

pub mod account;
pub mod reservations;

mod clock;
