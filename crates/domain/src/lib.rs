//! Nouns and units that every stage shares.
//!
//! Job: the types that travel between stages (facts of a request, loads of an endpoint, decisions,
//! events) and the one definition of a prompt block and its key. Not its job: any policy; nothing
//! here prefers one endpoint to another.
//!
//! Read first: [`facts::RequestFacts`] (what a stage may know of a request) and
//! [`decision::Decision`] (what the pool answers).
//!
//! Invariants: an [`endpoint::EndpointId`] is never reused with the same generation; a
//! [`units::Unit`] is always within `0..=1`; a [`block::BlockKey`] names a whole prefix, not one
//! block.

pub mod adapter;
pub mod block;
pub mod decision;
pub mod endpoint;
pub mod event;
pub mod facts;
mod float;
pub mod load;
pub mod observation;
pub mod time;
pub mod units;
