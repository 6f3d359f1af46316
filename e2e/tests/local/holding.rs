//! Pools without endpoints.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::StackOptions;
use pointsman_e2e::body::whole;
use pointsman_e2e::case::{Case, arguments, quick};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::{exposition, wait};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_request_held_for_two_seconds_is_sent_when_an_endpoint_appears() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(holding("60s")).await.unwrap();
    let mut requests = JoinSet::new();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        for form in [Form::Plain, Form::Stream] {
            let client = Client::new(stack.address(), protocol);
            requests.spawn(async move { client.chat(&Chat::new("Are you there?", 8), form).await });
        }
    }
    let held = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], 4.0)
    };
    wait::until("all requests are held", Duration::from_secs(5), held)
        .await
        .unwrap();
    // The two seconds of the promise.
    sleep(Duration::from_secs(2)).await;
    assert!(
        requests.try_join_next().is_none(),
        "nothing is answered without an endpoint"
    );

    let engine = Engine::start("engine-late", &[], case.folder())
        .await
        .unwrap();
    stack.engines.push(engine);
    stack.publish().await.unwrap();
    for answer in requests.join_all().await {
        assert_eq!(answer.unwrap().engine, "engine-late");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_request_held_for_too_long_is_refused_with_503_and_the_reason() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(holding("500ms")).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http1);
    let sent = Instant::now();
    let reply = client
        .post(chat::PATH, Chat::new("Hello?", 1).body(Form::Plain))
        .await
        .unwrap();
    assert!(
        sent.elapsed() >= Duration::from_millis(500),
        "after {:?}",
        sent.elapsed()
    );
    assert_no_endpoints(&reply);
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_without_flow_control_an_empty_pool_refuses_at_once() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(0)).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let sent = Instant::now();
        let body = Chat::new("Hello?", 1).body(Form::Plain);
        let reply = client.post(chat::PATH, body).await.unwrap();
        assert!(
            sent.elapsed() < Duration::from_secs(2),
            "after {:?}",
            sent.elapsed()
        );
        assert_no_endpoints(&reply);
        assert_no_endpoints(&client.get("/v1/models").await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b23_bodies_beyond_the_memory_for_held_ones_are_refused_with_429() {
    let case = Case::begin().await.unwrap();
    let mut options = holding("60s");
    options.picker.arguments = arguments(&["--held-bytes-max=100Ki"]);
    let stack = case.stack(options).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let body = Chat::new(&"word".repeat(20 << 10), 1).body(Form::Plain);
    let held = client.clone();
    let (first, mut waiting) = (body.clone(), JoinSet::new());
    waiting.spawn(async move { held.post(chat::PATH, first).await });
    let is_held = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], 1.0)
    };
    wait::until("the first is held", Duration::from_secs(5), is_held)
        .await
        .unwrap();

    let refused = client.post(chat::PATH, body).await.unwrap();
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert!(refused.header("retry-after").is_some());
    let reason = refused.header("x-llm-d-request-dropped-reason");
    assert_eq!(reason, Some("rejected-saturated"));
    assert_eq!(
        refused.json().unwrap()["error"]["code"],
        "rejected-saturated"
    );
    is_held().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_more_than_may_wait_is_refused_with_429_in_the_form_of_its_caller() {
    let case = Case::begin().await.unwrap();
    let mut options = holding("60s");
    options.picker.configuration["flowControl"]["maxRequests"] = json!(1);
    let mut stack = case.stack(options).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let first = client.clone();
    let mut waiting = JoinSet::new();
    waiting.spawn(async move { first.chat(&Chat::new("Hello?", 1), Form::Plain).await });
    let is_held = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], 1.0)
    };
    wait::until("the first is held", Duration::from_secs(5), is_held)
        .await
        .unwrap();

    let body = Chat::new("Me too?", 1).body(Form::Plain);
    for path in [chat::PATH, "/v1/messages", "/v1/unknown"] {
        let refused = client.post(path, body.clone()).await.unwrap();
        assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{path}");
        let wait: u32 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!(wait > 0, "{path}");
        let reason = refused.header("x-llm-d-request-dropped-reason");
        assert_eq!(reason, Some("rejected-saturated"), "{path}");
        let error = refused.json().unwrap();
        assert_eq!(error["error"]["type"], "rate_limit_error", "{error}");
        let of_anthropic = error["type"] == "error";
        assert_eq!(of_anthropic, path == "/v1/messages", "{error}");
    }
    let mut call = post(whole(&b"\0\0\0\0\0"[..]));
    for (name, value) in [("content-type", "application/grpc"), ("te", "trailers")] {
        let value = HeaderValue::from_static(value);
        call.headers_mut().insert(name, value);
    }
    let path = "/vllm.grpc.engine.VllmEngine/Generate";
    let refused = client.send(path, call).await.unwrap();
    assert_eq!(refused.header("grpc-status"), Some("8"), "{refused:?}");

    // Those that were refused took nothing from the one that waits.
    is_held().await.unwrap();
    let engine = Engine::start("engine-late", &[], case.folder())
        .await
        .unwrap();
    stack.engines.push(engine);
    stack.publish().await.unwrap();
    let answer = waiting.join_next().await.unwrap().unwrap();
    assert_eq!(answer.unwrap().engine, "engine-late");
}

/// A setup without engines in which requests wait for so long.
fn holding(wait: &str) -> StackOptions {
    StackOptions {
        picker: PickerOptions::with_configuration(json!({
            "featureGates": ["flowControl"],
            "flowControl": { "noEndpointRequestTTL": wait },
        })),
        ..quick(0)
    }
}

fn assert_no_endpoints(reply: &Reply) {
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    let reason = reply.header("x-llm-d-request-dropped-reason");
    assert_eq!(reason, Some("rejected-no-endpoints"));
    let error = reply.json().expect("a JSON error")["error"].clone();
    assert_eq!(error["code"], "rejected-no-endpoints");
}
