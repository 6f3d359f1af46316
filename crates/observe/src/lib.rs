//! The bytes of a response as they pass: how far the answer is, what the engine counted, how loaded it
//! says that it is, and under which name the client knows the model.
//!
//! Job: read each piece of a response once and tell what is new in it; write one member of it anew.
//! Not its job: to judge a response or to hold it up. Whatever cannot be read says nothing, and the
//! client's bytes go on without waiting for this crate.
//!
//! Read first: [`reader::Reader`] and [`reader::Expected`]; then [`model::ModelRestorer`].
//!
//! Invariants: how the body is cut into pieces changes nothing; memory is bounded, and none is taken
//! for a piece that ends with its event; no input panics.

pub mod model;
pub mod orca;
pub mod reader;

mod assembly;
mod counts;
mod event;
mod frames;
mod needles;
mod sight;
mod split;
mod word;
