//! What a client is told when its request is not sent to an engine: the one place where refusals
//! become HTTP.
//!
//! Overload and empty pools are answers of ours, never errors of the ext_proc stream, as those would
//! make the gateway apply its own failure mode. The body has the form of errors in the request's own
//! dialect, as clients parse it: that of OpenAI, of Anthropic, or a gRPC status.

use bytes::Bytes;
use pointsman_domain::decision::Refusal;
use pointsman_domain::facts::Dialect;
use pointsman_request::rejection::Rejection;
use serde_json::json;

/// Why a request is answered here in place of an engine.
#[derive(Clone, Copy, Debug)]
pub enum Cause<'a> {
    /// The pool, or the process, refused it.
    Refused(Refusal),
    /// Its body cannot be routed.
    Rejected(&'a Rejection),
    /// Its body is longer than a body may be.
    BodyTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// Nothing more of its body came for too long, or all of it took too long.
    BodyStalled,
    /// It was to be sent with another model, and its body is of a form in which that cannot be written.
    ModelFixed,
    /// The picker itself failed at it.
    Failed,
}

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: Vec<(&'static str, &'static str)>,
    /// A JSON object, or the text of a gRPC status.
    pub body: Bytes,
    /// The gRPC status, for a call of gRPC.
    pub grpc_status: Option<u32>,
    /// One word for the gateway's access log.
    pub details: &'static str,
}

/// The answer for `cause` to a request of that dialect.
pub fn answer(dialect: Dialect, cause: Cause<'_>) -> Answer {
    match cause {
        Cause::Refused(refusal) => refused(dialect, refusal),
        Cause::Rejected(rejection) => error(
            dialect,
            &Error {
                status: 400,
                kind: INVALID_REQUEST,
                code: rejection_code(rejection),
                param: rejection.field(),
            },
            &rejection.to_string(),
        ),
        Cause::ModelFixed => error(
            dialect,
            &Error {
                status: 400,
                kind: INVALID_REQUEST,
                code: "model_not_replaceable",
                param: Some("model"),
            },
            "this model has another name here, which cannot be put into a body of this form: \
             send plain JSON",
        ),
        Cause::Failed => error(
            dialect,
            &Error {
                status: 500,
                kind: "api_error",
                code: "internal_error",
                param: None,
            },
            "the endpoint picker failed at this request: send it again",
        ),
        Cause::BodyTooLarge { bytes_max } => error(
            dialect,
            &Error {
                status: 413,
                kind: INVALID_REQUEST,
                code: "request_too_large",
                param: None,
            },
            &format!("the body is larger than {bytes_max} bytes: send a smaller one"),
        ),
        Cause::BodyStalled => error(
            dialect,
            &Error {
                status: 408,
                kind: INVALID_REQUEST,
                code: "request_timeout",
                param: None,
            },
            "the rest of the body did not come in time: send the request again",
        ),
    }
}

/// The models of all engines, as JSON.
pub fn models(list: Bytes) -> Answer {
    Answer {
        status: 200,
        headers: vec![("content-type", "application/json")],
        body: list,
        grpc_status: None,
        details: "models_merged",
    }
}

fn refused(dialect: Dialect, refusal: Refusal) -> Answer {
    let (status, kind, message) = match refusal {
        Refusal::NoEndpoints => (503, UNAVAILABLE, "no endpoint can serve this request"),
        Refusal::NoEndpointsInTime => (503, UNAVAILABLE, "no endpoint became available in time"),
        Refusal::ShuttingDown => (503, UNAVAILABLE, "the endpoint picker is ending: try again"),
        Refusal::ModelMissing => (
            400,
            INVALID_REQUEST,
            "the field `model` is missing: add it as a string that names a model",
        ),
        Refusal::HoldFull => (429, OVERLOADED, "too many requests wait: try again later"),
        Refusal::Saturated => (
            429,
            OVERLOADED,
            "all endpoints are saturated: try again later",
        ),
    };
    let is_client_fault = status == 400;
    let error_fields = Error {
        status,
        kind,
        code: if is_client_fault {
            "missing_required_parameter"
        } else {
            refusal.reason()
        },
        param: is_client_fault.then_some("model"),
    };
    let mut answer = error(dialect, &error_fields, message);
    if !is_client_fault {
        answer
            .headers
            .push((DROPPED_REASON_HEADER, refusal.reason()));
    }
    if status == 429 {
        answer.headers.push(("retry-after", RETRY_AFTER_SECONDS));
    }
    answer
}

struct Error {
    status: u16,
    kind: &'static str,
    code: &'static str,
    param: Option<&'static str>,
}

fn error(dialect: Dialect, fields: &Error, message: &str) -> Answer {
    let (content_type, body, grpc_status) = match dialect {
        Dialect::GrpcGenerate | Dialect::GrpcEmbed => (
            "application/grpc",
            message.to_owned(),
            Some(fields.grpc_status()),
        ),
        Dialect::Messages | Dialect::CountTokens => {
            let error = json!({ "type": fields.anthropic_kind(), "message": message });
            let body = json!({ "type": "error", "error": error });
            ("application/json", body.to_string(), None)
        }
        _ => {
            let error = json!({
                "message": message,
                "type": fields.kind,
                "param": fields.param,
                "code": fields.code,
            });
            (
                "application/json",
                json!({ "error": error }).to_string(),
                None,
            )
        }
    };
    Answer {
        status: fields.status,
        headers: vec![("content-type", content_type)],
        body: Bytes::from(body),
        grpc_status,
        details: fields.code,
    }
}

impl Error {
    /// The word for this error in [Anthropic's form](https://docs.anthropic.com/en/api/errors).
    const fn anthropic_kind(&self) -> &'static str {
        match self.status {
            413 => "request_too_large",
            429 => "rate_limit_error",
            500 => "api_error",
            503 => "overloaded_error",
            _ => "invalid_request_error",
        }
    }

    /// The code of this error as [gRPC](https://grpc.io/docs/guides/status-codes/) counts them.
    const fn grpc_status(&self) -> u32 {
        match self.status {
            408 => 4,
            413 | 429 => 8,
            500 => 13,
            503 => 14,
            _ => 3,
        }
    }
}

const fn rejection_code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::MissingField { .. } => "missing_required_parameter",
        Rejection::WrongType { .. } => "invalid_type",
        Rejection::EmptyField { .. } => "invalid_value",
        Rejection::NotAnObject => "invalid_body",
        _ => "invalid_json",
    }
}

const INVALID_REQUEST: &str = "invalid_request_error";
const UNAVAILABLE: &str = "service_unavailable";
const OVERLOADED: &str = "rate_limit_error";

/// Tells gateways and clients why a request was dropped.
pub const DROPPED_REASON_HEADER: &str = "x-llm-d-request-dropped-reason";

/// Long enough for some requests to finish.
const RETRY_AFTER_SECONDS: &str = "1";

#[cfg(test)]
mod tests;
