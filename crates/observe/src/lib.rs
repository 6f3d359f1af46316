//! Bytes of a response to the token counts that the engine reports.
//!
//! Job: find the usage in a response body of which every piece is shown once. Not its job: to change,
//! hold or judge the response; whatever cannot be read is no usage, and the client's bytes go on
//! without waiting for this crate.
//!
//! Read first: [`reader::Reader`] and [`reader::ContentKind`].
//!
//! Invariants: how the body is cut into pieces changes nothing; memory is bounded; no input panics.

pub mod reader;

mod usage;
