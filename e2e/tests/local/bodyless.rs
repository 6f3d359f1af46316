//! Requests without a body, and the subsets of endpoints that a gateway admits.

use std::net::Ipv6Addr;
use std::time::Duration;

use http::{HeaderValue, Method, Request, StatusCode};
use pointsman_cli::harness::envoy::imitation::{Imitation, SUBSET_HEADER};
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{Backend, Manner, Seen, json};
use pointsman_e2e::body::{Body, whole};
use pointsman_e2e::case::{Case, bare, imitating, sampling};
use pointsman_e2e::chat::{self, Chat, ENGINE, Form};
use pointsman_e2e::client::{Client, Protocol, Reply};
use pointsman_e2e::exposition::{self, expect_ends};
use pointsman_e2e::wait;
use prost::Message as _;
use prost_types::value::Kind;
use prost_types::{ListValue, Value};

#[tokio::test(flavor = "multi_thread")]
async fn b13_b14_requests_without_a_body_reach_an_engine_as_they_are() {
    let case = Case::begin().await.unwrap();
    let (stack, backends) = serving(&case, 17).await;
    let mut requests = 0;
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for (method, target) in [
            (Method::GET, "/v1/models"),
            (Method::GET, "/v1/models?limit=2&after=a%20b"),
            (Method::HEAD, "/health"),
            (Method::OPTIONS, chat::PATH),
            (Method::DELETE, "/v1/responses/resp_1"),
            (Method::POST, "/v1/responses/resp_1/cancel"),
            // Without a body it is no chat, and the engine says so.
            (Method::POST, chat::PATH),
        ] {
            let reply = client.send(target, bodyless(&method)).await.unwrap();
            assert_eq!(reply.status, StatusCode::OK, "{method} {target}");
            if method == Method::HEAD {
                assert!(reply.body.is_empty());
            } else {
                assert_eq!(reply.body, MODELS, "{method} {target}");
            }
            let seen: Vec<Seen> = backends.iter().flat_map(Backend::take).collect();
            assert_eq!(seen.len(), 1, "{method} {target}");
            assert_eq!((&seen[0].method, &*seen[0].target), (&method, target));
            assert!(seen[0].body.is_empty());
            requests += 1;
        }
    }
    expect_ends(&stack, "complete", f64::from(requests))
        .await
        .unwrap();
    let page = stack.picker.metrics().await.unwrap();
    exposition::expect(&page, "pointsman_picks_total", &[], f64::from(requests)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_a_body_or_without_goes_only_to_endpoints_of_its_subset() {
    let case = Case::begin().await.unwrap();
    let (stack, backends) = serving(&case, 4).await;
    let address = |index: usize| backends[index].address().to_string();
    let subsets = [
        (list(&[&address(1)]), vec!["engine-1"]),
        (
            list(&[&address(3), &address(0)]),
            vec!["engine-0", "engine-3"],
        ),
        (
            text(&format!("{}, {}", address(1), address(2))),
            vec!["engine-1", "engine-2"],
        ),
        (text(&address(2)), vec!["engine-2"]),
    ];
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for (subset, admitted) in &subsets {
            for request in requests() {
                // Often enough that an engine outside would be met.
                for _ in 0..4 {
                    let reply = ask(&client, &request, subset).await;
                    assert_eq!(reply.status, StatusCode::OK, "{reply:?}");
                    let engine = reply.header(ENGINE).unwrap();
                    assert!(admitted.contains(&engine), "{engine} is not in {subset:?}");
                }
            }
        }
        // An address without a port admits all ports.
        for request in requests() {
            let reply = ask(&client, &request, &list(&["127.0.0.1"])).await;
            assert_eq!(reply.status, StatusCode::OK);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b68_b77_a_subset_without_an_endpoint_of_this_pool_is_answered_with_503() {
    let case = Case::begin().await.unwrap();
    let (stack, backends) = serving(&case, 2).await;
    let client = Client::new(stack.address(), Protocol::Http1);
    for subset in [
        list(&[]),
        text(""),
        list(&["10.0.0.1:8000", "[fd00::1]:8000"]),
        text("127.0.0.1:1"),
        text("engine-0"),
        Kind::NumberValue(1.0),
        Kind::NullValue(0),
    ] {
        for request in requests() {
            let reply = ask(&client, &request, &subset).await;
            assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{subset:?}");
            let reason = reply.header("x-llm-d-request-dropped-reason");
            assert_eq!(reason, Some("rejected-no-endpoints"), "{subset:?}");
            assert!(reply.json().unwrap()["error"]["message"].is_string());
        }
    }
    assert!(backends.iter().all(|backend| backend.seen().is_empty()));
    let reply = client.get("/v1/models").await.unwrap();
    assert_eq!(
        reply.status,
        StatusCode::OK,
        "without a hint all are admitted"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn b77_a_request_whose_subset_is_not_there_yet_is_sent_when_it_is() {
    let case = Case::begin().await.unwrap();
    let mut options = bare(imitating(Imitation::Subsets));
    let flow_control = serde_json::json!({ "featureGates": ["flowControl"] });
    options.picker = PickerOptions::with_configuration(flow_control);
    let mut stack = case.stack(options).await.unwrap();
    let backend = Backend::start("late").await.unwrap();
    let subset = list(&[&backend.address().to_string()]);
    for request in requests() {
        let client = Client::new(stack.address(), Protocol::Http2);
        let (request, subset) = (request.clone(), subset.clone());
        let asking =
            tokio::task::JoinSet::from_iter([async move { ask(&client, &request, &subset).await }]);
        wait::until("it is held", Duration::from_secs(5), async || {
            let page = stack.picker.metrics().await?;
            exposition::expect(&page, "pointsman_requests_held", &[], 1.0)
        })
        .await
        .unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let replies = asking.join_all().await;
        assert_eq!(replies[0].status, StatusCode::OK, "{:?}", replies[0]);
        assert_eq!(backend.take().len(), 1);
        stack.publish_entries(&[]).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn b13_an_endpoint_with_an_ipv6_address_is_reached_with_a_body_and_without() {
    let case = Case::begin().await.unwrap();
    let manner = Manner::answering(|_| json(MODELS));
    let backend = Backend::at(Ipv6Addr::LOCALHOST.into(), "engine-v6", manner)
        .await
        .expect("a machine with an IPv6 loopback address");
    for envoy in [sampling(5.0), imitating(Imitation::Subsets)] {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let client = Client::new(stack.address(), Protocol::Http1);
        let hints = [
            list(&[&backend.address().to_string()]),
            text(&backend.address().to_string()),
            text("::1"),
            list(&["[0:0:0:0:0:0:0:1]"]),
        ];
        for request in requests() {
            for subset in &hints {
                let reply = ask(&client, &request, subset).await;
                assert_eq!(reply.status, StatusCode::OK, "{subset:?}: {reply:?}");
                assert_eq!(reply.header(ENGINE), Some("engine-v6"));
            }
        }
        let page = stack.picker.metrics().await.unwrap();
        let label = [("endpoint", &*backend.address().to_string())];
        let picks = (requests().len() * hints.len()) as f64;
        exposition::expect(&page, "pointsman_picks_total", &label, picks).unwrap();
    }
}

/// A setup of a gateway with subsets and so many engines.
async fn serving(case: &Case, engines: usize) -> (Stack, Vec<Backend>) {
    let stack = case.stack(bare(imitating(Imitation::Subsets))).await;
    let mut stack = stack.expect("a setup");
    let mut backends = Vec::new();
    for index in 0..engines {
        let name = format!("engine-{index}");
        let backend = Backend::answering(&name, |_| json(MODELS)).await;
        backends.push(backend.expect("a backend"));
    }
    let entries: Vec<_> = backends.iter().map(Backend::entry).collect();
    stack.publish_entries(&entries).await.expect("endpoints");
    (stack, backends)
}

/// A call without a body and one with.
fn requests() -> [(Method, &'static str, Vec<u8>); 2] {
    let chat = Chat::new("Hi", 1).body(Form::Plain).to_vec();
    [
        (Method::GET, "/v1/models", Vec::new()),
        (Method::POST, chat::PATH, chat),
    ]
}

async fn ask(client: &Client, request: &(Method, &str, Vec<u8>), subset: &Kind) -> Reply {
    let (method, path, body) = request;
    let mut request = bodyless(method);
    *request.body_mut() = whole(body.clone());
    let value = HeaderValue::from_str(&base64(&encoded(subset))).expect("letters and digits");
    request.headers_mut().insert(SUBSET_HEADER, value);
    client.send(path, request).await.expect("a reply")
}

fn bodyless(method: &Method) -> Request<Body> {
    let mut request = Request::new(whole(""));
    *request.method_mut() = method.clone();
    request
}

fn list(entries: &[&str]) -> Kind {
    let value = |text: &&str| Value {
        kind: Some(Kind::StringValue((*text).to_owned())),
    };
    let values = entries.iter().map(value).collect();
    Kind::ListValue(ListValue { values })
}

fn text(entries: &str) -> Kind {
    Kind::StringValue(entries.to_owned())
}

fn encoded(kind: &Kind) -> Vec<u8> {
    let value = Value {
        kind: Some(kind.clone()),
    };
    value.encode_to_vec()
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize];
            text.push(if index > group.len() {
                '='
            } else {
                letter.into()
            });
        }
    }
    text
}

/// The least that an engine can say of its models.
const MODELS: &str = r#"{"object":"list","data":[{"id":"m"}]}"#;
