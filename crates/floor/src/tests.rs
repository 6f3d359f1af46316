use core::net::SocketAddr;
use core::time::Duration;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use http::uri::PathAndQuery;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;
use xxhash_rust::xxh3::Xxh3;

use super::*;
use crate::messages::{
    HeaderMap, HttpBody, HttpHeaders, Mutation, ProcessingRequest, ProcessingResponse, Received,
    Reply, Wrapped,
};

/// What the sources of the floor hash to. A change of the floor is a commit of its own that says
/// why, as every figure that was told as a multiple of the floor before loses its baseline with it.
const SOURCE_DIGEST: u128 = 0x8fd05f7c87ebe1264c35755d88f66a9b;

#[test]
fn the_source_is_the_frozen_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap() != "tests.rs")
        .collect();
    paths.sort();
    let mut digest = Xxh3::new();
    for path in &paths {
        digest.update(path.file_name().unwrap().as_encoded_bytes());
        let text = fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        digest.update(&text.len().to_le_bytes());
        digest.update(text.as_bytes());
    }
    let digest = digest.digest128();
    assert_eq!(
        digest, SOURCE_DIGEST,
        "the source changed: its digest is {digest:#034x} now"
    );
}

#[tokio::test]
async fn the_body_is_awaited_and_every_byte_comes_back() {
    let floor = Floor::start(&["10.0.0.1:80", "10.0.0.2:80"]).await;
    let channel = floor.connect().await;
    for destination in ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.1:80"] {
        let mut stream = Stream::open(&channel).await;
        stream.send(Received::RequestHeaders(headers()));
        for piece in ["one ", "two ", ""] {
            stream.send(Received::RequestBody(body(piece, piece.is_empty())));
        }
        let Some(Reply::RequestHeaders(reply)) = stream.reply().await else {
            panic!("the first answer is to the headers");
        };
        assert_eq!(destination_of(&reply), Some(destination));
        for (piece, is_last) in [("one ", false), ("two ", false), ("", true)] {
            let Some(Reply::RequestBody(reply)) = stream.reply().await else {
                panic!("the body comes back next");
            };
            assert_eq!(echoed(&reply), (Bytes::from(piece), is_last));
        }

        stream.send(Received::ResponseHeaders(headers()));
        let Some(Reply::ResponseHeaders(reply)) = stream.reply().await else {
            panic!("response headers are answered");
        };
        assert_eq!(destination_of(&reply), None);
        for (piece, is_last) in [("token", false), ("", true)] {
            stream.send(Received::ResponseBody(body(piece, is_last)));
            let Some(Reply::ResponseBody(reply)) = stream.reply().await else {
                panic!("each piece of the response comes back at once");
            };
            assert_eq!(echoed(&reply), (Bytes::from(piece), is_last));
        }
    }
    floor.stop().await;
}

#[tokio::test]
async fn nothing_is_answered_before_the_end_of_the_body() {
    let floor = Floor::start(&["10.0.0.1:80"]).await;
    let channel = floor.connect().await;
    let mut stream = Stream::open(&channel).await;
    stream.send(Received::RequestHeaders(headers()));
    stream.send(Received::RequestBody(body("part", false)));
    // Its answer would come behind those to the messages before it.
    stream.send(Received::ResponseHeaders(headers()));
    let reply = stream.reply().await;
    assert!(
        matches!(reply, Some(Reply::ResponseHeaders(_))),
        "{reply:?}"
    );
    drop(stream);
    floor.stop().await;
}

struct Floor {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Floor {
    async fn start(destinations: &[&str]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let destinations = destinations.iter().map(|&name| name.to_owned()).collect();
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move { stopped.await.unwrap_or_default() };
        #[expect(clippy::disallowed_methods, reason = "the test joins it in `stop`")]
        let server = tokio::spawn(serve(listener, destinations, shutdown));
        Self {
            address,
            stop,
            server,
        }
    }

    async fn connect(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).unwrap();
        timeout(WAIT_MAX, endpoint.connect())
            .await
            .unwrap()
            .unwrap()
    }

    async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(WAIT_MAX, self.server)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}

struct Stream {
    messages: mpsc::UnboundedSender<ProcessingRequest>,
    replies: tonic::Streaming<ProcessingResponse>,
}

impl Stream {
    async fn open(channel: &Channel) -> Self {
        let (messages, receiver) = mpsc::unbounded_channel();
        let mut client = tonic::client::Grpc::new(channel.clone());
        client.ready().await.unwrap();
        let codec: ProstCodec<ProcessingRequest, ProcessingResponse> = ProstCodec::default();
        let request = tonic::Request::new(UnboundedReceiverStream::new(receiver));
        let path =
            PathAndQuery::from_static("/envoy.service.ext_proc.v3.ExternalProcessor/Process");
        let call = client.streaming(request, path, codec);
        let replies = timeout(WAIT_MAX, call).await.unwrap().unwrap().into_inner();
        Self { messages, replies }
    }

    fn send(&self, request: Received) {
        let message = ProcessingRequest {
            request: Some(request),
            metadata_context: None,
            attributes: HashMap::new(),
            observability_mode: false,
            protocol_config: None,
        };
        self.messages.send(message).unwrap();
    }

    async fn reply(&mut self) -> Option<Reply> {
        let reply = timeout(WAIT_MAX, self.replies.message()).await.unwrap();
        reply.unwrap()?.response
    }
}

fn headers() -> HttpHeaders {
    HttpHeaders {
        headers: Some(HeaderMap::default()),
        end_of_stream: false,
    }
}

fn body(text: &'static str, is_last: bool) -> HttpBody {
    HttpBody {
        body: Bytes::from(text),
        end_of_stream: is_last,
        end_of_stream_without_message: false,
    }
}

fn destination_of(reply: &Wrapped) -> Option<&str> {
    let common = reply.response.as_ref()?;
    let mutation = common.header_mutation.as_ref()?;
    let header = mutation.set_headers.first()?.header.as_ref()?;
    assert_eq!(header.key, "x-gateway-destination-endpoint");
    assert!(common.clear_route_cache);
    core::str::from_utf8(&header.raw_value).ok()
}

fn echoed(reply: &Wrapped) -> (Bytes, bool) {
    let mutation = reply.response.clone().unwrap().body_mutation.unwrap();
    let Some(Mutation::Streamed(piece)) = mutation.mutation else {
        panic!("not a streamed answer");
    };
    (piece.body, piece.end_of_stream)
}

/// Far more than anything takes on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(30);
