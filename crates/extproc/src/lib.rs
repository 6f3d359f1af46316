//! One ext_proc stream as a state machine: messages in, actions out.
//!
//! Job: Envoy's external processing protocol and the Endpoint Picker Protocol on top of it, for one
//! HTTP request: when to answer which message in which body mode, what the answers look like, and
//! what the response phase tells. Not its job: where a request goes (`pipeline`), what a body means
//! (`request`, `observe`), and anything that waits, sleeps or sends (`server`).
//!
//! Read first: [`stream::Stream`] and [`stream::Action`].
//!
//! Invariants, for any order of messages: at most one [`stream::Action::Ask`]; at most one
//! [`stream::Action::Ended`], and exactly one once the stream is closed; in each direction at most
//! one end of stream among the body pieces; nothing is answered after an immediate response; body
//! bytes are passed on by reference and never changed.

pub mod refusal;
pub mod reply;
pub mod stream;

mod headers;
mod held;
mod metadata;
mod modes;
