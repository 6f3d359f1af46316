//! Engines that serve gRPC, behind a gateway that speaks HTTP/2 to them without TLS.

use anyhow::Result;
use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use pointsman_cli::envoy::EngineProtocol;
use pointsman_cli::harness::envoy::EnvoyOptions;
use pointsman_cli::harness::envoy::imitation::Imitation;
use pointsman_cli::harness::stack::Stack;
use pointsman_e2e::backend::{Backend, Seen, answer};
use pointsman_e2e::body::{Body, in_pieces, whole, with_trailers};
use pointsman_e2e::case::{Case, bare, imitating, sampling};
use pointsman_e2e::client::{Client, Protocol, Reply, post};
use pointsman_e2e::exposition::{expect_ends, sum};
use prost::Message as _;

#[tokio::test(flavor = "multi_thread")]
async fn b43_grpc_calls_pass_with_their_trailers_and_end_by_their_status() {
    let case = Case::begin().await.unwrap();
    for envoy in [
        sampling(0.0),
        sampling(100.0),
        imitating(Imitation::FullDuplex),
    ] {
        let (stack, backend) = serving(&case, envoy).await.unwrap();
        let client = Client::new(stack.address(), Protocol::Http2);
        let request = frame(0, &ask().encode_to_vec());
        for body in [whole(request.clone()), in_pieces(&request, 3)] {
            let reply = call(&client, body, GENERATE, "0").await.unwrap();
            assert_eq!(reply.body, stream(), "{envoy:?}");
            assert_eq!(grpc_status(&reply), Some("0"), "{envoy:?}");
            let seen = backend.take_one().unwrap();
            assert_eq!(seen.body, request);
            assert_eq!(seen.target, GENERATE);
        }
        expect_ends(&stack, "complete", 2.0).await.unwrap();

        let reply = call(&client, whole(request.clone()), GENERATE, "10").await;
        assert_eq!(grpc_status(&reply.unwrap()), Some("10"), "{envoy:?}");
        expect_ends(&stack, "engine_error", 1.0).await.unwrap();

        // Without a body, the status stands in the headers.
        let reply = call(&client, whole(request.clone()), GENERATE, "headers").await;
        let reply = reply.unwrap();
        assert_eq!(reply.header("grpc-status"), Some("14"), "{envoy:?}");
        expect_ends(&stack, "engine_error", 2.0).await.unwrap();
        expect_ends(&stack, "complete", 2.0).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failure_grpc_calls_that_cannot_be_read_are_routed_by_load_and_never_refused() {
    let case = Case::begin().await.unwrap();
    let (stack, backend) = serving(&case, sampling(100.0)).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let message = ask().encode_to_vec();
    let requests = [
        // Compressed, of which only the engine knows how.
        (GENERATE, frame(1, &message)),
        // No frame, half of one, and one that is longer than it says.
        (GENERATE, Bytes::from_static(b"no frame")),
        (GENERATE, frame(0, &message).slice(..7)),
        (
            GENERATE,
            [frame(0, &message), Bytes::from_static(b"more")]
                .concat()
                .into(),
        ),
        // No message.
        (GENERATE, frame(0, &[0xff; 40])),
        (GENERATE, Bytes::new()),
        // Other methods and another service.
        (EMBED, frame(0, &message)),
        ("/vllm.grpc.engine.VllmEngine/Abort", frame(0, &message)),
        ("/some.other.Service/Call", frame(0, b"anything")),
    ];
    let calls = requests.len() as f64;
    for (path, request) in requests {
        let reply = call(&client, whole(request.clone()), path, "0")
            .await
            .unwrap();
        assert_eq!(grpc_status(&reply), Some("0"), "{path} {request:?}");
        assert_eq!(backend.take_one().unwrap().body, request, "{path}");
    }
    expect_ends(&stack, "complete", calls).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn grpc_calls_are_understood_their_tokens_counted_and_their_prefixes_found_again() {
    let case = Case::begin().await.unwrap();
    let (stack, _backend) = serving(&case, sampling(100.0)).await.unwrap();
    let client = Client::new(stack.address(), Protocol::Http2);
    let request = frame(0, &ask().encode_to_vec());
    for calls in [1.0, 2.0] {
        let reply = call(&client, whole(request.clone()), GENERATE, "0").await;
        assert_eq!(grpc_status(&reply.unwrap()), Some("0"));
        expect_ends(&stack, "complete", calls).await.unwrap();
        let page = stack.picker.metrics().await.unwrap();
        let count = |name: &str, labels: &[(&str, &str)]| sum(&page, name, labels) as u64;
        let calls = calls as u64;
        assert_eq!(
            count("pointsman_prompt_tokens_total", &[]),
            calls * PROMPT_TOKENS
        );
        let usage = |kind| count("pointsman_usage_tokens_total", &[("kind", kind)]);
        assert_eq!(usage("prompt"), calls * PROMPT_TOKENS);
        assert_eq!(usage("output"), calls * 3);
        assert_eq!(usage("cached"), calls * 64);
        let found = count("pointsman_predicted_cached_tokens_total", &[]);
        assert_eq!(found, (calls - 1) * (PROMPT_TOKENS / 64 * 64));
    }
}

/// A setup whose one engine serves gRPC.
async fn serving(case: &Case, envoy: EnvoyOptions) -> Result<(Stack, Backend)> {
    let envoy = EnvoyOptions {
        engine_protocol: EngineProtocol::H2c,
        ..envoy
    };
    let mut stack = case.stack(bare(envoy)).await?;
    let backend = Backend::answering("engine", serve).await?;
    stack.publish_entries(&[backend.entry()]).await?;
    Ok((stack, backend))
}

/// The engine: three tokens in two messages, then one that completes them, and the status that the
/// client wants.
fn serve(seen: &Seen) -> Response<Body> {
    let wanted = seen.headers.get(WANTED).cloned();
    let status = wanted.unwrap_or(HeaderValue::from_static("2"));
    if status == "headers" {
        let mut response = answer("application/grpc", whole(""));
        let status = HeaderValue::from_static("14");
        response.headers_mut().insert(STATUS, status);
        return response;
    }
    let trailers = HeaderMap::from_iter([(http::HeaderName::from_static(STATUS), status)]);
    answer("application/grpc", with_trailers(stream(), trailers))
}

async fn call(client: &Client, body: Body, path: &str, status: &'static str) -> Result<Reply> {
    let mut request: Request<Body> = post(body);
    for (name, value) in [
        (header::CONTENT_TYPE.as_str(), "application/grpc"),
        (header::TE.as_str(), "trailers"),
        (WANTED, status),
    ] {
        let name = http::HeaderName::from_static(name);
        request
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    let reply = client.send(path, request).await?;
    anyhow::ensure!(reply.status == StatusCode::OK, "{reply:?}");
    Ok(reply)
}

/// The status in the trailers.
fn grpc_status(reply: &Reply) -> Option<&str> {
    reply.trailers.as_ref()?.get(STATUS)?.to_str().ok()
}

/// A message in its frame.
fn frame(flag: u8, message: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_u8(flag);
    frame.put_u32(u32::try_from(message.len()).expect("a small message"));
    frame.put_slice(message);
    frame.freeze()
}

fn ask() -> GenerateRequest {
    GenerateRequest {
        request_id: "r-1".to_owned(),
        tokenized: Some(TokenizedInput {
            original_text: String::new(),
            input_ids: (1..=u32::try_from(PROMPT_TOKENS).expect("few")).collect(),
        }),
        stream: true,
    }
}

fn stream() -> Bytes {
    let chunk = |token_ids: &[u32], completion_tokens| GenerateResponse {
        chunk: Some(Chunk {
            token_ids: token_ids.to_vec(),
            prompt_tokens: u32::try_from(PROMPT_TOKENS).expect("few"),
            completion_tokens,
            cached_tokens: 64,
        }),
        complete: None,
    };
    let complete = GenerateResponse {
        chunk: None,
        complete: Some(Complete {
            output_ids: vec![7, 8, 9],
            finish_reason: "stop".to_owned(),
            prompt_tokens: u32::try_from(PROMPT_TOKENS).expect("few"),
            completion_tokens: 3,
            cached_tokens: 64,
        }),
    };
    let messages = [chunk(&[7], 1), chunk(&[8, 9], 3), complete];
    let frames = messages.map(|message| frame(0, &message.encode_to_vec()));
    frames.concat().into()
}

// The part of vLLM's `vllm_engine.proto` that is needed here, written again so that a wrong number in
// the picker's own copy shows.

#[derive(Clone, PartialEq, prost::Message)]
struct GenerateRequest {
    #[prost(string, tag = "1")]
    request_id: String,
    #[prost(message, optional, tag = "2")]
    tokenized: Option<TokenizedInput>,
    #[prost(bool, tag = "5")]
    stream: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TokenizedInput {
    #[prost(string, tag = "1")]
    original_text: String,
    #[prost(uint32, repeated, tag = "2")]
    input_ids: Vec<u32>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct GenerateResponse {
    #[prost(message, optional, tag = "1")]
    chunk: Option<Chunk>,
    #[prost(message, optional, tag = "2")]
    complete: Option<Complete>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Chunk {
    #[prost(uint32, repeated, tag = "1")]
    token_ids: Vec<u32>,
    #[prost(uint32, tag = "2")]
    prompt_tokens: u32,
    #[prost(uint32, tag = "3")]
    completion_tokens: u32,
    #[prost(uint32, tag = "4")]
    cached_tokens: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Complete {
    #[prost(uint32, repeated, tag = "1")]
    output_ids: Vec<u32>,
    #[prost(string, tag = "2")]
    finish_reason: String,
    #[prost(uint32, tag = "3")]
    prompt_tokens: u32,
    #[prost(uint32, tag = "4")]
    completion_tokens: u32,
    #[prost(uint32, tag = "5")]
    cached_tokens: u32,
}

const GENERATE: &str = "/vllm.grpc.engine.VllmEngine/Generate";
const EMBED: &str = "/vllm.grpc.engine.VllmEngine/Embed";
const PROMPT_TOKENS: u64 = 200;

/// The header in which a client tells the engine which status it wants.
const WANTED: &str = "x-wanted-status";
const STATUS: &str = "grpc-status";
