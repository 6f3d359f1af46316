//! Large bodies: clients that ask before they send one, and engines that answer before they read one.

use bytes::Bytes;
use http::StatusCode;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_e2e::backend::{AtHead, Backend, Manner, json};
use pointsman_e2e::case::{Case, bare, seeing_all};
use pointsman_e2e::chat;
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::exposition::expect_ends;
use pointsman_e2e::wire::Wire;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_expects_100_continue_gets_it_and_then_its_answer() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(EnvoyOptions::default())).await.unwrap();
    let backend = Backend::start("backend").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();

    let body = chat::body_of(5 << 20);
    let with_length = (format!("content-length: {}", body.len()), body.clone());
    let chunked = ("transfer-encoding: chunked".to_owned(), chunks(&body));
    for (framing, sent) in [with_length, chunked] {
        // One waits for the go-ahead, the other is in a hurry.
        for waits in [true, false] {
            let mut wire = Wire::connect(stack.address()).await.unwrap();
            let head = format!(
                "POST {} HTTP/1.1\r\nhost: gateway\r\nexpect: 100-continue\r\n\
                 content-type: application/json\r\n{framing}\r\n\r\n",
                chat::PATH
            );
            wire.send(head).await.unwrap();
            if !waits {
                wire.send(&sent).await.unwrap();
            }
            let interim = wire.message().await.unwrap();
            assert_eq!(interim.head.status().unwrap(), 100, "{framing}");
            if waits {
                wire.send(&sent).await.unwrap();
            }
            let reply = wire.message().await.unwrap();
            assert_eq!(reply.head.status().unwrap(), 200, "{framing}");
            assert_eq!(reply.body, "{}");
            let seen = backend.take_one().unwrap();
            assert!(seen.body == body, "{} bytes arrived", seen.body.len());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_answers_before_it_reads_the_body_is_heard() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let manner = Manner::answering(|_| json("{}"))
            .at_head(|| AtHead::Answer(StatusCode::UNPROCESSABLE_ENTITY));
        let backend = Backend::with_manner("backend", manner).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let mut requests = 0.0;
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for bytes in [1 << 10, 1 << 20, 16 << 20] {
                let body = chat::body_of(bytes);
                let reply = client.post(chat::PATH, body).await.unwrap();
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                assert_eq!(reply.status, status, "{bytes} bytes over {protocol:?}");
                requests += 1.0;
            }
        }
        expect_ends(&stack, "complete", requests).await.unwrap();
    }
}

/// The body in chunks, as HTTP/1.1 frames them.
fn chunks(body: &[u8]) -> Bytes {
    let mut framed = Vec::new();
    for chunk in body.chunks(70_000) {
        framed.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        framed.extend_from_slice(chunk);
        framed.extend_from_slice(b"\r\n");
    }
    framed.extend_from_slice(b"0\r\n\r\n");
    framed.into()
}
