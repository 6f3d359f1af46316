//! Clients that leave before their answer is complete.

use std::time::Duration;

use anyhow::Result;
use pointsman_cli::harness::pages;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::case::{Case, set_faults, slow};
use pointsman_e2e::chat::{Chat, Form};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::{exposition, wait};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_leaving_mid_stream_over_http1_frees_its_reservation_at_once() {
    leaves(Protocol::Http1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_leaving_mid_stream_over_http2_frees_its_reservation_at_once() {
    leaves(Protocol::Http2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_gives_up_on_an_engine_that_never_answers_frees_its_reservation_at_once() {
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
