//! Reads JSON in pieces, as it comes, without keeping any of it.
//!
//! Job: cut a JSON text into tokens, wherever the borders of its pieces fall, and say where in the
//! text each one lies. Not its job: values, trees and types; whoever visits decides what to keep.
//!
//! Read first: [`lexer::Lexer`] and [`lexer::Visit`].
//!
//! Invariants: how the text is cut into pieces changes nothing but the cutting of parts; no input
//! panics; memory is bounded by [`lexer::DEPTH_MAX`] and does not grow with the text.

pub mod lexer;
