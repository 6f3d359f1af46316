//! extproc.
