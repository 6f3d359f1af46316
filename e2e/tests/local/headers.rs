//! Headers and framing: what either side sends arrives as it was sent, but for what is only between
//! two neighbours and for what belongs to the system.

use http::{HeaderName, HeaderValue, StatusCode};
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::body::{in_pieces, whole};
use pointsman_e2e::case::{Case, bare, sampling, seeing_all};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition::expect_ends;
use pointsman_e2e::wire::{Wire, WireBackend};

#[tokio::test(flavor = "multi_thread")]
async fn repeated_headers_arrive_as_often_as_they_were_sent_in_both_directions() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let (stack, backend) = serving(&case, envoy).await;
        let mut wire = Wire::connect(stack.address()).await.unwrap();
        let body = Chat::new("Hi", 1).body(Form::Plain);
        wire.send(head(
            &format!("content-length: {}", body.len()),
            "X-Multi: one\r\ncookie: a=1\r\nx-multi: two\r\ncookie: b=2\r\n\
             x-bytes: \u{ff}\u{fe}\r\nx-empty:\r\n",
        ))
        .await
        .unwrap();
        wire.send(&body).await.unwrap();
        let reply = wire.message().await.unwrap();
        assert_eq!(reply.head.status().unwrap(), 200);
        assert_eq!(reply.body, "{}");
        assert_eq!(reply.head.values("set-cookie"), COOKIES, "{envoy:?}");
        assert_eq!(reply.head.values("x-multi"), ["one", "two"]);
        assert_eq!(reply.head.framings(), 1, "b20");

        let seen = backend.take_one().unwrap();
        assert_eq!(seen.body, body);
        assert_eq!(seen.head.values("x-multi"), ["one", "two"], "{envoy:?}");
        assert_eq!(seen.head.values("cookie"), ["a=1", "b=2"]);
        assert_eq!(seen.head.values("x-bytes"), ["\u{ff}\u{fe}"], "b27");
        assert_eq!(seen.head.values("x-empty"), [""]);

        let client = Client::new(stack.address(), Protocol::Http2);
        let mut request = post(whole(body.clone()));
        for value in ["one", "two"] {
            let value = HeaderValue::from_static(value);
            request.headers_mut().append("x-multi", value);
        }
        let reply = client.send(chat::PATH, request).await.unwrap();
        assert_eq!(reply.status, StatusCode::OK);
        let cookies: Vec<_> = reply.headers.get_all("set-cookie").iter().collect();
        assert_eq!(cookies, COOKIES, "{envoy:?}");
        let seen = backend.take_one().unwrap();
        assert_eq!(seen.head.values("x-multi"), ["one", "two"], "{envoy:?}");
        expect_ends(&stack, "complete", 2.0).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b15_what_belongs_to_the_system_does_not_reach_an_engine_in_whatever_case_and_how_often() {
    let case = Case::begin().await.unwrap();
    let (stack, backend) = serving(&case, sampling(5.0)).await;
    let body = Chat::new("Hi", 1).body(Form::Plain);
    let mut lines = String::new();
    for name in SYSTEM_OWNED {
        lines += &format!("{}: 10.0.0.9:22\r\n", name.to_uppercase());
        lines += &format!("{}: 10.0.0.8:22\r\n", name.replacen("x-", "X-", 1));
    }
    let mut wire = Wire::connect(stack.address()).await.unwrap();
    let length = format!("content-length: {}", body.len());
    wire.send(head(&length, &lines)).await.unwrap();
    wire.send(&body).await.unwrap();
    let reply = wire.message().await.unwrap();
    assert_eq!(reply.head.status().unwrap(), 200, "{reply:?}");
    let over_http1 = backend.take_one().unwrap();

    let client = Client::new(stack.address(), Protocol::Http2);
    let mut request = post(whole(body));
    for name in [SYSTEM_OWNED, SYSTEM_OWNED].concat() {
        let value = HeaderValue::from_static("10.0.0.9:22");
        let name = HeaderName::from_static(name);
        request.headers_mut().append(name, value);
    }
    let reply = client.send(chat::PATH, request).await.unwrap();
    assert_eq!(reply.status, StatusCode::OK);
    for seen in [over_http1, backend.take_one().unwrap()] {
        for name in SYSTEM_OWNED {
            let found = seen.head.values(name);
            assert!(found.is_empty(), "{name} reached an engine: {found:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b20_a_body_reaches_the_engine_in_one_framing_and_with_every_byte() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let (stack, backend) = serving(&case, envoy).await;
        let body = r#"{ "model" : "m" ,  "messages":[ {"role":"user", "content":"x"}]  }"#;
        for framing in ["content-length: 66", "transfer-encoding: chunked"] {
            let mut wire = Wire::connect(stack.address()).await.unwrap();
            wire.send(head(framing, "")).await.unwrap();
            if framing.ends_with("chunked") {
                let (first, rest) = body.split_at(20);
                wire.send(format!("14\r\n{first}\r\n2e\r\n{rest}\r\n0\r\n\r\n"))
                    .await
                    .unwrap();
            } else {
                wire.send(body).await.unwrap();
            }
            let reply = wire.message().await.unwrap();
            assert_eq!(reply.head.status().unwrap(), 200, "{framing}");
            let seen = backend.take_one().unwrap();
            assert_eq!(seen.body, body, "{framing}");
            assert_eq!(seen.head.framings(), 1, "{framing}: {:?}", seen.head);
        }
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            for sent in [whole(body), in_pieces(body.as_bytes(), 10)] {
                let reply = client.send(chat::PATH, post(sent)).await.unwrap();
                assert_eq!(reply.status, StatusCode::OK);
                let seen = backend.take_one().unwrap();
                assert_eq!(seen.body, body);
                assert_eq!(seen.head.framings(), 1, "{:?}", seen.head);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b32_what_is_between_two_neighbours_is_not_passed_on_and_cuts_no_stream() {
    let case = Case::begin().await.unwrap();
    for envoy in seeing_all() {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let backend = WireBackend::start("backend", STREAM_ANSWER).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        for protocol in [Protocol::Http1, Protocol::Http2] {
            let client = Client::new(stack.address(), protocol);
            let reply = client
                .post(chat::PATH, Chat::new("Hi", 5).body(Form::Stream))
                .await
                .unwrap();
            assert_eq!(reply.status, StatusCode::OK);
            assert_eq!(reply.body, STREAM, "{envoy:?} {protocol:?}");
            for name in ["keep-alive", "trailer", "upgrade", "proxy-connection"] {
                assert_eq!(reply.header(name), None, "{name}");
            }
            assert!(reply.header("content-length").is_none());
            backend.take_one().unwrap();
        }
        expect_ends(&stack, "complete", 2.0).await.unwrap();
    }
}

/// A setup with one engine that answers with an empty object and repeated headers.
async fn serving(case: &Case, envoy: EnvoyOptions) -> (Stack, WireBackend) {
    let mut stack = case.stack(bare(envoy)).await.expect("a setup");
    let backend = WireBackend::start("backend", ANSWER).await;
    let backend = backend.expect("a backend");
    stack
        .publish_entries(&[backend.entry()])
        .await
        .expect("endpoints");
    (stack, backend)
}

/// The head of a chat request, framed like this, with more header lines. Each character is one byte.
fn head(framing: &str, lines: &str) -> Vec<u8> {
    let text = format!(
        "POST {} HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\n{lines}{framing}\
         \r\n\r\n",
        chat::PATH
    );
    let bytes = text.chars().map(u8::try_from);
    bytes.collect::<Result<_, _>>().expect("one byte each")
}

const COOKIES: [&str; 2] = ["session=1; Path=/", "theme=dark"];

const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\
    Set-Cookie: session=1; Path=/\r\nx-multi: one\r\nset-cookie: theme=dark\r\nx-multi: two\r\n\
    connection: close\r\ncontent-length: 2\r\n\r\n{}";

const STREAM_ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
    transfer-encoding: chunked\r\nconnection: close\r\nkeep-alive: timeout=5\r\n\r\n\
    b\r\ndata: one\r\n\r\na\r\ndata: two\n\r\n1\r\n\n\r\n6\r\ndata: \r\n8\r\n[DONE]\n\n\r\n0\r\n\r\n";
const STREAM: &str = "data: one\r\ndata: two\n\ndata: [DONE]\n\n";

/// Headers that only the picker, the gateway or an engine's sidecar may set, or that only the picker
/// reads.
const SYSTEM_OWNED: [&str; 22] = [
    "x-gateway-destination-endpoint",
    "x-gateway-destination-endpoint-subset",
    "x-gateway-destination-endpoint-served",
    "x-gateway-destination-endpoint-scores",
    "x-llm-d-request-dropped-reason",
    "x-prefiller-host-port",
    "x-encoder-hosts-ports",
    "x-data-parallel-host-port",
    "x-kv-cache-source-host-port",
    "x-llm-d-inference-fairness-id",
    "x-gateway-inference-fairness-id",
    "x-llm-d-inference-objective",
    "x-gateway-inference-objective",
    "x-llm-d-model-name-rewrite",
    "x-gateway-model-name-rewrite",
    "x-llm-d-slo-ttft-ms",
    "x-slo-ttft-ms",
    "x-llm-d-slo-tpot-ms",
    "x-slo-tpot-ms",
    "x-llm-d-video-fps",
    "x-llm-d-video-duration-seconds",
    "x-llm-d-video-resolution",
];
