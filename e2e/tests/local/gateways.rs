//! Gateways that speak `ext_proc` in other ways than our Envoy does.

use std::time::Duration;

use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{Chat, Form};
use pointsman_e2e::gateway::{
    Exchange, chat_headers, connect, header_mutation, header_set, last_body,
};
use pointsman_e2e::{exposition, wait};
use pointsman_proto::ext_proc::BodySendMode;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::processing_response::Response;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn every_body_mode_gets_one_pick_where_it_can_still_route() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let engine = stack.engines[0].address.to_string();
    let modes = [
        Some(BodySendMode::None),
        Some(BodySendMode::Streamed),
        Some(BodySendMode::Buffered),
        Some(BodySendMode::FullDuplexStreamed),
        // Says nothing, and waits for the answer to the headers.
        None,
    ];
    for (index, mode) in modes.into_iter().enumerate() {
        let mut exchange = Exchange::open(&channel, mode).await.unwrap();
        let forged = [
            (DESTINATION, "10.0.0.9:22"),
            ("X-Gateway-Destination-Endpoint", "10.0.0.9"),
        ];
        exchange.send(chat_headers(&forged)).await.unwrap();
        if mode == Some(BodySendMode::Buffered) {
            let reply = exchange.reply().await.unwrap();
            let mutation = header_mutation(&reply).unwrap();
            assert_eq!(
                header_set(&mutation, DESTINATION),
                None,
                "the body may still change it"
            );
            assert_eq!(mutation.remove_headers, [DESTINATION], "b15");
        }
        let body = Chat::new("Hi", 1).body(Form::Plain);
        let duplex = mode == Some(BodySendMode::FullDuplexStreamed);
        if duplex || mode == Some(BodySendMode::Buffered) {
            exchange.send(last_body(body.clone())).await.unwrap();
        }
        let reply = exchange.reply().await.unwrap();
        let mutation = header_mutation(&reply).unwrap();
        assert_eq!(
            header_set(&mutation, DESTINATION),
            Some(engine.clone()),
            "{mode:?}"
        );
        assert!(reply.dynamic_metadata.is_some(), "{mode:?}");
        if duplex {
            let reply = exchange.reply().await.unwrap();
            let Some(Response::RequestBody(response)) = reply.response else {
                panic!("the body does not come back: {reply:?}");
            };
            let mutation = response.response.unwrap().body_mutation.unwrap().mutation;
            let Some(Mutation::StreamedResponse(piece)) = mutation else {
                panic!("not in the form of duplex modes: {mutation:?}");
            };
            assert_eq!(piece.body, body);
            assert!(piece.end_of_stream);
        }
        expect_picks(&stack, index + 1).await;
        expect_in_flight(&stack, 1.0).await;
        // The client left, or the gateway's stream broke.
        drop(exchange);
        expect_in_flight(&stack, 0.0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_ends_its_side_early_still_gets_a_late_answer() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(0);
    options.picker = PickerOptions::with_configuration(json!({ "featureGates": ["flowControl"] }));
    let mut stack = case.stack(options).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let mut exchange = Exchange::open(&channel, None).await.unwrap();
    exchange.send(chat_headers(&[])).await.unwrap();
    exchange
        .send(last_body(Chat::new("Hi", 1).body(Form::Plain)))
        .await
        .unwrap();
    exchange.end_input();
    wait::until("it is held", WAIT_MAX, async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], 1.0)
    })
    .await
    .unwrap();

    let engine = Engine::start("engine-late", &[], case.folder())
        .await
        .unwrap();
    let address = engine.address.to_string();
    stack.engines.push(engine);
    stack.publish().await.unwrap();
    let reply = exchange.reply().await.unwrap();
    let mutation = header_mutation(&reply).unwrap();
    assert_eq!(header_set(&mutation, DESTINATION), Some(address));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_gives_up_a_held_request_frees_its_place() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(0);
    options.picker = PickerOptions::with_configuration(json!({ "featureGates": ["flowControl"] }));
    let stack = case.stack(options).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let mode = Some(BodySendMode::FullDuplexStreamed);
    let mut exchange = Exchange::open(&channel, mode).await.unwrap();
    exchange.send(chat_headers(&[])).await.unwrap();
    exchange
        .send(last_body(Chat::new("Hi", 1).body(Form::Plain)))
        .await
        .unwrap();
    let held = async |expected: f64| {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_held", &[], expected)
    };
    wait::until("it is held", WAIT_MAX, async || held(1.0).await)
        .await
        .unwrap();
    drop(exchange);
    wait::until("its place is free", WAIT_MAX, async || held(0.0).await)
        .await
        .unwrap();
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_requests_held_bytes", &[], 0.0).unwrap();
}

async fn expect_picks(stack: &Stack, expected: usize) {
    let page = stack.picker.metrics().await.expect("the metrics page");
    exposition::expect(&page, "pointsman_picks_total", &[], expected as f64).expect("picks");
}

async fn expect_in_flight(stack: &Stack, expected: f64) {
    let check = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_requests_in_flight", &[], expected)
    };
    wait::until("requests in flight", WAIT_MAX, check)
        .await
        .expect("requests in flight");
}

const DESTINATION: &str = "x-gateway-destination-endpoint";

/// The promise is "at once"; the second is for a machine that is busy with other things.
const WAIT_MAX: Duration = Duration::from_secs(1);
