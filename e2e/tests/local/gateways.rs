//! Gateways that speak `ext_proc` in other ways than our Envoy does.

use std::time::Duration;

use bytes::Bytes;
use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::exposition::{self, expect_ends};
use pointsman_e2e::gateway::{
    Exchange, body, chat_headers, connect, header_mutation, header_set, headers, last_body,
};
use pointsman_e2e::wait;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderValue, HttpHeaders, ProcessingResponse, StreamedBodyResponse,
};
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
        let text = Chat::new("Hi", 1).body(Form::Plain);
        let duplex = mode == Some(BodySendMode::FullDuplexStreamed);
        if duplex || mode == Some(BodySendMode::Buffered) {
            exchange.send(last_body(text.clone())).await.unwrap();
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
            let piece = streamed(exchange.reply().await.unwrap());
            assert_eq!(piece.body, text);
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
async fn failure_a_gateway_that_gives_up_a_held_request_frees_its_place() {
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

#[tokio::test(flavor = "multi_thread")]
async fn b16_a_repeated_end_of_a_long_body_is_one_pick_and_one_set_of_answers() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let mode = Some(BodySendMode::FullDuplexStreamed);
    let mut exchange = Exchange::open(&channel, mode).await.unwrap();
    let sent = long_chat();
    let (pieces, tail) = sent.split_at(sent.len() - sent.len() % (64 << 10));
    let tail = Bytes::copy_from_slice(tail);
    exchange.send(chat_headers(&[])).await.unwrap();
    for piece in pieces.chunks(64 << 10) {
        let piece = Bytes::copy_from_slice(piece);
        exchange.send(body(piece)).await.unwrap();
    }
    for _ in 0..2 {
        exchange.send(last_body(tail.clone())).await.unwrap();
    }

    let mutation = header_mutation(&exchange.reply().await.unwrap()).unwrap();
    let engine = stack.engines[0].address.to_string();
    assert_eq!(header_set(&mutation, DESTINATION), Some(engine));
    let mut back = Vec::new();
    loop {
        let piece = streamed(exchange.reply().await.unwrap());
        back.extend_from_slice(&piece.body);
        if piece.end_of_stream {
            break;
        }
    }
    assert!(back == sent, "{} of {} bytes", back.len(), sent.len());
    exchange.send(last_body(tail)).await.unwrap();
    // The answer to what comes next is the next answer.
    exchange.send(response_headers()).await.unwrap();
    let next = exchange.reply().await.unwrap().response;
    assert!(
        matches!(next, Some(Response::ResponseHeaders(_))),
        "{next:?}"
    );
    expect_picks(&stack, 1).await;
    expect_in_flight(&stack, 1.0).await;
    drop(exchange);
    expect_ends(&stack, "complete", 1.0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn b22_five_mebibytes_in_one_message_and_a_very_long_list_are_read() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(1)).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let engine = stack.engines[0].address.to_string();
    let ids = vec!["15496"; 110_000].join(",");
    let list = format!(r#"{{"model":"m","input":[{ids}]}}"#);
    assert!(list.len() >= 660_000);
    for (path, text) in [
        (chat::PATH, chat::body_of(5 << 20)),
        ("/v1/embeddings", list.into()),
    ] {
        let mode = Some(BodySendMode::Buffered);
        let mut exchange = Exchange::open(&channel, mode).await.unwrap();
        exchange.send(headers(path, &[])).await.unwrap();
        exchange.reply().await.unwrap();
        exchange.send(last_body(text)).await.unwrap();
        let reply = exchange.reply().await.unwrap();
        let mutation = header_mutation(&reply).unwrap();
        assert_eq!(header_set(&mutation, DESTINATION), Some(engine.clone()));
    }
    // Of the chat the tokens are estimated, and all ids of the list are counted.
    let page = stack.picker.metrics().await.unwrap();
    let tokens = exposition::sum(&page, "pointsman_prompt_tokens_total", &[]);
    let of_the_chat = (5 << 20) as f64 / 4.0;
    assert!((tokens - of_the_chat - 110_000.0).abs() < 100.0, "{tokens}");
}

/// A chat of many turns, about 1.2 MB.
fn long_chat() -> Vec<u8> {
    let mut chat = Chat::new("How does the story begin?", 1);
    for turn in 0..1200 {
        chat.say(&format!("{turn}: {}", "and then? ".repeat(100)));
    }
    chat.body(Form::Plain).to_vec()
}

fn response_headers() -> Request {
    let status = HeaderValue {
        key: ":status".to_owned(),
        raw_value: Bytes::from_static(b"200"),
        ..HeaderValue::default()
    };
    Request::ResponseHeaders(HttpHeaders {
        headers: Some(HeaderMap {
            headers: vec![status],
        }),
        end_of_stream: false,
    })
}

/// The part of a body that goes on with this answer.
fn streamed(reply: ProcessingResponse) -> StreamedBodyResponse {
    let Some(Response::RequestBody(body)) = reply.response else {
        panic!("the body does not come back: {reply:?}");
    };
    let mutation = body
        .response
        .and_then(|common| common.body_mutation?.mutation);
    let Some(Mutation::StreamedResponse(piece)) = mutation else {
        panic!("not in the form of duplex modes: {mutation:?}");
    };
    piece
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
