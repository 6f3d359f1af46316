//! Requests are answered, spread, and conversations stay where their cache is.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use pointsman_cli::envoy::PickerSecurity;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{Chat, Form};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::exposition;
use pointsman_e2e::wait;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_chats_are_all_answered_over_both_protocols() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(4)).await.unwrap();
    let mut users = JoinSet::new();
    for user in 0..10 {
        let protocol = [Protocol::Http1, Protocol::Http2][user % 2];
        let client = Client::new(stack.address(), protocol);
        users.spawn(async move {
            let mut engines = Vec::new();
            for turn in 0..20 {
                let form = [Form::Plain, Form::Stream][turn % 2];
                let chat = Chat::new(&format!("question {turn} of user {user}"), 16);
                let answer = client.chat(&chat, form).await.unwrap();
                assert_eq!(answer.output_tokens, 16);
                assert_eq!(
                    answer.text.len(),
                    16 * 4,
                    "every token is one word of four bytes"
                );
                engines.push(answer.engine);
            }
            engines
        });
    }
    let engines: Vec<String> = users.join_all().await.into_iter().flatten().collect();
    assert_eq!(engines.len(), 200);

    let mut served: BTreeMap<&str, u32> = BTreeMap::new();
    for engine in &engines {
        *served.entry(engine).or_default() += 1;
    }
    assert_eq!(served.len(), 4, "every engine served some: {served:?}");

    // Not by failing open: the picker picked for each of them, and each ended once.
    let ended = async || {
        let page = stack.picker.metrics().await?;
        exposition::expect(&page, "pointsman_picks_total", &[], 200.0)?;
        let complete = [("cause", "complete")];
        exposition::expect(
            &page,
            "pointsman_requests_completed_total",
            &complete,
            200.0,
        )?;
        exposition::expect(&page, "pointsman_requests_in_flight", &[], 0.0)
    };
    wait::until("200 picks and 200 ends", Duration::from_secs(5), ended)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_growing_conversation_stays_on_its_engine_while_load_allows() {
    let case = Case::begin().await.unwrap();
    let stack = case.stack(quick(3)).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http1);
    let mut homes = BTreeSet::new();
    for user in 0..6 {
        let begin = format!("I am user {user}. {}", "Tell me more about it. ".repeat(60));
        let mut chat = Chat::new(&begin, 64);
        let mut answer = client.chat(&chat, Form::Stream).await.unwrap();
        let home = answer.engine.clone();
        for turn in 1..6 {
            chat.quote(&answer);
            chat.say(&format!(
                "And then, for the {turn}. time? {}",
                "Go on. ".repeat(30)
            ));
            let next = client.chat(&chat, Form::Stream).await.unwrap();
            assert_eq!(next.engine, home, "turn {turn} of user {user}");
            assert!(
                next.cached_tokens + 16 > answer.prompt_tokens,
                "all full blocks of turn {} are found again: {next:?} after {answer:?}",
                turn - 1
            );
            answer = next;
        }
        homes.insert(home);
    }
    assert!(
        homes.len() > 1,
        "different conversations may live on different engines"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picker_that_nobody_configured_is_spoken_to_over_tls() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(2);
    options.picker.security = PickerSecurity::UnverifiedTls;
    let stack = case.stack(options).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    for index in 0..10 {
        let chat = Chat::new(&format!("question {index}"), 4);
        client.chat(&chat, Form::Stream).await.unwrap();
    }
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], 10.0).unwrap();
    assert_eq!(
        stack
            .envoy
            .statistic("cluster.picker.ssl.connection_error")
            .await
            .unwrap(),
        0
    );
    assert!(
        stack
            .envoy
            .statistic("cluster.picker.ssl.handshake")
            .await
            .unwrap()
            > 0
    );
}
