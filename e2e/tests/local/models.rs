//! Which models there are: the list of one engine, or with `--merge-models` that of all.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use http::StatusCode;
use pointsman_cli::harness::engine::Engine;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::case::{Case, arguments, quick};
use pointsman_e2e::client::{Client, Protocol};
use pointsman_e2e::exposition;
use pointsman_e2e::wait;

#[tokio::test(flavor = "multi_thread")]
async fn merged_models_are_those_of_all_engines_and_go_with_their_engine() {
    let case = Case::begin().await.unwrap();
    let mut stack = two_engines(&case, &["--merge-models"]).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        listed(&client, &["law", "sql", "stand-in"]).await.unwrap();
        let reply = client.get("/v1/models?x=1").await.unwrap();
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let list = reply.json().unwrap();
        assert_eq!(list["object"], "list");
        assert_eq!(list["data"][0]["parent"], "stand-in");
        assert_eq!(list["data"][2]["max_model_len"].as_u64(), Some(131_072));
    }
    drop(stack.engines.pop());
    stack.publish().await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http1);
    listed(&client, &["sql", "stand-in"]).await.unwrap();
    stack.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_flag_an_engine_answers_which_models_it_has() {
    let case = Case::begin().await.unwrap();
    let stack = two_engines(&case, &[]).await.unwrap();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let models = models(&client).await.unwrap();
        let of_engines = [["stand-in", "sql"], ["stand-in", "law"]];
        assert!(of_engines.iter().any(|ids| models == *ids), "{models:?}");
    }
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], 2.0).unwrap();
    stack.stop().await.unwrap();
}

/// Two engines, each with an adapter that the other has not, and a picker with these arguments.
async fn two_engines(case: &Case, picker: &[&str]) -> Result<Stack> {
    let mut options = quick(0);
    options.picker.arguments = arguments(picker);
    let mut stack = case.stack(options).await?;
    for (name, adapter) in [("engine-0", "--lora=sql"), ("engine-1", "--lora=law")] {
        let flags = arguments(&["--adapter-slots=1", adapter]);
        stack
            .engines
            .push(Engine::start(name, &flags, case.folder()).await?);
    }
    stack.publish().await?;
    Ok(stack)
}

/// Waits until these are the models.
async fn listed(client: &Client, expected: &[&str]) -> Result<()> {
    let check = async || {
        let models = models(client).await?;
        ensure!(models == expected, "{models:?}");
        Ok(())
    };
    wait::until("the models of the engines", Duration::from_secs(5), check).await
}

/// The ids of the models that a client sees.
async fn models(client: &Client) -> Result<Vec<String>> {
    let reply = client.get("/v1/models").await?;
    ensure!(reply.status == StatusCode::OK, "{reply:?}");
    let list = reply.json()?;
    let cards = list["data"].as_array().context("no list of models")?;
    let ids = cards.iter().filter_map(|card| card["id"].as_str());
    Ok(ids.map(str::to_owned).collect())
}
