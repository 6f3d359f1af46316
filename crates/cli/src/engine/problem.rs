//! A request that is not served, in OpenAI's form.

use core::fmt;

use http::StatusCode;
use pointsman_engine::job::Refusal;
use serde_json::json;

/// Why a request is not served.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    kind: &'static str,
    message: String,
    param: Option<&'static str>,
}

impl Problem {
    /// The request is wrong, in `param` if one member is to blame.
    pub(crate) fn bad_request(message: impl Into<String>, param: Option<&'static str>) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            kind: "BadRequestError",
            message: message.into(),
            param,
        }
    }

    /// The model is not served here.
    pub(crate) fn unknown_model(model: &str) -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            kind: "NotFoundError",
            message: format!("The model `{model}` does not exist."),
            param: Some("model"),
        }
    }

    /// Anything else that a status says well enough.
    pub(crate) fn status(status: StatusCode) -> Self {
        Self {
            status,
            kind: match status {
                StatusCode::NOT_FOUND => "NotFoundError",
                status if status.is_client_error() => "BadRequestError",
                _ => "InternalServerError",
            },
            message: status.canonical_reason().unwrap_or("Error").to_owned(),
            param: None,
        }
    }

    /// The same with another message.
    pub(crate) fn because(self, message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..self
        }
    }

    /// The same under another name.
    pub(crate) fn of_kind(self, kind: &'static str) -> Self {
        Self { kind, ..self }
    }

    /// The body of the answer.
    pub(crate) fn body(&self) -> String {
        json!({
            "error": {
                "message": self.message,
                "type": self.kind,
                "param": self.param,
                "code": self.status.as_u16(),
            }
        })
        .to_string()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for Problem {}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Oversized { .. } => Self::bad_request(refusal.to_string(), None),
            Refusal::QueueFull { .. } => {
                Self::status(StatusCode::SERVICE_UNAVAILABLE).because(refusal.to_string())
            }
        }
    }
}
