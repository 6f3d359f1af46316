//! Requests that no engine could serve, and requests that are none of the picker's business.

use http::{HeaderValue, Request, StatusCode};
use pointsman_e2e::body::whole;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{self, ENGINE};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::exposition;

#[tokio::test(flavor = "multi_thread")]
async fn failure_b09_a_body_that_is_no_chat_is_refused_with_400_and_a_json_error() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for (body, code, param) in [
            (r#"{"model": "m", "messages": ["#, "invalid_json", None),
            ("not JSON at all", "invalid_json", None),
            (r#"["a list"]"#, "invalid_body", None),
            (
                r#"{"messages": [{"role": "user", "content": "Hi"}]}"#,
                "missing_required_parameter",
                Some("model"),
            ),
            (
                r#"{"model": "m", "messages": []}"#,
                "invalid_value",
                Some("messages"),
            ),
            (
                r#"{"model": "m"}"#,
                "missing_required_parameter",
                Some("messages"),
            ),
            (
                r#"{"model": 7, "messages": [{"role": "user", "content": "Hi"}]}"#,
                "invalid_type",
                Some("model"),
            ),
        ] {
            let reply = client.post(chat::PATH, body).await.unwrap();
            assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body}");
            assert_eq!(reply.header("content-type"), Some("application/json"));
            assert_eq!(reply.header(ENGINE), None, "no engine was asked");
            let error = reply.json().unwrap()["error"].clone();
            assert_eq!(error["code"], code, "{body}: {error}");
            assert_eq!(error["param"].as_str(), param, "{body}: {error}");
            assert_eq!(error["type"], "invalid_request_error");
        }
    }
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], 0.0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_refusal_has_the_form_that_its_caller_reads() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(0)).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let body = r#"{"model": "m", "messages": [{"role": "user", "content": "Hi"}]}"#;
        let refused = client.post(chat::PATH, body).await.unwrap();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        let error = refused.json().unwrap()["error"].clone();
        assert_eq!(error["type"], "service_unavailable", "{error}");

        for path in ["/v1/messages", "/v1/messages/count_tokens"] {
            let refused = client.post(path, body).await.unwrap();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
            let error = refused.json().unwrap();
            assert_eq!(error["type"], "error", "{error}");
            assert_eq!(error["error"]["type"], "overloaded_error", "{error}");
            let rejected = client.post(path, r#"{"model": "m"}"#).await.unwrap();
            assert_eq!(rejected.status, StatusCode::BAD_REQUEST);
            let error = rejected.json().unwrap();
            assert_eq!(error["error"]["type"], "invalid_request_error", "{error}");
        }
    }
    // gRPC needs HTTP/2, and has no use for other statuses of HTTP than 200.
    let client = Client::new(stack.address(), Protocol::Http2);
    let mut call = post(whole(&b"\0\0\0\0\0"[..]));
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        let value = HeaderValue::from_static(value);
        call.headers_mut().insert(name, value);
    }
    let path = "/vllm.grpc.engine.VllmEngine/Generate";
    let refused = client.send(path, call).await.unwrap();
    assert_eq!(refused.status, StatusCode::OK);
    assert_eq!(refused.header("content-type"), Some("application/grpc"));
    assert_eq!(refused.header("grpc-status"), Some("14"), "{refused:?}");
    let message = refused.header("grpc-message").unwrap();
    assert!(message.contains("no endpoint"), "{message}");
    assert!(refused.body.is_empty(), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_path_that_is_no_dialect_passes_to_an_engine_as_it_is() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(2)).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let models = client.get("/v1/models").await.unwrap();
        assert_eq!(models.status, StatusCode::OK);
        assert_eq!(models.json().unwrap()["data"][0]["id"], chat::MODEL);
        engine_answered(&models);

        let unknown = client.post("/v1/unknown", "}} garbage {{").await.unwrap();
        assert_eq!(unknown.status, StatusCode::NOT_FOUND);
        engine_answered(&unknown);

        let head = Request::head("/").body(whole("")).unwrap();
        let head = client.send("/v1/models", head).await.unwrap();
        assert_eq!(head.status, StatusCode::METHOD_NOT_ALLOWED);
        engine_answered(&head);

        let unknown_model =
            r#"{"model": "other", "messages": [{"role": "user", "content": "Hi"}]}"#;
        let reply = client.post(chat::PATH, unknown_model).await.unwrap();
        assert_eq!(
            reply.status,
            StatusCode::NOT_FOUND,
            "that is for the engine to say"
        );
        engine_answered(&reply);
    }
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], 8.0).unwrap();
}

fn engine_answered(reply: &Reply) {
    assert!(
        reply
            .header(ENGINE)
            .is_some_and(|engine| engine.starts_with("engine-"))
    );
}
