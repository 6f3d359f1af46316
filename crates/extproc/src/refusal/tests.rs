use pointsman_domain::block::BlockSize;
use pointsman_request::head::Head;
use pointsman_request::read;
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
        let answer = answer(Dialect::ChatCompletions, Cause::Refused(refusal));
        // A fault of the client's is no drop.
        let dropped = answer.status != 400;
        let reason = dropped.then(|| refusal.reason());
        assert_eq!(header(&answer, DROPPED_REASON_HEADER), reason);
        assert!(reason.is_none_or(|reason| error_of(&answer)["code"] == reason));
        assert_eq!(error_of(&answer)["param"] == "model", !dropped);
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
            (Refusal::ModelMissing, 400),
        ]
    );
}

#[test]
fn b09_a_rejected_body_is_a_400_that_names_the_field() {
    let rejection = Rejection::MissingField {
        field: "messages",
        expected: "an array",
    };
    let answer = answer(Dialect::ChatCompletions, Cause::Rejected(&rejection));
    assert_eq!(answer.status, 400);
    let error = error_of(&answer);
    assert_eq!(error["param"], "messages");
    assert_eq!(error["type"], "invalid_request_error");
    assert_eq!(error["code"], "missing_required_parameter");
    assert_eq!(error["message"], rejection.to_string());
    assert_eq!(header(&answer, DROPPED_REASON_HEADER), None);
}

#[test]
fn b09_each_kind_of_rejection_has_its_code() {
    let code = |body: &'static str| {
        let mut head = Head::new();
        head.header(":method", b"POST");
        head.header(":path", b"/v1/chat/completions");
        let body = [Bytes::from_static(body.as_bytes())];
        let rejection = read::with_body(&head, &body, BlockSize::DEFAULT).unwrap_err();
        let answer = answer(Dialect::ChatCompletions, Cause::Rejected(&rejection));
        error_of(&answer)["code"].as_str().unwrap().to_owned()
    };
    assert_eq!(code("{"), "invalid_json");
    assert_eq!(code("[]"), "invalid_body");
    assert_eq!(code("{}"), "missing_required_parameter");
    assert_eq!(code(r#"{"model":"m","messages":"x"}"#), "invalid_type");
    assert_eq!(code(r#"{"model":"m","messages":[]}"#), "invalid_value");
}

#[test]
fn b22_a_body_over_the_limit_is_a_413_that_tells_the_limit() {
    let answer = answer(
        Dialect::ChatCompletions,
        Cause::BodyTooLarge { bytes_max: 4096 },
    );
    assert_eq!(answer.status, 413);
    let error = error_of(&answer);
    assert_eq!(error["param"], Value::Null);
    assert!(error["message"].as_str().unwrap().contains("4096"));
}

#[test]
fn a_body_that_stalls_is_a_408() {
    let answer = answer(Dialect::ChatCompletions, Cause::BodyStalled);
    assert_eq!(answer.status, 408);
    assert_eq!(error_of(&answer)["code"], "request_timeout");
    assert_eq!(error_of(&answer)["type"], "invalid_request_error");
    assert_eq!(header(&answer, DROPPED_REASON_HEADER), None);
}

#[test]
fn an_anthropic_client_gets_errors_in_its_own_form() {
    for (cause, status, kind) in [
        (
            Cause::Refused(Refusal::NoEndpoints),
            503,
            "overloaded_error",
        ),
        (Cause::Refused(Refusal::HoldFull), 429, "rate_limit_error"),
        (
            Cause::BodyTooLarge { bytes_max: 1 },
            413,
            "request_too_large",
        ),
        (Cause::ModelFixed, 400, "invalid_request_error"),
        (Cause::Failed, 500, "api_error"),
    ] {
        for dialect in [Dialect::Messages, Dialect::CountTokens] {
            let answer = answer(dialect, cause);
            assert_eq!(answer.status, status);
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            assert_eq!(body["type"], "error");
            assert_eq!(body["error"]["type"], kind);
            assert!(body["error"]["message"].is_string());
        }
    }
}

#[test]
fn a_grpc_client_gets_a_grpc_status_and_its_text() {
    for (cause, status) in [
        (Cause::Refused(Refusal::NoEndpoints), 14),
        (Cause::Refused(Refusal::HoldFull), 8),
        (Cause::BodyStalled, 4),
        (Cause::ModelFixed, 3),
        (Cause::Failed, 13),
    ] {
        let answer = answer(Dialect::GrpcGenerate, cause);
        assert_eq!(answer.grpc_status, Some(status));
        assert_eq!(header(&answer, "content-type"), Some("application/grpc"));
        assert!(!answer.body.starts_with(b"{"));
    }
}
