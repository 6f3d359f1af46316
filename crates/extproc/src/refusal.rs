//! What a client is told when its request is not sent to an engine: the one place where refusals
//! become HTTP.
//!
//! Overload and empty pools are answers of ours, never errors of the ext_proc stream, as those would
//! make the gateway apply its own failure mode. The body has the form of OpenAI's errors.

use bytes::Bytes;
use pointsman_domain::decision::Refusal;
use pointsman_request::rejection::Rejection;
use serde_json::json;

/// Why a request is answered here.
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
    /// Nothing more of its body came for too long.
    BodyStalled,
}

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// Headers by lower-case name.
    pub headers: Vec<(&'static str, &'static str)>,
    /// A JSON object.
    pub body: Bytes,
    /// One word for the gateway's access log.
    pub details: &'static str,
}

/// The answer for `cause`.
pub fn answer(cause: Cause<'_>) -> Answer {
    match cause {
        Cause::Refused(refusal) => refused(refusal),
        Cause::Rejected(rejection) => error(
            &Error {
                status: 400,
                kind: INVALID_REQUEST,
                code: rejection_code(rejection),
                param: rejection.field(),
            },
            &rejection.to_string(),
        ),
        Cause::BodyTooLarge { bytes_max } => error(
            &Error {
                status: 413,
                kind: INVALID_REQUEST,
                code: "request_too_large",
                param: None,
            },
            &format!("the body is larger than {bytes_max} bytes: send a smaller one"),
        ),
        Cause::BodyStalled => error(
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

fn refused(refusal: Refusal) -> Answer {
    let (status, kind, message) = match refusal {
        Refusal::NoEndpoints => (503, UNAVAILABLE, "no endpoint can serve this request"),
        Refusal::NoEndpointsInTime => (503, UNAVAILABLE, "no endpoint became available in time"),
        Refusal::ShuttingDown => (503, UNAVAILABLE, "the endpoint picker is ending: try again"),
        Refusal::HoldFull => (429, OVERLOADED, "too many requests wait: try again later"),
        Refusal::Saturated => (
            429,
            OVERLOADED,
            "all endpoints are saturated: try again later",
        ),
    };
    let error_fields = Error {
        status,
        kind,
        code: refusal.reason(),
        param: None,
    };
    let mut answer = error(&error_fields, message);
    answer
        .headers
        .push((DROPPED_REASON_HEADER, refusal.reason()));
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

fn error(fields: &Error, message: &str) -> Answer {
    let body = json!({
        "error": {
            "message": message,
            "type": fields.kind,
            "param": fields.param,
            "code": fields.code,
        }
    });
    Answer {
        status: fields.status,
        headers: vec![("content-type", "application/json")],
        body: Bytes::from(body.to_string()),
        details: fields.code,
    }
}

const fn rejection_code(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::NotJson { .. } => "invalid_json",
        Rejection::NotAnObject => "invalid_body",
        Rejection::MissingField { .. } => "missing_required_parameter",
        Rejection::WrongType { .. } => "invalid_type",
        Rejection::EmptyField { .. } => "invalid_value",
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
mod tests {
    use serde_json::Value;

    use super::*;

    fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
        let mut found = answer.headers.iter().filter(|header| header.0 == name);
        let value = found.next().map(|header| header.1);
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    fn error_of(answer: &Answer) -> Value {
        assert_eq!(header(answer, "content-type"), Some("application/json"));
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body.as_object().unwrap().len(), 1);
        body["error"].clone()
    }

    #[test]
    fn every_refusal_has_its_status_and_tells_its_reason() {
        let statuses = Refusal::ALL.map(|refusal| {
            let answer = answer(Cause::Refused(refusal));
            let reason = refusal.reason();
            assert_eq!(header(&answer, DROPPED_REASON_HEADER), Some(reason));
            assert_eq!(error_of(&answer)["code"], reason);
            let retry_after = header(&answer, "retry-after");
            assert_eq!(retry_after.is_some(), answer.status == 429, "{refusal:?}");
            (refusal, answer.status)
        });
        assert_eq!(
            statuses,
            [
                (Refusal::NoEndpoints, 503),
                (Refusal::NoEndpointsInTime, 503),
                (Refusal::HoldFull, 429),
                (Refusal::Saturated, 429),
                (Refusal::ShuttingDown, 503),
            ]
        );
    }

    #[test]
    fn b09_a_rejected_body_is_a_400_that_names_the_field() {
        let rejection = Rejection::MissingField {
            field: "messages",
            expected: "an array",
        };
        let answer = answer(Cause::Rejected(&rejection));
        assert_eq!(answer.status, 400);
        let error = error_of(&answer);
        assert_eq!(error["param"], "messages");
        assert_eq!(error["type"], "invalid_request_error");
        assert_eq!(error["code"], "missing_required_parameter");
        assert_eq!(error["message"], rejection.to_string());
        assert_eq!(header(&answer, DROPPED_REASON_HEADER), None);
    }

    #[test]
    fn b22_a_body_over_the_limit_is_a_413_that_tells_the_limit() {
        let answer = answer(Cause::BodyTooLarge { bytes_max: 4096 });
        assert_eq!(answer.status, 413);
        let error = error_of(&answer);
        assert_eq!(error["param"], Value::Null);
        assert!(error["message"].as_str().unwrap().contains("4096"));
    }

    #[test]
    fn a_body_that_stalls_is_a_408() {
        let answer = answer(Cause::BodyStalled);
        assert_eq!(answer.status, 408);
        assert_eq!(error_of(&answer)["code"], "request_timeout");
        assert_eq!(error_of(&answer)["type"], "invalid_request_error");
        assert_eq!(header(&answer, DROPPED_REASON_HEADER), None);
    }
}
