//! Headers and body of a request to [`RequestFacts`].
//!
//! Job: say what the picker must know of a request (its form of API, model, prompt blocks, hints
//! and flow) and which headers no client may set, and put another model's name into a body. Not its
//! job: to check a request on behalf of the engine; what routing does not need is neither read nor
//! refused, and but for the model's name a body is never changed.
//!
//! Read first: [`head::Head`] (the headers) and [`read::with_body`] (the body).
//!
//! Invariants: no prompt text leaves this crate, neither in the facts nor in a
//! [`rejection::Rejection`]; how the body is cut into pieces, spaced or ordered at its top level
//! changes nothing; a conversation that grows keeps the hashes of its earlier blocks; no input panics;
//! what is hashed is bounded by the size of the body and by [`BLOCKS_MAX`], and no text is kept but
//! the beginnings of names and the last partial block.
//!
//! [`BLOCKS_MAX`]: pointsman_domain::block::BLOCKS_MAX
//! [`RequestFacts`]: pointsman_domain::facts::RequestFacts

pub mod head;
pub mod owned;
pub mod read;
pub mod rejection;
pub mod rewrite;

#[cfg(test)]
mod fuzz;
