//! What users write: the types of the configuration file, of the endpoints file and of Kubernetes
//! objects.
//!
//! Job: the shape of the files, as serde types. Not its job: defaults, ranges and what the fields
//! mean (`policy` has all of that), and reading text (so that every problem of a file can be told at
//! once, `policy` builds these types by hand; serde serves whoever writes or stores them).
//!
//! Read first: [`picker_config::EndpointPickerConfig`] and [`endpoints_file::EndpointsFile`];
//! [`model_rewrite::InferenceModelRewrite`] is the first of the objects.
//!
//! Invariants: a type holds what was written and nothing that was worked out; a field that was not
//! written is absent; durations and quantities stay text.

pub mod endpoints_file;
pub mod model_rewrite;
pub mod picker_config;

mod scalar;
