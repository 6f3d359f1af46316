//! Why a body cannot be routed as what its path says it is.

use pointsman_json::lexer::Fault;
use thiserror::Error;

/// A fault of the client's body. The text names field and remedy, and never anything that the
/// client sent, so that it can go into answers and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Rejection {
    /// The body does not parse.
    #[error("the body is not valid JSON ({fault}): send one JSON object in UTF-8")]
    NotJson {
        /// What is wrong, and after how many bytes.
        fault: Fault,
    },
    /// The body is JSON of another kind.
    #[error("the body is JSON but not an object: send one JSON object")]
    NotAnObject,
    /// A field that routing needs is not there.
    #[error("the field `{field}` is missing: add it as {expected}")]
    MissingField {
        /// Name of the field.
        field: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// A field that routing needs has another type.
    #[error("the field `{field}` has a wrong type: make it {expected}")]
    WrongType {
        /// Name of the field.
        field: &'static str,
        /// What would be right.
        expected: &'static str,
    },
    /// A field that routing needs says nothing.
    #[error("the field `{field}` is empty: make it {expected}")]
    EmptyField {
        /// Name of the field.
        field: &'static str,
        /// What would be right.
        expected: &'static str,
    },
}

impl Rejection {
    /// The field at fault, for error bodies that name it apart from the text.
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::NotJson { .. } | Self::NotAnObject => None,
            Self::MissingField { field, .. }
            | Self::WrongType { field, .. }
            | Self::EmptyField { field, .. } => Some(field),
        }
    }
}
