//! admission.
