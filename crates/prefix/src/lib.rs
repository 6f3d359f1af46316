//! Who holds which prefix.
//!
//! Job: remember which endpoint holds which prompt blocks, within a hard budget of bytes, and say
//! for a new prompt how many of its first blocks each endpoint holds. Not its job: what a block is
//! (`domain::block` says) and what a match is worth (`schedule` says).
//!
//! Read first: [`index::Index`] (the whole memory) and [`index::Matches`] (the answer to a lookup).
//!
//! Invariants: [`index::Index::bytes`] is never above [`index::Index::bytes_max`] when a call
//! returns; the lives of an endpoint never match for each other; where the index itself lets blocks
//! go, the tail of a prompt leaves before its head, so that what is left is still a prefix.

pub mod index;
