//! Responses that are cut, odd or plainly wrong: the client gets every byte of them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, StatusCode};
use pointsman_e2e::backend::{Backend, answer, json};
use pointsman_e2e::body::{in_pieces, paced, unfinished, whole};
use pointsman_e2e::case::{Case, bare, sampling, seeing_all};
use pointsman_e2e::chat::{self, Chat, ENGINE, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition::expect_ends;

#[tokio::test(flavor = "multi_thread")]
async fn b33_b36_b38_b40_what_an_engine_says_reaches_the_client_byte_for_byte() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let next = AtomicUsize::new(0);
        let backend = Backend::answering("backend", move |_| {
            let (content_type, pieces) = response(next.fetch_add(1, Ordering::Relaxed));
            answer(content_type, paced(pieces, PAUSE))
        });
        let backend = backend.await.unwrap();
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let mut index = 0;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for path in [chat::PATH, "/v1/completions", "/v1/messages", "/v1/unknown"] {
                for _ in 0..RESPONSES.len() {
                    let (_, pieces) = response(index);
                    let body = match path {
                        "/v1/completions" => r#"{"model":"m","prompt":"x","stream":true}"#.into(),
                        _ => Chat::new("Hi", 1).body(Form::Stream),
                    };
                    let reply = client.post(path, body).await.unwrap();
                    assert_eq!(reply.status, StatusCode::OK);
                    let text = reply.body.escape_ascii().to_string();
                    let expected = pieces.concat().escape_ascii().to_string();
                    assert_eq!(text, expected, "{path} {envoy:?}");
                    index += 1;
                }
            }
        }
        expect_ends(&stack, "complete", index as f64).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_status_reaches_the_client_with_its_headers_and_ends_the_request() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let backend = Backend::answering("backend", |seen| {
            let status = seen.headers["x-wanted"].to_str().unwrap();
            let status: StatusCode = status.parse().unwrap();
            let has_body = !matches!(status.as_u16(), 204 | 304);
            let mut response = json(if has_body { "{\"a\":1}" } else { "" });
            *response.status_mut() = status;
            for (name, value) in [("location", "/x"), ("retry-after", "7"), ("etag", "\"e\"")] {
                let value = HeaderValue::from_static(value);
                response.headers_mut().insert(name, value);
            }
            response
        });
        let backend = backend.await.unwrap();
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for status in [
                200, 201, 202, 204, 206, 301, 304, 400, 401, 403, 404, 409, 413, 418, 422, 429,
                500, 501, 504, 599,
            ] {
                let mut request = post(whole(Chat::new("Hi", 1).body(Form::Plain)));
                let wanted = HeaderValue::from(status);
                request.headers_mut().insert("x-wanted", wanted);
                let reply = client.send(chat::PATH, request).await.unwrap();
                assert_eq!(reply.status.as_u16(), status, "{envoy:?}");
                let has_body = !matches!(status, 204 | 304);
                assert_eq!(reply.body, if has_body { "{\"a\":1}" } else { "" });
                assert_eq!(reply.header("retry-after"), Some("7"));
                assert_eq!(reply.header("location"), Some("/x"));
                assert_eq!(reply.header("etag"), Some("\"e\""));
                assert_eq!(reply.header(ENGINE), Some("backend"), "{status}");
            }
        }
        // Those of 500 and above are failures of the engine, twice four of them.
        expect_ends(&stack, "engine_error", 8.0).await.unwrap();
        expect_ends(&stack, "complete", 32.0).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_of_sixteen_mebibytes_passes_unchanged() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let backend = Backend::answering("backend", |seen| {
            let body = chat::body_of(16 << 20);
            if seen.headers.contains_key("x-in-pieces") {
                answer(JSON, in_pieces(&body, 100_000))
            } else {
                json(body)
            }
        });
        let backend = backend.await.unwrap();
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for is_in_pieces in [false, true] {
                let mut request = post(whole(Chat::new("Hi", 1).body(Form::Plain)));
                if is_in_pieces {
                    let yes = HeaderValue::from_static("yes");
                    request.headers_mut().insert("x-in-pieces", yes);
                }
                let reply = client.send(chat::PATH, request).await.unwrap();
                let beginning = reply.body.slice(..reply.body.len().min(100));
                assert_eq!(reply.status, StatusCode::OK, "{beginning:?} {envoy:?}");
                assert!(
                    reply.body == chat::body_of(16 << 20),
                    "{} bytes came",
                    reply.body.len()
                );
            }
        }
        expect_ends(&stack, "complete", 4.0).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_does_so_for_the_client_too_and_leaves_nothing_behind() {
    let case = Case::begin().await.unwrap();
    let [sampled, full_duplex] = seeing_all();
    for (envoy, cause) in [
        // Where no body is shown, its end cannot be told from a break.
        (sampling(0.0), "complete"),
        (sampled, "cut"),
        (full_duplex, "cut"),
    ] {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        for (protocol, ended) in [(Protocol::Http1, 1.0), (Protocol::Http2, 2.0)] {
            let beginning = "data: {\"choi";
            let stream = move |_: &_| answer(EVENTS, unfinished(beginning));
            let backend = Backend::answering("backend", stream).await.unwrap();
            stack.publish_entries(&[backend.entry()]).await.unwrap();
            let client = Client::new(stack.address(), protocol);
            let mut reply = client.stream(&Chat::new("Hi", 1)).await.unwrap();
            assert_eq!(reply.status(), StatusCode::OK);
            assert_eq!(reply.received(), beginning.as_bytes(), "{envoy:?}");
            drop(backend);
            assert!(reply.more().await.is_err(), "it looks whole");
            expect_ends(&stack, cause, ended).await.unwrap();
        }
    }
}

