//! Engines and pickers that die.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::Signal;
use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::body::unfinished;
use pointsman_e2e::case::{Case, quick, set_faults};
use pointsman_e2e::chat;
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::traffic::{Outcome, Traffic};
use pointsman_e2e::{exposition, wait};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

#[tokio::test(flavor = "multi_thread")]
async fn failure_an_engine_that_is_killed_costs_no_new_request() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(3)).await.unwrap();
    let traffic = Traffic::start(stack.address(), 6, 16);
    traffic.more(60).await.unwrap();

    stack.engines[1].child.kill().unwrap();
    let killed = Instant::now();
    let out = async || ejected(&stack, true).await;
    wait::until("the picker takes it out", WAIT_MAX, out)
        .await
        .unwrap();
    traffic.more(120).await.unwrap();
    let outcomes = traffic.stop().await;

    let before = outcomes.iter().filter(|outcome| outcome.sent < killed);
    let before = before.filter_map(|outcome| outcome.answer.as_ref().ok());
    assert!(
        before
            .map(|answer| &answer.engine)
            .any(|engine| engine == "engine-1")
    );
    let after = answers_since(&outcomes, killed);
    assert!(after.values().sum::<usize>() > 100, "{after:?}");
    assert!(!after.contains_key("engine-1"), "{after:?}");
    let page = stack.picker.metrics().await.unwrap();
    let out = [("change", "out")];
    exposition::expect(&page, "pointsman_endpoint_ejections_total", &out, 1.0).unwrap();

    stack.engines[1].restart().await.unwrap();
    let back = async || ejected(&stack, false).await;
    wait::until("the picker takes it back", WAIT_MAX, back)
        .await
        .unwrap();
    let traffic = Traffic::start(stack.address(), 6, 16);
    traffic.more(100).await.unwrap();
    let after = answers_since(&traffic.stop().await, killed);
    assert!(after.contains_key("engine-1"), "it serves again: {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b30_a_picker_that_is_killed_costs_no_request_half_a_second_later() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(3)).await.unwrap();
    let traffic = Traffic::start(stack.address(), 4, 8);
    traffic.more(40).await.unwrap();

    stack.picker.child.kill().unwrap();
    let promised = Instant::now() + Duration::from_millis(500);
    sleep_until(promised).await;
    traffic.more(150).await.unwrap();
    let alone = Instant::now();
    stack.picker.restart().await.unwrap();
    wait::until("picks come again", WAIT_MAX, async || {
        let page = stack.picker.metrics().await?;
        let picks = exposition::sum(&page, "pointsman_picks_total", &[]);
        ensure!(picks > 20.0, "{picks} picks");
        Ok(())
    })
    .await
    .unwrap();
    let outcomes = traffic.stop().await;

    // Those that Envoy balanced by itself, and those around the picker's return.
    answers_since(&outcomes, promised);
    let without: Vec<Outcome> = outcomes.into_iter().filter(|o| o.sent < alone).collect();
    let balanced = answers_since(&without, promised);
    let share = balanced.values().sum::<usize>() / 3;
    assert!(
        balanced.len() == 3 && balanced.values().all(|&served| served > share / 2),
        "the engines still share the load: {balanced:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b30_a_picker_that_dies_within_a_body_costs_that_request_a_clear_5xx() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(1)).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let mut uploading = JoinSet::new();
        let half = post(unfinished(chat::body_of(1 << 20)));
        uploading.spawn(async move { client.send(chat::PATH, half).await });
        wait::until("half is there", WAIT_MAX, async || {
            let page = stack.picker.metrics().await?;
            let held = exposition::sum(&page, "pointsman_held_body_bytes", &[]);
            ensure!(held >= f64::from(1 << 20), "{held} bytes are held");
            Ok(())
        })
        .await
        .unwrap();

        stack.picker.child.kill().unwrap();
        let reply = uploading.join_next().await.unwrap().unwrap().unwrap();
        assert!(reply.status.is_server_error(), "{protocol:?}: {reply:?}");
        stack.picker.restart().await.unwrap();
        stack.publish().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_an_engine_whose_metrics_stop_shows_how_old_its_load_is() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(2)).await.unwrap();
    let ages = async |stack: &Stack| -> Result<(f64, f64)> {
        let page = stack.picker.metrics().await?;
        let age = |engine: &Engine| {
            let address = engine.address.to_string();
            let labels = [("endpoint", &*address)];
            exposition::sum(&page, "pointsman_endpoint_signal_age_seconds", &labels)
        };
        Ok((age(&stack.engines[0]), age(&stack.engines[1])))
    };
    stack.engines[1].child.signal(Signal::SIGSTOP).unwrap();
    wait::until("one load is old, and only one", WAIT_MAX, async || {
        let (fresh, old) = ages(&stack).await?;
        ensure!(fresh < 1.0 && old > 1.5, "{fresh} s and {old} s");
        let stopped = stack.engines[1].address.to_string();
        let endpoints = stack.picker.endpoints().await?;
        let mut told = endpoints.as_array().into_iter().flatten();
        let age = told.find(|endpoint| endpoint["address"] == *stopped);
        let age = age.and_then(|endpoint| endpoint["age_ms"].as_u64());
        ensure!(age > Some(1500), "{endpoints}");
        Ok(())
    })
    .await
    .unwrap();
    stack.engines[1].child.signal(Signal::SIGCONT).unwrap();
    wait::until("it is fresh again", WAIT_MAX, async || {
        let (_, old) = ages(&stack).await?;
        ensure!(old < 1.0, "{old} s");
        Ok(())
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_an_engine_that_answers_503_is_passed_over_and_taken_out() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(3)).await.unwrap();
    set_faults(&stack.engines[1], &["error:503"]).await.unwrap();
    let traffic = Traffic::start(stack.address(), 4, 8);
    traffic.more(100).await.unwrap();
    let after = answers_since(
        &traffic.stop().await,
        Instant::now() - Duration::from_secs(60),
    );
    assert!(!after.contains_key("engine-1"), "{after:?}");
    let page = stack.picker.metrics().await.unwrap();
    let out = [("change", "out")];
    assert!(exposition::sum(&page, "pointsman_endpoint_ejections_total", &out) >= 1.0);
    assert!(exposition::sum(&page, "pointsman_served_elsewhere_total", &[]) >= 3.0);
}

/// How many answers each engine gave to requests sent since `since`, all of which must have one.
fn answers_since(outcomes: &[Outcome], since: Instant) -> BTreeMap<String, usize> {
    let mut served = BTreeMap::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.sent >= since) {
        match &outcome.answer {
            Ok(answer) => *served.entry(answer.engine.clone()).or_default() += 1,
            Err(error) => {
                let late = outcome.sent.duration_since(since);
                panic!("a request sent {late:?} after it failed: {error:#}");
            }
        }
    }
    served
}

/// Checks whether the second engine is out of the picks, and no other.
async fn ejected(stack: &Stack, expected: bool) -> Result<()> {
    let endpoints = stack.picker.endpoints().await?;
    let address = stack.engines[1].address.to_string();
    let out: Vec<&Value> = endpoints
        .as_array()
        .into_iter()
        .flatten()
        .filter(|endpoint| endpoint["ejected"] == true)
        .map(|endpoint| &endpoint["address"])
        .collect();
    let expected: Vec<&str> = Vec::from_iter(expected.then_some(&*address));
    ensure!(
        out == expected,
        "out are {out:?} and should be {expected:?}"
    );
    Ok(())
}

const WAIT_MAX: Duration = Duration::from_secs(10);
