//! Trailers of responses, and of requests and responses both.

use http::{HeaderMap, HeaderValue, StatusCode, header};
use pointsman_cli::envoy::EngineProtocol;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::envoy::imitation::Imitation;
use pointsman_e2e::backend::{Backend, answer};
use pointsman_e2e::body::{whole, with_trailers};
use pointsman_e2e::case::{Case, bare, imitating, sampling};
use pointsman_e2e::chat::{self, Chat, Form};
use pointsman_e2e::client::{Client, Protocol, post};
use pointsman_e2e::exposition::expect_ends;

#[tokio::test(flavor = "multi_thread")]
async fn trailers_of_responses_reach_the_client_and_are_seen_by_the_picker() {
    let case = Case::begin().await.unwrap();
    for envoy in [
        sampling(0.0),
        EnvoyOptions {
            engine_protocol: EngineProtocol::H2c,
            ..sampling(100.0)
        },
        imitating(Imitation::FullDuplex),
    ] {
        let mut stack = case.stack(bare(envoy)).await.unwrap();
        let backend = Backend::answering("backend", |_| {
            let mut response = answer("text/event-stream", with_trailers(STREAM, trailers("b")));
            // Without this announcement, HTTP/1.1 has no trailers.
            let announced = HeaderValue::from_static("x-checksum");
            response.headers_mut().insert(header::TRAILER, announced);
            response
        });
        let backend = backend.await.unwrap();
        stack.publish_entries(&[backend.entry()]).await.unwrap();
        let client = Client::new(stack.address(), Protocol::Http2);
        let body = Chat::new("Is this the end?", 8).body(Form::Stream);
        let a = trailers("a");
        for (request, expected) in [
            (whole(body.clone()), None),
            (with_trailers(body.clone(), a.clone()), Some(a)),
        ] {
            let mut request = post(request);
            let te = HeaderValue::from_static("trailers");
            request.headers_mut().insert(header::TE, te);
            let reply = client.send(chat::PATH, request).await.unwrap();
            assert_eq!(reply.status, StatusCode::OK);
            assert_eq!(reply.body, STREAM);
            assert_eq!(reply.trailers, Some(trailers("b")), "{envoy:?}");
            let seen = backend.take_one().unwrap();
            assert_eq!(seen.body, body);
            assert_eq!(seen.trailers, expected);
        }
        expect_ends(&stack, "complete", 2.0).await.unwrap();
    }
}

fn trailers(value: &'static str) -> HeaderMap {
    let value = HeaderValue::from_static(value);
    HeaderMap::from_iter([(http::HeaderName::from_static("x-checksum"), value)])
}

const STREAM: &str = "data: {\"choices\":[]}\n\ndata: [DONE]\n\n";
