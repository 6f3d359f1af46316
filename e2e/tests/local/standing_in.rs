//! What an engine offers besides chats reaches clients through gateway and picker.

use anyhow::{Context as _, Result};
use http::HeaderValue;
use pointsman_e2e::body::whole;
use pointsman_e2e::case::{Case, arguments, quick};
use pointsman_e2e::chat::{self, Answer, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::exposition;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn an_adapter_answers_under_its_name_and_tells_the_load_where_it_is_asked_for() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(2);
    let adapters = arguments(&["--adapter-slots=1", "--lora=sql", "--lora=law"]);
    options.engine_arguments.extend(adapters);
    let stack = case.stack(options).await.unwrap();
    let mut picks = 0.0;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for (adapter, form) in [("sql", Form::Plain), ("law", Form::Stream)] {
            let reply = ask(&client, adapter, form).await.unwrap();
            let answer = Answer::read(form, &reply).unwrap();
            assert_eq!(answer.output_tokens, 8);
            let text = core::str::from_utf8(&reply.body).unwrap();
            assert!(text.contains(&format!("\"model\":\"{adapter}\"")), "{text}");
            let waiting = waiting(&reply).unwrap();
            assert_eq!(waiting, 0, "nobody else asks");
            picks += 1.0;
        }
    }
    // Not by failing open: the picker picked for each of them.
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], picks).unwrap();
    stack.stop().await.unwrap();
}

/// Asks an adapter, and for a report of the engine's load.
async fn ask(client: &Client, adapter: &str, form: Form) -> Result<Reply> {
    let mut body: Value = serde_json::from_slice(&Chat::new("Hi", 8).body(form))?;
    body["model"] = json!(adapter);
    let mut request = post(whole(body.to_string()));
    request.headers_mut().insert(
        "endpoint-load-metrics-format",
        HeaderValue::from_static("JSON"),
    );
    client.send(chat::PATH, request).await
}

/// The waiting requests that a report tells of.
fn waiting(reply: &Reply) -> Result<u64> {
    let report = reply.header("endpoint-load-metrics");
    let report = report.with_context(|| format!("no report: {reply:?}"))?;
    let report = report.strip_prefix("JSON ").context("a report of JSON")?;
    let report: Value = serde_json::from_str(report)?;
    let waiting = report.pointer("/named_metrics/num_requests_waiting");
    let waiting = waiting.and_then(Value::as_f64);
    Ok(waiting.with_context(|| format!("no waiting requests: {report}"))? as u64)
}
