//! A picker that is asked to end.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::StatusCode;
use nix::sys::signal::Signal;
use pointsman_cli::harness::pages;
use pointsman_e2e::case::{Case, arguments, slow};
use pointsman_e2e::chat::{Answer, Chat, Form};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::gateway::{connect, health};
use pointsman_e2e::traffic::Traffic;
use pointsman_e2e::wait;
use pointsman_proto::health::health_check_response::ServingStatus;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn a_picker_that_ends_finishes_open_streams_and_costs_no_request() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(slow(2)).await.unwrap();
    let addresses = stack.picker.addresses;
    let traffic = Traffic::start(stack.address(), 2, 4);
    traffic.more(4).await.unwrap();
    let mut streams = Vec::new();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        // Four seconds and more: longer than the time that gateways get to notice.
        streams.push(client.stream(&Chat::new("a story", 200)).await.unwrap());
    }
    let ports = [
        connect(addresses.health).await.unwrap(),
        connect(addresses.ext_proc).await.unwrap(),
    ];

    stack.picker.child.signal(Signal::SIGTERM).unwrap();
    let down = async || -> Result<()> {
        let (status, _) = pages::get(addresses.admin, "/readyz").await?;
        ensure!(
            status == StatusCode::SERVICE_UNAVAILABLE,
            "/readyz answers {status}"
        );
        for port in &ports {
            let ready = health(port, "readiness").await?;
            ensure!(ready == ServingStatus::NotServing, "ready: {ready:?}");
            let alive = health(port, "liveness").await?;
            ensure!(alive == ServingStatus::Serving, "alive: {alive:?}");
        }
        Ok(())
    };
    wait::until("readiness is down", Duration::from_secs(1), down)
        .await
        .unwrap();
    for stream in streams {
        let reply = stream.complete().await.unwrap();
        assert_eq!(
            Answer::read(Form::Stream, &reply).unwrap().output_tokens,
            200
        );
    }
    let status = stack
        .picker
        .child
        .ended(Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(status.code(), Some(0));
    traffic.more(4).await.unwrap();
    for outcome in traffic.stop().await {
        outcome.answer.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_ends_at_its_timeout_and_even_then_no_answer_breaks() {
    let case = Case::begin().await.unwrap();
    let mut options = slow(1);
    // With the body of the response before the picker's eyes or without.
    options.envoy.sample_percent = 50.0;
    options.picker.arguments = arguments(&["--drain-timeout=1s"]);
    let mut stack = case.stack(options).await.unwrap();
    let mut streams = Vec::new();
    for user in 0..8 {
        let protocol = [Protocol::Http1, Protocol::Http2][user % 2];
        let client = Client::new(stack.address(), protocol);
        let chat = Chat::new(&format!("a long story for {user}"), 250);
        streams.push(client.stream(&chat).await.unwrap());
    }

    stack.picker.child.signal(Signal::SIGTERM).unwrap();
    let begun = Instant::now();
    let status = stack
        .picker
        .child
        .ended(Duration::from_secs(10))
        .await
        .unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "after {:?}",
        begun.elapsed()
    );
    for stream in streams {
        let reply = stream.complete().await.unwrap();
        let answer = Answer::read(Form::Stream, &reply).unwrap();
        assert_eq!((answer.output_tokens, answer.text.len()), (250, 250 * 4));
    }
}
