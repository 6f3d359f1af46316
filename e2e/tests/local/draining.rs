//! A picker that is asked to end.

use std::time::Duration;

use anyhow::{Result, ensure};
use http::StatusCode;
use nix::sys::signal::Signal;
use pointsman_cli::harness::picker::{Picker, PickerOptions};
use pointsman_cli::harness::{endpoints, pages};
use pointsman_e2e::case::{Case, arguments, slow};
use pointsman_e2e::chat::{Answer, Chat, Form};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::frames::{DATA, Frame, Frames, GOAWAY, HEADERS, RST_STREAM, UNKNOWN};
use pointsman_e2e::gateway::{chat_headers, connect, health};
use pointsman_e2e::traffic::Traffic;
use pointsman_e2e::{exposition, wait};
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::{BodySendMode, ProcessingRequest, ProtocolConfiguration};
use pointsman_proto::health::health_check_response::ServingStatus;
use prost::Message as _;
use serde_json::json;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_picker_that_ends_finishes_open_streams_and_costs_no_request() {
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
async fn failure_a_drain_ends_at_its_timeout_and_even_then_no_answer_breaks() {
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

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_gateway_reads_the_last_answers_and_a_clean_end_whatever_it_still_sends() {
    let case = Case::begin().await.unwrap();
    let endpoints = case.folder().join("endpoints.yaml");
    endpoints::write(&endpoints, &[]).unwrap();
    let mut options = PickerOptions::with_configuration(json!({ "featureGates": ["flowControl"] }));
    options.arguments = arguments(&["--drain-timeout=0s"]);
    let mut picker = Picker::start(options, &endpoints, case.folder())
        .await
        .unwrap();
    let mut connection = Frames::connect(picker.addresses.ext_proc).await.unwrap();
    // One request waits for an endpoint; the body of the other never ends.
    for (stream, end_of_stream) in [(1, true), (3, false)] {
        let head = chat_head(end_of_stream).encode_to_vec();
        let message = Frame::message(stream, &head).unwrap();
        let call = [Frame::call(stream).unwrap(), message];
        connection.send(&call).await.unwrap();
    }
    let is_held = async || {
        let page = picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], 1.0)
    };
    wait::until("one is held", Duration::from_secs(5), is_held)
        .await
        .unwrap();

    picker.child.signal(Signal::SIGTERM).unwrap();
    let noise = Frame::new(UNKNOWN, 0, 0, vec![0; 16 << 10]);
    let frames = connection.rest_among(&noise).await.unwrap();
    let held = frames.iter().filter(|frame| frame.stream == 1);
    let kinds: Vec<u8> = held.map(|frame| frame.kind).collect();
    assert_eq!(kinds, [HEADERS, DATA, HEADERS, RST_STREAM]);
    assert!(frames.iter().any(|frame| frame.kind == GOAWAY));
    let status = picker.child.ended(Duration::from_secs(10)).await.unwrap();
    assert_eq!(status.code(), Some(0));
}

/// The headers of a chat request, from a gateway that speaks full duplex both ways.
fn chat_head(end_of_stream: bool) -> ProcessingRequest {
    let mode = BodySendMode::FullDuplexStreamed.into();
    let Request::RequestHeaders(mut head) = chat_headers(&[]) else {
        unreachable!("these are headers");
    };
    head.end_of_stream = end_of_stream;
    ProcessingRequest {
        protocol_config: Some(ProtocolConfiguration {
            request_body_mode: mode,
            response_body_mode: mode,
            send_body_without_waiting_for_header_response: false,
        }),
        request: Some(Request::RequestHeaders(head)),
        ..ProcessingRequest::default()
    }
}
