//! More streams at once than the limits that gateways have by default.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{Backend, answer};
use pointsman_e2e::body::paced;
use pointsman_e2e::case::{Case, arguments, bare};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::gateway::{self, Exchange, chat_headers, connect, headers, last_body};
use pointsman_e2e::{body, exposition, wait};
use pointsman_proto::ext_proc::BodySendMode;
use pointsman_proto::ext_proc::processing_response::Response;
use prost::Message as _;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

#[tokio::test(flavor = "multi_thread")]
async fn b29_two_thousand_streams_of_a_minute_are_held_at_once_and_none_fails() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(EnvoyOptions::default())).await.unwrap();
    let mut backends = Vec::new();
    for index in 0..4 {
        let name = format!("engine-{index}");
        let stream = |_: &_| answer("text/event-stream", paced(events(), EVENT_PAUSE));
        backends.push(Backend::answering(&name, stream).await.unwrap());
    }
    let entries: Vec<_> = backends.iter().map(Backend::entry).collect();
    stack.publish_entries(&entries).await.unwrap();

    let opening = Arc::new(Semaphore::new(OPENING_MAX));
    let clients: Vec<Client> = (0..CLIENTS)
        .map(|index| {
            let protocol = [Protocol::Http1, Protocol::Http2][index % 2];
            Client::new(stack.address(), protocol)
        })
        .collect();
    let mut streams = JoinSet::new();
    for index in 0..STREAMS {
        let client = clients[index % clients.len()].clone();
        streams.spawn(hold(client, index, Arc::clone(&opening)));
    }
    wait::until(
        "all streams are open",
        Duration::from_secs(45),
        async || {
            in_flight(&stack, STREAMS as f64).await?;
            // A request is in flight a moment before its engine knows of it.
            let open: usize = backends.iter().map(Backend::open).sum();
            ensure!(open == STREAMS, "{open} streams are open at the engines");
            Ok(())
        },
    )
    .await
    .unwrap();

    for outcome in streams.join_all().await {
        outcome.unwrap();
    }
    wait::until(
        "all streams have ended",
        Duration::from_secs(10),
        async || in_flight(&stack, 0.0).await,
    )
    .await
    .unwrap();
    let page = stack.picker.metrics().await.unwrap();
    let complete = [("cause", "complete")];
    let completed = "pointsman_requests_completed_total";
    exposition::expect(&page, completed, &complete, STREAMS as f64).unwrap();
    exposition::expect(&page, completed, &[], STREAMS as f64).unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], STREAMS as f64).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn b23_two_thousand_bodies_that_never_end_are_held_in_bounded_memory() {
    let case = Case::begin().await.unwrap();
    let mut options = bare(EnvoyOptions::default());
    options.picker.arguments = arguments(&["--held-bytes-max=64Mi"]);
    let stack = case.stack(options).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let before = memory_bytes_max(&stack).unwrap();
    let piece = Bytes::from(vec![b' '; 1 << 20]);
    let held = async |bodies: usize| {
        let page = stack.picker.metrics().await?;
        let bytes = exposition::sum(&page, "pointsman_held_body_bytes", &[]);
        let least = (bodies << 20) as f64;
        ensure!(bytes >= least && bytes <= least * 1.01, "{bytes} are held");
        exposition::expect(&page, "pointsman_requests_in_flight", &[], 0.0)
    };
    let mut exchanges = Vec::new();
    for index in 0..STREAMS {
        let mode = Some(BodySendMode::FullDuplexStreamed);
        let mut exchange = Exchange::open(&channel, mode).await.unwrap();
        exchange.send(chat_headers(&[])).await.unwrap();
        exchange.send(gateway::body(piece.clone())).await.unwrap();
        if index < BODIES_HELD {
            exchanges.push(exchange);
            let all = async || held(exchanges.len()).await;
            wait::until("it is held", Duration::from_secs(10), all)
                .await
                .unwrap();
            continue;
        }
        // A gateway resets the stream with this answer.
        let reply = exchange.reply().await.unwrap().response;
        let Some(Response::ImmediateResponse(refusal)) = reply else {
            panic!("stream {index} is not refused: {reply:?}");
        };
        assert_eq!(refusal.status.unwrap().code, 429);
    }
    held(BODIES_HELD).await.unwrap();
    let grown = memory_bytes_max(&stack).unwrap() - before;
    assert!(grown < 128 << 20, "the picker took {grown} bytes");

    drop(exchanges);
    let none = async || held(0).await;
    wait::until("all are freed", Duration::from_secs(10), none)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn b23_streams_that_stay_open_keep_nothing_of_the_large_requests_that_went_through() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(bare(EnvoyOptions::default())).await.unwrap();
    let backend = Backend::start("engine").await.unwrap();
    stack.publish_entries(&[backend.entry()]).await.unwrap();
    let channel = connect(stack.picker.addresses.ext_proc).await.unwrap();
    let piece = Bytes::from(vec![b' '; 1 << 20]);
    let before = memory_bytes(&stack, "VmRSS:").unwrap();
    let mut exchanges = Vec::new();
    for _ in 0..STREAMS_LARGE {
        let mode = Some(BodySendMode::FullDuplexStreamed);
        let mut exchange = Exchange::open(&channel, mode).await.unwrap();
        exchange.send(headers("/v1/other", &[])).await.unwrap();
        exchange.send(last_body(piece.clone())).await.unwrap();
        let mut back = 0;
        while back < piece.len() {
            back += exchange.reply().await.unwrap().encoded_len();
        }
        exchanges.push(exchange);
    }
    // The allocator keeps some tens of mebibytes, however many streams there are.
    let freed = async || {
        let grown = memory_bytes(&stack, "VmRSS:")?.saturating_sub(before);
        ensure!(grown < 128 << 20, "the picker took {grown} bytes");
        Ok(())
    };
    let limit = Duration::from_secs(10);
    wait::until("what went through is freed", limit, freed)
        .await
        .unwrap();
}

