//! Who may go now, who waits, and who is told no.
//!
//! Job: hold requests that cannot be sent yet, within limits, and say whose time is over. Not its
//! job: which endpoint is best (`schedule`), nor what a stream or a body is. Bands, fairness and
//! saturation come here later; today a request waits for one reason only, that the pool is empty.
//!
//! Read first: [`hold::Hold`] and [`hold::HoldLimits`].
//!
//! Invariants: a held request leaves exactly once (released, withdrawn or expired); requests leave in
//! the order they came; the limits on requests and bytes are never passed.

pub mod hold;
