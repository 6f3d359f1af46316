//! Compressed bodies: engines and clients get them as they were sent, and the picker reads them.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use pointsman_e2e::backend::{Backend, answer, json};
use pointsman_e2e::body::{in_pieces, whole};
use pointsman_e2e::case::{Case, bare, sampling, seeing_all};
use pointsman_e2e::chat::{self, Chat, ENGINE, Form};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::coding::{gzip, zstd};
use pointsman_e2e::exposition::{expect_ends, sum};

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_arrives_as_it_was_sent_and_goes_where_its_prefix_is() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(sampling(5.0))).await.unwrap();
    let mut backends = Vec::new();
    for name in ["left", "middle", "right"] {
        backends.push(Backend::start(name).await.unwrap());
    }
    let entries: Vec<_> = backends.iter().map(Backend::entry).collect();
    stack.publish_entries(&entries).await.unwrap();

    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for (coding, encode) in CODINGS {
            let plain = prompt(&format!("{protocol:?} {coding}"));
            let reply = client.post(chat::PATH, plain.clone()).await.unwrap();
            let home = engine(&reply).to_owned();
            assert_eq!(backends.iter().flat_map(Backend::take).count(), 1);

            let encoded = encode(&plain);
            assert!(encoded.len() < plain.len() / 2);
            for body in [whole(encoded.clone()), in_pieces(&encoded, 100)] {
                let before = stack.picker.metrics().await.unwrap();
                let mut request = post(body);
                let value = HeaderValue::from_static(coding);
                request
                    .headers_mut()
                    .insert(header::CONTENT_ENCODING, value);
                let reply = client.send(chat::PATH, request).await.unwrap();
                assert_eq!(reply.status, StatusCode::OK, "{coding}");
                let arrived: Vec<_> = backends.iter().flat_map(Backend::take).collect();
                assert_eq!(arrived.len(), 1);
                assert_eq!(arrived[0].body, encoded, "{coding}");
                assert_eq!(arrived[0].headers[header::CONTENT_ENCODING], coding);

                let after = stack.picker.metrics().await.unwrap();
                let rise = |name| sum(&after, name, &[]) - sum(&before, name, &[]);
                let tokens = rise("pointsman_prompt_tokens_total");
                assert!(tokens >= plain.len() as f64 / 5.0, "{coding}: {tokens}");
                let found = rise("pointsman_predicted_cached_tokens_total");
                assert!(found >= tokens * 0.9, "{coding}: {found} of {tokens}");
                assert_eq!(engine(&reply), home, "{coding}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_body_that_does_not_decode_is_no_fault_of_the_picker() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(sampling(5.0))).await.unwrap();
    let backend = Backend::start("backend").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let plain = prompt("cut");
    let half = |body: Bytes| body.slice(..body.len() / 2);
    let bomb = vec![b' '; 64 << 20];
    let bodies = [
        ("gzip", plain.clone()),
        ("gzip", half(gzip(&plain))),
        ("gzip", gzip(&bomb)),
        ("zstd", plain.clone()),
        ("zstd", half(zstd(&plain))),
        ("zstd", zstd(&bomb)),
        ("br", plain.clone()),
        ("gzip, zstd", plain.clone()),
        ("", plain),
    ];
    for (coding, body) in bodies {
        let mut request = post(whole(body.clone()));
        let value = HeaderValue::from_static(coding);
        request
            .headers_mut()
            .insert(header::CONTENT_ENCODING, value);
        let reply = client.send(chat::PATH, request).await.unwrap();
        let arrived = backend.take();
        match reply.status {
            // Routed by load: it is for the engine to say what is wrong.
            StatusCode::OK => {
                assert_eq!(arrived.len(), 1, "{coding}");
                assert!(arrived[0].body == body, "{coding}");
            }
            // No body of the dialect, as the picker sees it.
            StatusCode::BAD_REQUEST => {
                assert!(arrived.is_empty(), "{coding}");
                assert!(reply.json().unwrap()["error"]["message"].is_string());
            }
            other => panic!("{coding}: {other}"),
        }
    }
    let reply = client.post(chat::PATH, prompt("after")).await.unwrap();
    assert_eq!(reply.status, StatusCode::OK, "the picker lives");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_response_reaches_the_client_as_it_was_sent() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let backend = Backend::answering("backend", |seen| {
            let coding = seen.headers[header::ACCEPT_ENCODING].clone();
            let encode = CODINGS.iter().find(|(name, _)| coding == name);
            let encode = encode.expect("a known coding").1;
            let is_stream = String::from_utf8_lossy(&seen.body).contains(r#""stream":true"#);
            let mut response = if is_stream {
                answer(
                    "text/event-stream",
                    in_pieces(&encode(STREAM.as_bytes()), 20),
                )
            } else {
                json(encode(DOCUMENT.as_bytes()))
            };
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, coding);
            response
        });
        let backend = backend.await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let mut requests = 0.0;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for (coding, encode) in CODINGS {
                for (form, text) in [(Form::Plain, DOCUMENT), (Form::Stream, STREAM)] {
                    let mut request = post(whole(Chat::new("Hi", 1).body(form)));
                    let value = HeaderValue::from_static(coding);
                    request.headers_mut().insert(header::ACCEPT_ENCODING, value);
                    let reply = client.send(chat::PATH, request).await.unwrap();
                    assert_eq!(reply.header("content-encoding"), Some(coding));
                    assert_eq!(reply.body, encode(text.as_bytes()), "{coding} {form:?}");
                    requests += 1.0;
                }
            }
        }
        expect_ends(&stack, "complete", requests).await.unwrap();
    }
}

/// A chat of some thousand bytes, different in its first block for each `name`.
fn prompt(name: &str) -> Bytes {
    let text = format!(
        "This is about {name}. {}",
        "Tell me more about it. ".repeat(200)
    );
    Chat::new(&text, 1).body(Form::Plain)
}

fn engine(reply: &Reply) -> &str {
    reply.header(ENGINE).expect("an engine answered")
}

type Encode = fn(&[u8]) -> Bytes;

const CODINGS: [(&str, Encode); 2] = [("gzip", gzip), ("zstd", zstd)];

const DOCUMENT: &str =
    r#"{"choices": [{"message": {"content": "Hi"}}], "usage": {"prompt_tokens": 7}}"#;
const STREAM: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