/// The content type and the pieces of one response after the other.
fn response(index: usize) -> (&'static str, Vec<Bytes>) {
    let (content_type, text) = RESPONSES[index % RESPONSES.len()];
    let pieces = text
        .split('|')
        .map(|piece| Bytes::from_static(piece.as_bytes()));
    (content_type, pieces.collect())
}

/// Enough for a piece to travel alone.
const PAUSE: Duration = Duration::from_millis(1);

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Content type and body; `|` is where it is cut.
const RESPONSES: [(&str, &str); 18] = [
    (
        EVENTS,
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"ind|ex\":0}]}}]}\n\ndata: [DO|NE]\n\n",
    ),
    (
        EVENTS,
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"ind",
    ),
    (EVENTS, "{\"id\":1}\n{\"id\":2}\n\n"),
    (
        EVENTS,
        "data: {\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":10}}\r\n\r|\ndata: [DONE]\r\n\r\n",
    ),
    (EVENTS, "data:{\"usage\":null}\r\r|data: [DONE]\r\r"),
    (
        EVENTS,
        ": ping\n\n|event: message\nid: 1\nretry: 10\ndata: a\ndata: b\n\n|data\n\n|\u{feff}data: x\n\n",
    ),
    (EVENTS, "data: |\u{e9}\u{4e2d}\u{1f600}\n\n"),
    (
        EVENTS,
        "event: error\ndata: {\"error\":{\"message\":\"out of memory\"}}\n\n",
    ),
    (EVENTS, ""),
    (JSON, "{\"usage\":\"n/a\"}"),
    (JSON, "{\"usage\":[]}"),
    (
        JSON,
        "{\"usage\":{\"prompt_tokens_details\":7,\"prompt_tokens\":\"12\",\"total_tokens\":true}}",
    ),
    (
        JSON,
        "{\"usage\":{\"prompt_tokens\":1e400,\"completion_tokens\":-3}}",
    ),
    (JSON, "{\"usage\":{\"prompt_tokens\":|1"),
    (JSON, "data: {\"usage\":{}}\n\n|data: [DONE]\n\n"),
    (JSON, "[[[[[[[[[[[[[[[[[[[[[[|[[[[[[[[[[[[[[[[[[[[[[[[[[[[["),
    ("text/plain; charset=utf-8", "usage: |none"),
    ("application/octet-stream", "\u{0}\u{1}|\u{7f}"),
];
