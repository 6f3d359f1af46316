//! What a client says about destinations is not believed, and does not reach an engine.

use std::collections::BTreeMap;

use http::{HeaderName, HeaderValue, StatusCode};
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_e2e::backend::Backend;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{self, Chat, ENGINE, Form};
use pointsman_e2e::client::{Client, Protocol, post, whole};

#[tokio::test(flavor = "multi_thread")]
async fn b15_a_client_cannot_steer_its_request_and_engines_do_not_see_it_try() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(0);
    options.picker = PickerOptions::round_robin();
    let mut stack = case.stack(options).await.unwrap();
    let left = Backend::start("left").await.unwrap();
    let right = Backend::start("right").await.unwrap();
    stack.publish_entries(&[left.entry(), right.entry()]).await.unwrap();

    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for protocol in [Protocol::Http1, Protocol::Http2] {
        let client = Client::new(stack.address(), protocol);
        for _ in 0..10 {
            let mut request = post(whole(Chat::new("Hi", 1).body(Form::Plain)));
            let wanted = HeaderValue::from_str(&right.address().to_string()).unwrap();
            for name in OWNED {
                for _ in 0..2 {
                    request.headers_mut().append(HeaderName::from_static(name), wanted.clone());
                }
            }
            let reply = client.send(chat::PATH, request).await.unwrap();
            assert_eq!(reply.status, StatusCode::OK);
            *served.entry(reply.header(ENGINE).unwrap().to_owned()).or_default() += 1;
        }
    }
    assert_eq!(served["left"], 10, "the picker's turns are kept: {served:?}");
    assert_eq!(served["right"], 10, "the picker's turns are kept: {served:?}");

    for seen in left.seen().iter().chain(&right.seen()) {
        for name in OWNED {
            assert_eq!(seen.headers.get(name), None, "{name} reached an engine");
        }
    }
}

/// Headers with which a request could be steered.
const OWNED: [&str; 4] = [
    "x-gateway-destination-endpoint",
    "x-gateway-destination-endpoint-subset",
    "x-gateway-destination-endpoint-served",
    "x-prefiller-host-port",
];
