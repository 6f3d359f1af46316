//! What a client says about destinations is not believed, and does not reach an engine.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use anyhow::{Context as _, Result};
use http::{HeaderName, HeaderValue};
use pointsman_cli::harness::picker::PickerOptions;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::Backend;
use pointsman_e2e::body::whole;
use pointsman_e2e::case::{Case, quick};
use pointsman_e2e::chat::{self, Chat, ENGINE, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::wait;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread")]
async fn b15_a_client_cannot_steer_its_request_and_engines_do_not_see_it_try() {
    let case = Case::begin().await.unwrap();
    let mut options = quick(0);
    options.picker = PickerOptions::round_robin();
    let mut stack = case.stack(options).await.unwrap();
    let left = Backend::start("left").await.unwrap();
    let right = Backend::start("right").await.unwrap();
    stack
        .publish_entries(&[left.entry(), right.entry()])
        .await
        .unwrap();

    let mut served: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..10 {
        for engine in [
            over_http1(&stack, right.address()).await.unwrap(),
            over_http2(&stack, right.address()).await.unwrap(),
        ] {
            *served.entry(engine).or_default() += 1;
        }
    }
    let turns = BTreeMap::from([("left".to_owned(), 10), ("right".to_owned(), 10)]);
    assert_eq!(served, turns, "the picker's turns are kept");

    for seen in left.seen().iter().chain(&right.seen()) {
        for name in OWNED {
            assert_eq!(seen.headers.get(name), None, "{name} reached an engine");
        }
    }
}

/// The engine that answers a request which wants `destination`, with names in mixed case.
async fn over_http1(stack: &Stack, destination: SocketAddr) -> Result<String> {
    let mut request = format!("POST {} HTTP/1.1\r\nHost: gateway\r\n", chat::PATH);
    for name in OWNED {
        request += &format!("{}: {destination}\r\n", name.to_uppercase());
        request += &format!("{}: {destination}\r\n", name.replacen("x-g", "x-G", 1));
    }
    let body = Chat::new("Hi", 1).body(Form::Plain);
    request += "Content-Type: application/json\r\nConnection: close\r\n";
    request += &format!("Content-Length: {}\r\n\r\n", body.len());
    let mut connection = TcpStream::connect(stack.address()).await?;
    connection.write_all(request.as_bytes()).await?;
    connection.write_all(&body).await?;
    let mut reply = String::new();
    wait::answer("the reply", connection.read_to_string(&mut reply)).await??;
    let engine = reply
        .split_once("x-pointsman-engine: ")
        .and_then(|(_, rest)| rest.lines().next());
    Ok(engine
        .with_context(|| format!("no engine answered: {reply}"))?
        .to_owned())
}

/// The engine that answers a request which wants `destination`.
async fn over_http2(stack: &Stack, destination: SocketAddr) -> Result<String> {
    let client = Client::new(stack.address(), Protocol::Http2);
    let mut request = post(whole(Chat::new("Hi", 1).body(Form::Plain)));
    for name in [OWNED, OWNED].concat() {
        let value = HeaderValue::from_str(&destination.to_string())?;
        request
            .headers_mut()
            .append(HeaderName::from_static(name), value);
    }
    let reply = client.send(chat::PATH, request).await?;
    Ok(reply
        .header(ENGINE)
        .with_context(|| format!("no engine answered: {reply:?}"))?
        .to_owned())
}

/// Headers with which a request could be steered.
const OWNED: [&str; 4] = [
    "x-gateway-destination-endpoint",
    "x-gateway-destination-endpoint-subset",
    "x-gateway-destination-endpoint-served",
    "x-prefiller-host-port",
];
