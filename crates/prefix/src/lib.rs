//! prefix.