/// The most memory that the picker has had.
fn memory_bytes_max(stack: &Stack) -> Result<u64> {
    memory_bytes(stack, "VmHWM:")
}

/// A size of the picker's memory, as the kernel tells it under this name.
fn memory_bytes(stack: &Stack, name: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", stack.picker.child.id()))?;
    let mut lines = status.lines();
    let size = lines.find_map(|line| line.strip_prefix(name));
    let kibibytes = size.context("no such size")?.trim().trim_end_matches(" kB");
    Ok(kibibytes.parse::<u64>()? << 10)
}

/// Opens a stream in its turn and reads it to its end.
async fn hold(client: Client, index: usize, opening: Arc<Semaphore>) -> Result<()> {
    let chat = Chat::new(&format!("question {index}"), 16);
    let turn = opening.acquire().await?;
    let request = post(body::whole(chat.body(Form::Stream)));
    let mut reply = client.open(chat::PATH, request).await?;
    ensure!(reply.status().is_success(), "{}", reply.status());
    let opened = Instant::now();
    drop(turn);
    while reply
        .more()
        .await
        .with_context(|| format!("stream {index}"))?
    {}
    ensure!(
        reply.received() == events().concat(),
        "stream {index} lost something: {}",
        reply.received().escape_ascii()
    );
    let held = opened.elapsed();
    ensure!(held >= HELD.mul_f64(0.99), "it was open for {held:?} only");
    Ok(())
}

async fn in_flight(stack: &Stack, expected: f64) -> Result<()> {
    let page = stack.picker.metrics().await?;
    exposition::expect(&page, "pointsman_requests_in_flight", &[], expected)
}

/// The events of one stream. It ends with the pause after the last one.
fn events() -> Vec<Bytes> {
    let mut events: Vec<String> = (1..EVENTS)
        .map(|index| {
            format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{index}\"}}}}]}}\n\n")
        })
        .collect();
    events.push("data: [DONE]\n\n".to_owned());
    events.into_iter().map(Bytes::from).collect()
}

const STREAMS: usize = 2_000;

/// Streams with a request of a mebibyte each.
const STREAMS_LARGE: usize = 300;

/// Bodies of a mebibyte that 64 MiB have room for, with what each costs beside its bytes.
const BODIES_HELD: usize = 63;

/// Half of them over each protocol; a thousand streams of HTTP/1.1 are a thousand connections.
const CLIENTS: usize = 16;

/// Requests that are on their way to their first byte at once.
const OPENING_MAX: usize = 32;

/// How long each stream lasts, by the pace of its engine.
const HELD: Duration = Duration::from_secs(60);
const EVENTS: u32 = 12;
const EVENT_PAUSE: Duration = Duration::from_secs(HELD.as_secs() / EVENTS as u64);
