//! Clients that leave before their answer is complete.

use std::time::Duration;

use anyhow::{Result, ensure};
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::pages;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{Backend, Manner, answer, json};
use pointsman_e2e::body::{unfinished, whole};
use pointsman_e2e::case::{Case, bare, seeing_all, set_faults, slow};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition::expect_ends;
use pointsman_e2e::wire::Wire;
use pointsman_e2e::{exposition, wait};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_client_leaving_mid_stream_over_http1_frees_its_reservation_at_once() {
    leaves(Protocol::Http1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_client_leaving_mid_stream_over_http2_frees_its_reservation_at_once() {
    leaves(Protocol::Http2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_client_that_gives_up_on_an_engine_that_never_answers_frees_its_reservation_at_once()
 {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(slow(1)).await.unwrap();
    set_faults(&stack.engines[0], &["stall"]).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let mut waiting = JoinSet::new();
        waiting.spawn(async move { client.chat(&Chat::new("Hello?", 1), Form::Plain).await });
        let reserved = async |expected: f64| {
            let page = stack.picker.metrics().await?;
            exposition::expect(&page, "pointsman_requests_in_flight", &[], expected)
        };
        wait::until("it is in flight", WAIT_MAX, async || reserved(1.0).await)
            .await
            .unwrap();
        waiting.shutdown().await;
        wait::until("it is freed", WAIT_MAX, async || reserved(0.0).await)
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_client_that_leaves_within_its_upload_leaves_nothing_behind() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(EnvoyOptions::default())).await.unwrap();
    let backend = Backend::start("backend").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    let half = chat::body_of(1 << 20);
    let holds_half = async || {
        let page = stack.picker.metrics().await?;
        let held = exposition::sum(&page, "pointsman_held_body_bytes", &[]);
        ensure!(held >= (1 << 20) as f64, "{held} bytes are held");
        Ok(())
    };
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let request = post(unfinished(half.clone()));
        let mut uploading = JoinSet::new();
        uploading.spawn(async move { client.send(chat::PATH, request).await.map(drop) });
        wait::until("half is there", WAIT_MAX, holds_half)
            .await
            .unwrap();
        uploading.shutdown().await;
        nothing_is_left(&stack, &backend).await;
    }
    // The same with a length that is announced and never reached.
    let mut wire = Wire::connect(stack.address()).await.unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nhost: gateway\r\ncontent-length: {}\r\n\r\n",
        chat::PATH,
        2 << 20
    );
    wire.send(head).await.unwrap();
    wire.send(&half).await.unwrap();
    wait::until("half is there", WAIT_MAX, holds_half)
        .await
        .unwrap();
    drop(wire);
    nothing_is_left(&stack, &backend).await;
    assert!(backend.seen().is_empty(), "no engine was asked");
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], 0.0).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_client_that_leaves_while_an_engine_reads_its_body_leaves_nothing_behind() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(EnvoyOptions::default())).await.unwrap();
    let manner = Manner::answering(|_| json("{}")).reading_slowly(Duration::from_millis(5));
    let backend = Backend::with_manner("backend", manner).await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    for (protocol, ended) in [(Protocol::Http1, 1.0), (Protocol::Http2, 2.0)] {
        let client = Client::new(stack.address(), protocol);
        let request = post(whole(chat::body_of(16 << 20)));
        let mut sending = JoinSet::new();
        sending.spawn(async move { client.send(chat::PATH, request).await.map(drop) });
        wait::until("the engine reads", READ_WAIT_MAX, async || {
            ensure!(backend.open() == 1, "{} requests are open", backend.open());
            Ok(())
        })
        .await
        .unwrap();
        sending.shutdown().await;
        nothing_is_left(&stack, &backend).await;
        assert!(backend.seen().is_empty(), "it was not complete");
        expect_ends(&stack, "cut", ended).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b34_a_client_that_leaves_mid_stream_leaves_nothing_behind_where_the_picker_sees_all()
 {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let backend = Backend::answering("backend", |_| {
            answer(
                "text/event-stream",
                unfinished("data: {\"choices\":[]}\n\n"),
            )
        });
        let backend = backend.await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        for (protocol, ended) in [(Protocol::Http1, 1.0), (Protocol::Http2, 2.0)] {
            let client = Client::new(stack.address(), protocol);
            let stream = client.stream(&Chat::new("a story", 100)).await.unwrap();
            assert!(!stream.received().is_empty());
            assert_eq!(backend.open(), 1);
            drop(stream);
            nothing_is_left(&stack, &backend).await;
            expect_ends(&stack, "cut", ended).await.unwrap();
        }
    }
}

/// Waits until neither the picker nor the engine counts anything any more.
async fn nothing_is_left(stack: &Stack, backend: &Backend) {
    wait::until("nothing is left", READ_WAIT_MAX, async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_in_flight", &[], 0.0)?;
        exposition::expect(&page, "pointsman_requests_held", &[], 0.0)?;
        exposition::expect(&page, "pointsman_held_body_bytes", &[], 0.0)?;
        ensure!(backend.open() == 0, "{} requests are open", backend.open());
        Ok(())
    })
    .await
    .expect("nothing is left");
}

async fn leaves(protocol: Protocol) {
    let case = Case::begin().await.expect("a place for the test");
    let stack = case.stack(slow(1)).await.expect("a setup");
    let client = Client::new(stack.address(), protocol);
    // An answer of more than a minute, so that only leaving can end it within the waits below.
    let stream = client
        .stream(&Chat::new("a long story", 4000))
        .await
        .expect("a stream");
    wait::until("it is in flight", WAIT_MAX, async || {
        in_flight(&stack, 1.0).await
    })
    .await
    .expect("a reservation while it streams");
    drop(stream);
    wait::until("it is freed", WAIT_MAX, async || {
        in_flight(&stack, 0.0).await
    })
    .await
    .expect("no reservation once the client has left");
    let page = stack.picker.metrics().await.expect("the metrics page");
    exposition::expect(&page, "pointsman_requests_completed_total", &[], 1.0).expect("one end");
}

/// Checks that so many requests are in flight by the picker's and by the engine's count.
async fn in_flight(stack: &Stack, expected: f64) -> Result<()> {
    let page = stack.picker.metrics().await?;
    exposition::expect(&page, "pointsman_requests_in_flight", &[], expected)?;
    for engine in &stack.engines {
        let (_, page) = pages::get(engine.address, "/metrics").await?;
        let page = String::from_utf8_lossy(&page);
        exposition::expect(&page, "vllm:num_requests_running", &[], expected)?;
    }
    Ok(())
}

/// The promise is "at once"; the second is for a machine that is busy with other things.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// For an engine that reads slowly what its connection still holds.
const READ_WAIT_MAX: Duration = Duration::from_secs(20);
