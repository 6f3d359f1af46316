//! request.
