//! Models that have another name here than clients write: engines see theirs, clients theirs, and
//! nothing else changes.

use std::fs;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use pointsman_cli::envoy::EngineProtocol;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::envoy::imitation::Imitation;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{Backend, Seen, answer, json};
use pointsman_e2e::body::{Body, in_pieces, paced, whole};
use pointsman_e2e::case::{Case, arguments, bare, imitating, sampling, seeing_all};
use pointsman_e2e::chat;
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::coding::gzip;
use pointsman_e2e::exposition::{expect_ends, sum};
use pointsman_e2e::wire::{Wire, WireBackend};
use serde_json::Value;
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_request_differs_in_the_models_name_alone_and_has_one_framing() {
    let case = Case::begin().await.unwrap();
    for envoy in [sampling(5.0), imitating(Imitation::FullDuplex)] {
        let mut stack = rewriting(&case, envoy, &[ALIAS]).await;
        let backend = WireBackend::start("backend", EMPTY_ANSWER).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        rewrites(&stack, async |path, expected| {
            let seen = backend.take_one().unwrap();
            same(path, &seen.body, expected);
            assert_eq!(seen.head.framings(), 1, "b20: {:?}", seen.head);
        })
        .await;
    }
    // An engine that speaks HTTP/2 would refuse a length that is not that of the body.
    let envoy = EnvoyOptions {
        engine_protocol: EngineProtocol::H2c,
        ..sampling(5.0)
    };
    let (stack, backend) = serving(&case, envoy, &[ALIAS], |_| json("{}")).await;
    rewrites(&stack, async |path, expected| {
        same(path, &backend.take_one().unwrap().body, expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_rule_and_a_path_without_a_dialect_are_left_as_they_are() {
    let case = Case::begin().await.unwrap();
    let (stack, backend) = serving(&case, sampling(100.0), &[ALIAS], |_| json("{}")).await;
    let client = Client::new(stack.address(), Protocol::Http1);
    let chat = |model: &str| {
        format!(
            r#"{{"model": "{model}", "messages": [{{"role": "user", "content": "public-a"}}]}}"#
        )
    };
    for (path, body) in [
        (chat::PATH, chat("public-ab")),
        (chat::PATH, chat("PUBLIC-A")),
        (chat::PATH, chat("internal-a-07")),
        ("/v1/unknown", r#"{"model": "public-a"}"#.to_owned()),
    ] {
        let reply = client.post(path, body.clone()).await.unwrap();
        assert_eq!(reply.status, StatusCode::OK, "{path}");
        assert_eq!(backend.take_one().unwrap().body, body, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compressed_request_is_rewritten_too_and_arrives_plain() {
    let case = Case::begin().await.unwrap();
    let (stack, backend) = serving(&case, sampling(5.0), &[ALIAS], |_| json("{}")).await;
    let (path, body) = REQUESTS[0];
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let sent = gzip(body.replace("NAME", "public-a").as_bytes());
        let mut request = post(whole(sent));
        let coding = HeaderValue::from_static("gzip");
        request
            .headers_mut()
            .insert(header::CONTENT_ENCODING, coding);
        let reply = client.send(path, request).await.unwrap();
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        let seen = backend.take_one().unwrap();
        assert_eq!(seen.body, body.replace("NAME", "internal-a-07"));
        assert_eq!(seen.headers.get(header::CONTENT_ENCODING), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b41_a_response_names_the_model_as_the_client_does_at_its_top_level_alone() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let (stack, _backend) = serving(&case, envoy, &[ALIAS], documents).await;
        let client = Client::new(stack.address(), Protocol::Http2);
        for (index, document) in DOCUMENTS.into_iter().enumerate() {
            let expected = document.replace("NAME", "public-a");
            for piece_bytes in [7, 10_000] {
                let request = ask(index, piece_bytes);
                let mut wire = Wire::connect(stack.address()).await.unwrap();
                let head = format!(
                    "POST {} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n\
                     content-length: {}\r\n\r\n{request}",
                    chat::PATH,
                    request.len()
                );
                wire.send(head).await.unwrap();
                let reply = wire.message().await.unwrap();
                assert_eq!(reply.body, expected, "{envoy:?}");
                assert_eq!(reply.head.framings(), 1, "b20: {:?}", reply.head);

                let reply = client.post(chat::PATH, request).await.unwrap();
                assert_eq!(reply.body, expected, "{envoy:?}");
            }
        }
        let requests = 4.0 * DOCUMENTS.len() as f64;
        expect_ends(&stack, "complete", requests).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b41_a_stream_names_the_model_as_the_client_does_wherever_it_is_cut() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let (stack, _backend) = serving(&case, envoy, &[ALIAS], stream).await;
        let mut streams = JoinSet::new();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            for piece_bytes in [1, 2, 3, 7, 50, 10_000] {
                let client = Client::new(stack.address(), protocol);
                streams.spawn(async move {
                    let reply = client.post(chat::PATH, ask(0, piece_bytes)).await.unwrap();
                    let expected = EVENTS.replace("NAME", "public-a");
                    let text = String::from_utf8_lossy(&reply.body);
                    assert_eq!(text, expected, "{envoy:?} {protocol:?} by {piece_bytes}");
                });
            }
        }
        let requests = streams.join_all().await.len();
        expect_ends(&stack, "complete", requests as f64)
            .await
            .unwrap();
        let page = stack.picker.metrics().await.unwrap();
        let prompt = sum(&page, "pointsman_usage_tokens_total", &[("kind", "prompt")]);
        assert_eq!(prompt as usize, 7 * requests, "usage is read all the same");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_b09_a_body_without_a_model_gets_the_one_of_a_rule_for_all_or_400() {
    let case = Case::begin().await.unwrap();
    let body = r#"{ "messages": [{"role": "user", "content": "Hi"}] }"#;
    let rules = [ALIAS, CATCH_ALL];
    let (stack, backend) = serving(&case, sampling(5.0), &rules, |_| json("{}")).await;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        let reply = client.post(chat::PATH, body).await.unwrap();
        assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
        let seen = backend.take_one().unwrap();
        let arrived: Value = serde_json::from_slice(&seen.body).unwrap();
        assert_eq!(arrived["model"], "internal-default");
        assert_eq!(arrived["messages"][0]["content"], "Hi");
        let rest = seen
            .body
            .windows(body.len() - 1)
            .any(|part| *part == body.as_bytes()[1..]);
        assert!(rest, "the rest is as it was: {}", seen.body.escape_ascii());

        // The rule that names a model comes before the one for all.
        let named = r#"{"model": "public-a", "messages": [{"role": "user", "content": "Hi"}]}"#;
        client.post(chat::PATH, named).await.unwrap();
        let expected = named.replace("public-a", "internal-a-07");
        assert_eq!(backend.take_one().unwrap().body, expected);
    }
    drop(stack);

    let (stack, backend) = serving(&case, sampling(5.0), &[ALIAS], |_| json("{}")).await;
    let client = Client::new(stack.address(), Protocol::Http1);
    let reply = client.post(chat::PATH, body).await.unwrap();
    assert_eq!(reply.status, StatusCode::BAD_REQUEST);
    assert_eq!(reply.json().unwrap()["error"]["param"], "model");
    assert!(backend.take().is_empty());
}

/// Sends every request in every form, and lets `check` see what should have arrived.
async fn rewrites(stack: &Stack, check: impl AsyncFn(&str, &str)) {
    let text = "word".repeat(300_000);
    let large = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}],"model":"NAME"}}"#);
    for (path, body) in REQUESTS.into_iter().chain([(chat::PATH, &*large)]) {
        let sent = body.replace("NAME", "public-a");
        let expected = body.replace("NAME", "internal-a-07");
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for request in [whole(sent.clone()), in_pieces(sent.as_bytes(), 9_999)] {
                let reply = client.send(path, post(request)).await.expect("a reply");
                assert_eq!(reply.status, StatusCode::OK, "{path}: {reply:?}");
                check(path, &expected).await;
            }
        }
    }
    let escaped = r#"{"model":"public\u002da","messages":[{"role":"user","content":"x"}]}"#;
    let client = Client::new(stack.address(), Protocol::Http1);
    let reply = client.post(chat::PATH, escaped).await.expect("a reply");
    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
    check(
        chat::PATH,
        &escaped.replace(r"public\u002da", "internal-a-07"),
    )
    .await;
}

fn same(path: &str, arrived: &Bytes, expected: &str) {
    let beginning = arrived.slice(..arrived.len().min(1000));
    assert!(*arrived == expected, "{path}: {}", beginning.escape_ascii());
}

/// A setup with a picker that has these rules, and no endpoint yet.
async fn rewriting(case: &Case, envoy: EnvoyOptions, rules: &[&str]) -> Stack {
    let path = case.folder().join("rewrites.yaml");
    fs::write(&path, format!("{REWRITE}{}", rules.concat())).expect("a file");
    let mut options = bare(envoy);
    let path = path.to_str().expect("a path that is text");
    options.picker.arguments = arguments(&["--model-rewrites", path]);
    case.stack(options).await.expect("a setup")
}

/// The same with an engine that gives these answers.
async fn serving(
    case: &Case,
    envoy: EnvoyOptions,
    rules: &[&str],
    answer: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static,
) -> (Stack, Backend) {
    let mut stack = rewriting(case, envoy, rules).await;
    let backend = Backend::answering("backend", answer).await;
    let backend = backend.expect("a backend");
    let published = stack.publish_entries(&[backend.entry()]).await;
    published.expect("endpoints");
    (stack, backend)
}

/// A chat that wants one of the answers, in pieces of so many bytes.
fn ask(index: usize, piece_bytes: usize) -> String {
    format!(
        r#"{{"model":"public-a","messages":[{{"role":"user","content":"{index} {piece_bytes}"}}]}}"#
    )
}

/// The document that is asked for.
fn documents(seen: &Seen) -> Response<Body> {
    let (index, piece_bytes) = asked(seen);
    let document = DOCUMENTS.get(index).expect("a document");
    let document = document.replace("NAME", "internal-a-07");
    if piece_bytes > document.len() {
        json(document)
    } else {
        answer(
            "application/json",
            paced(cut(&document, piece_bytes), PAUSE),
        )
    }
}

/// The events, in pieces as asked for.
fn stream(seen: &Seen) -> Response<Body> {
    let (_, piece_bytes) = asked(seen);
    let events = EVENTS.replace("NAME", "internal-a-07");
    let pieces = paced(cut(&events, piece_bytes), PAUSE);
    answer("text/event-stream; charset=utf-8", pieces)
}

fn asked(seen: &Seen) -> (usize, usize) {
    let body: Value = serde_json::from_slice(&seen.body).expect("JSON");
    assert_eq!(body["model"], "internal-a-07");
    let (index, piece_bytes) = body["messages"][0]["content"]
        .as_str()
        .and_then(|text| text.split_once(' '))
        .expect("two numbers");
    (
        index.parse().expect("a number"),
        piece_bytes.parse().expect("a number"),
    )
}

fn cut(text: &str, piece_bytes: usize) -> Vec<Bytes> {
    let pieces = text.as_bytes().chunks(piece_bytes);
    pieces.map(Bytes::copy_from_slice).collect()
}

/// Enough for a piece to travel alone.
const PAUSE: Duration = Duration::from_millis(1);

const EMPTY_ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    content-length: 2\r\nconnection: close\r\n\r\n{}";

const REWRITE: &str = "\
apiVersion: llm-d.ai/v1alpha2
kind: InferenceModelRewrite
metadata:
  name: aliases
spec:
  poolRef:
    name: pool
  rules:
";
const ALIAS: &str = "
  - matches:
    - model:
        type: Exact
        value: public-a
    targets:
    - modelRewrite: internal-a-07
";
const CATCH_ALL: &str = "
  - targets:
    - modelRewrite: internal-default
";

/// `NAME` is where the name of the model stands.
const REQUESTS: [(&str, &str); 8] = [
    (
        chat::PATH,
        "{ \"model\" : \"NAME\" ,\t\"seed\": 9223372036854775808, \"z\":1.0e5, \"a\":[ ],\r\n \
         \"messages\":[ {\"role\":\"user\",\"model\":\"public-a\", \"content\":\"public-a, \
         \\\"model\\\":\\\"public-a\\\" \\u00e9 \u{e9}\"} ]  , \"user\":\"public-a\"}\n",
    ),
    (
        chat::PATH,
        r#"{"messages":[{"role":"user","content":"x"}],"model":"NAME"}"#,
    ),
    // Of a member that is there twice the last one counts, for engines too.
    (
        chat::PATH,
        r#"{"model":"first","messages":[{"role":"user","content":"x"}],"model":"NAME","n":1}"#,
    ),
    (
        "/v1/completions",
        r#"{"prompt":["a","b"],"model":"NAME","n":18446744073709551616}"#,
    ),
    ("/v1/embeddings", r#"{"input":[15496,995],"model":"NAME"}"#),
    (
        "/v1/responses",
        r#"{"model":"NAME","input":"Hi","metadata":{"model":"public-a"}}"#,
    ),
    (
        "/v1/messages",
        r#"{"model":"NAME","max_tokens":10,"messages":[{"role":"user","content":"x"}]}"#,
    ),
    (
        "/provider/v1/chat/completions?beta=1",
        r#"{"model":"NAME","messages":[{"role":"user","content":"x"}]}"#,
    ),
];

const DOCUMENTS: [&str; 4] = [
    r#"{"id":"c","created":9223372036854775808,"model":"NAME","choices":[{"message":{"content":"I am internal-a-07. \"model\":\"internal-a-07\""}}],"usage":{"prompt_tokens":7,"completion_tokens":1}}"#,
    "{ \"model\" :  \"NAME\" , \"choices\": [{\"model\": \"internal-a-07\"}], \
     \"system_fingerprint\": \"internal-a-07\" }\n",
    r#"{"choices":[{"message":{"content":"Hi"}}],"model":"NAME"}"#,
    // What cannot be read is passed on.
    r#"internal-a-07 is no JSON: {"model":"internal-a-07"}"#,
];

const EVENTS: &str = concat!(
    r#"data: {"id":"c","model":"NAME","choices":[{"delta":{"content":"internal-a-07, \"model\":\"internal-a-07\""}}]}"#,
    "\n\n: a comment with \"model\":\"internal-a-07\"\n\n",
    r#"data:{"model":  "NAME","choices":[{"model":"internal-a-07"}]}"#,
    "\r\n\r\nevent: message\n",
    r#"data: {"choices":[],"model" : "NAME","usage":{"prompt_tokens":7,"completion_tokens":2}}"#,
    "\n\ndata: [DONE]\n\n",
);
