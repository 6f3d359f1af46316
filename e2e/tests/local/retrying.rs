//! Engines that fail a request before they answer it: it is sent again, whole, to the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{AtHead, Backend, Manner, Seen, json, with_status};
use pointsman_e2e::body::{in_pieces, whole};
use pointsman_e2e::case::{Case, bare};
use pointsman_e2e::chat;
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition;

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_request_that_is_answered_with_503_reaches_the_next_engine_whole_and_once() {
    fails_once(2, |failure| {
        Manner::answering(move |_| {
            if failure.take() {
                with_status(StatusCode::SERVICE_UNAVAILABLE)
            } else {
                json("{}")
            }
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_request_that_is_answered_with_503_unread_reaches_the_next_engine_whole_and_once()
{
    fails_once(1, |failure| {
        Manner::answering(|_| json("{}")).at_head(move || {
            if failure.take() {
                AtHead::Answer(StatusCode::SERVICE_UNAVAILABLE)
            } else {
                AtHead::Read
            }
        })
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_request_whose_connection_is_closed_reaches_the_next_engine_whole_and_once() {
    fails_once(1, |failure| {
        Manner::answering(|_| json("{}")).at_head(move || {
            if failure.take() {
                AtHead::Close
            } else {
                AtHead::Read
            }
        })
    })
    .await;
}

/// Sends requests of all sizes, each of which fails at the first engine that it reaches and arrives
/// complete at so many, to engines of this manner.
async fn fails_once(arrivals: usize, manner: impl Fn(Failure) -> Manner) {
    let case = Case::begin().await.expect("a place for the test");
    let stack = case.stack(bare(EnvoyOptions::default())).await;
    let mut stack = stack.expect("a setup");
    let failure = Failure::default();
    let mut backends = Vec::new();
    for name in ["left", "middle", "right"] {
        let backend = Backend::with_manner(name, manner(failure.clone())).await;
        backends.push(backend.expect("a backend"));
    }
    let entries: Vec<_> = backends.iter().map(Backend::entry).collect();
    stack.publish_entries(&entries).await.expect("endpoints");
    let requests = send_all(&stack, &failure, &backends, arrivals).await;
    expect_ends(&stack, requests).await;
}

/// Sends small and large bodies in all forms, each with one failure, and checks that each of them is
/// answered well and arrived `arrivals` times in all. Returns how many there were.
async fn send_all(
    stack: &Stack,
    failure: &Failure,
    backends: &[Backend],
    arrivals: usize,
) -> usize {
    let mut requests = 0;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for bytes in [1 << 10, 100 << 10, 16 << 20] {
            let sent = chat::body_of(bytes);
            for body in [whole(sent.clone()), in_pieces(&sent, 100_000)] {
                failure.make_due();
                let reply = client.send(chat::PATH, post(body)).await.expect("a reply");
                assert_eq!(
                    reply.status,
                    StatusCode::OK,
                    "{bytes} bytes over {protocol:?}"
                );
                assert!(!failure.take(), "an engine failed it first");
                let arrived: Vec<Seen> = backends.iter().flat_map(Backend::take).collect();
                assert_eq!(arrived.len(), arrivals, "{bytes} bytes over {protocol:?}");
                assert!(arrived.iter().all(|seen| seen.body == sent));
                requests += 1;
            }
        }
    }
    requests
}

/// Checks that each request was picked for once and ended once, at another engine than the first.
async fn expect_ends(stack: &Stack, requests: usize) {
    let requests = requests as f64;
    exposition::expect_ends(stack, "complete", requests)
        .await
        .expect("every request ends");
    let page = stack.picker.metrics().await.expect("the metrics page");
    for name in [
        "pointsman_picks_total",
        "pointsman_requests_completed_total",
        "pointsman_served_elsewhere_total",
    ] {
        exposition::expect(&page, name, &[], requests).expect("each counts once");
    }
}

/// One failure that whichever engine is asked first takes.
#[derive(Clone, Default)]
struct Failure(Arc<AtomicBool>);

impl Failure {
    fn make_due(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was due. It is not any more.
    fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}
