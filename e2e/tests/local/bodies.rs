//! Bodies at and over the cap, in many pieces, and with trailers.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use pointsman_e2e::backend::Backend;
use pointsman_e2e::body::{in_pieces, whole, with_trailers};
use pointsman_e2e::case::{Case, arguments, quick};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, Reply, post};

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_body_over_the_cap_is_refused_with_413_however_it_is_sent() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(1);
    options.picker.arguments = arguments(&["--body-bytes-max=64Ki"]);
    options.envoy.body_bytes_max = 64 << 10;
    let stack = case.stack(options).await.unwrap();
    let cap = 64 << 10;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let fits = client.post(chat::PATH, chat::body_of(cap)).await.unwrap();
        assert_eq!(fits.status, StatusCode::OK, "{protocol:?} at the cap");

        let over = client
            .post(chat::PATH, chat::body_of(cap + 1))
            .await
            .unwrap();
        assert_too_large(&over, "65536");
        let request = post(in_pieces(&chat::body_of(cap + 1), 10_000));
        let over = client.send(chat::PATH, request).await.unwrap();
        assert_too_large(&over, "65536");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b22_by_default_31_mebibytes_pass_and_one_byte_more_than_32_does_not() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(1);
    options.engine_arguments = arguments(&[
        "--blocks=1000000",
        "--prefill-tokens-per-second=4000000000",
        "--prefill-tokens-per-step=4000000000",
        "--decode-step-ms=1",
    ]);
    let stack = case.stack(options).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http1);

    let body = chat::body_of(31 << 20);
    let passed = client.post(chat::PATH, body.clone()).await.unwrap();
    assert_eq!(passed.status, StatusCode::OK);
    let prompt_tokens = passed.json().unwrap()["usage"]["prompt_tokens"]
        .as_u64()
        .unwrap();
    let text_tokens = body.len() as u64 / 4;
    assert!(
        prompt_tokens > text_tokens - 100,
        "the engine read all of it: {prompt_tokens}"
    );

    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let over = client
            .post(chat::PATH, chat::body_of((32 << 20) + 1))
            .await
            .unwrap();
        assert_too_large(&over, "33554432");
        let request = post(in_pieces(&chat::body_of((32 << 20) + 1), 1 << 20));
        let over = client.send(chat::PATH, request).await.unwrap();
        assert_too_large(&over, "33554432");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b21_b23_large_bodies_reach_the_engine_unchanged() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(0)).await.unwrap();
    let backend = Backend::start("backend").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    let mut sent = Vec::new();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for bytes in [32_769, (128 << 10) + 1, 1 << 20, 16 << 20] {
            for body in [
                whole(chat::body_of(bytes)),
                in_pieces(&chat::body_of(bytes), 100_000),
            ] {
                let reply = client.send(chat::PATH, post(body)).await.unwrap();
                assert_eq!(
                    reply.status,
                    StatusCode::OK,
                    "{bytes} bytes over {protocol:?}"
                );
                sent.push(chat::body_of(bytes));
            }
        }
    }
    let arrived = backend.seen();
    assert_eq!(arrived.len(), sent.len());
    for (seen, sent) in arrived.iter().zip(&sent) {
        assert!(
            seen.body == *sent,
            "{} of {} bytes arrived",
            seen.body.len(),
            sent.len()
        );
        assert!(
            !(seen.headers.contains_key("content-length")
                && seen.headers.contains_key("transfer-encoding")),
            "b20: the body has one framing: {:?}",
            seen.headers
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b25_an_http2_body_that_ends_in_trailers_does_not_hang() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(2)).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let chat = Chat::new("Is this the end?", 8);
    let mut trailers = HeaderMap::new();
    trailers.insert("x-checksum", HeaderValue::from_static("abc"));
    for form in [Form::Plain, Form::Stream] {
        let request = post(with_trailers(chat.body(form), trailers.clone()));
        let answering = client.send(chat::PATH, request);
        let reply = tokio::time::timeout(Duration::from_secs(5), answering)
            .await
            .unwrap()
            .unwrap();
        let answer = chat::Answer::read(form, &reply).unwrap();
        assert_eq!(answer.output_tokens, 8);
    }

    // Nothing of it is lost on the way to the engine.
    let backend = Backend::start("backend").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    let request = post(with_trailers(chat.body(Form::Plain), trailers.clone()));
    assert_eq!(
        client.send(chat::PATH, request).await.unwrap().status,
        StatusCode::OK
    );
    let seen = backend.seen();
    assert_eq!(seen[0].body, chat.body(Form::Plain));
    assert_eq!(seen[0].trailers.as_ref(), Some(&trailers));
}

fn assert_too_large(reply: &Reply, cap: &str) {
    assert_eq!(reply.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let error = reply.json().expect("a JSON error")["error"].clone();
    assert_eq!(error["code"], "request_too_large");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|message| message.contains(cap)),
        "{error}"
    );
}
