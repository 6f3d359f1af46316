//! The endpoints file changes under a running picker.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::traffic::Traffic;
use pointsman_e2e::{exposition, wait};

#[tokio::test(flavor = "multi_thread")]
async fn an_added_engine_gets_traffic_and_a_removed_one_gets_none() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(2)).await.unwrap();
    assert_eq!(serving(&stack).await, ["engine-0", "engine-1"]);

    let added = Engine::start("engine-added", &[], case.folder())
        .await
        .unwrap();
    stack.engines.push(added);
    stack.publish().await.unwrap();
    assert_eq!(
        serving(&stack).await,
        ["engine-0", "engine-1", "engine-added"]
    );

    let removed = stack.engines.remove(0);
    stack.publish().await.unwrap();
    assert_eq!(serving(&stack).await, ["engine-1", "engine-added"]);
    drop(removed);
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_flows_on_while_engines_come_and_go() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(3)).await.unwrap();
    let traffic = Traffic::start(stack.address(), 4, 8);
    for _ in 0..5 {
        traffic.more(10).await.unwrap();
        let leaves = stack.engines.remove(0);
        stack.publish().await.unwrap();
        traffic.more(10).await.unwrap();
        stack.engines.push(leaves);
        stack.publish().await.unwrap();
    }
    for outcome in traffic.stop().await {
        outcome.answer.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_flows_on_while_all_engines_are_replaced_at_once() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(2)).await.unwrap();
    let entries = [stack.engines[0].entry(), stack.engines[1].entry()];
    let traffic = Traffic::start(stack.address(), 8, 1);
    for turn in 0..30 {
        stack
            .publish_entries(&entries[turn % 2..=turn % 2])
            .await
            .unwrap();
        traffic.more(8).await.unwrap();
    }
    for outcome in traffic.stop().await {
        outcome.answer.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_a_broken_endpoints_file_keeps_the_last_good_set_and_is_counted_once() {
    let case = Case::begin().await.unwrap();
    let mut stack = case.stack(quick(2)).await.unwrap();
    let errors = async |expected: f64| {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_discovery_errors_total", &[], expected)
    };
    let replace = |text: &str| {
        let new = stack.endpoints_path().with_extension("new");
        fs::write(&new, text).and_then(|()| fs::rename(&new, stack.endpoints_path()))
    };

    replace("endpoints:\n- name: half a li").unwrap();
    wait::until("it is counted", WAIT_MAX, async || errors(1.0).await)
        .await
        .unwrap();
    assert_eq!(serving(&stack).await, ["engine-0", "engine-1"]);
    // What happens beside the file, such as a new line in the log, is no change of it.
    errors(1.0).await.unwrap();

    replace("endpoints: []\nendpoints: []\n").unwrap();
    wait::until("the next one is counted", WAIT_MAX, async || {
        errors(2.0).await
    })
    .await
    .unwrap();

    stack.engines.remove(1);
    stack.publish().await.unwrap();
    assert_eq!(serving(&stack).await, ["engine-0"]);
}

/// The engines that serve a burst of requests, each of which is answered.
async fn serving(stack: &Stack) -> Vec<String> {
    let traffic = Traffic::start(stack.address(), 6, 8);
    traffic.more(60).await.expect("traffic");
    let outcomes = traffic.stop().await;
    let engines = outcomes
        .into_iter()
        .map(|outcome| outcome.answer.expect("an answer").engine);
    BTreeSet::from_iter(engines).into_iter().collect()
}

const WAIT_MAX: Duration = Duration::from_secs(5);
