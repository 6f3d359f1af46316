//! Messages that have come in part, sent as bytes.

use core::convert::Infallible;

use http_body::Frame;
use pointsman_proto::ext_proc::external_processor_server::SERVICE_NAME;
use prost::Message as _;
use tonic::codec::CompressionEncoding;
use tower::ServiceExt as _;

use super::*;

/// The body of a call, as it is sent.
struct Sent(mpsc::Receiver<Bytes>);

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.0.poll_recv(cx);
        piece.map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// One call, with the bytes of its messages under control.
struct Call {
    held: Arc<HeldBytes>,
    outgoing: mpsc::Sender<Bytes>,
    incoming: Streaming<ProcessingResponse>,
    server: tokio::task::JoinSet<()>,
}

impl Call {
    async fn open(held_bytes_max: usize) -> Self {
        let service = service(held_bytes_max, None);
        let held = Arc::clone(&service.held);
        let mut server = tokio::task::JoinSet::new();
        let channel = connect(service, &mut server).await;
        let (outgoing, sent) = mpsc::channel(1);
        let call = call("Process", Sent(sent));
        let response = channel.oneshot(call).await.unwrap();
        let decoder = tonic_prost::ProstDecoder::default();
        let status = response.status();
        let body = response.into_body();
        Self {
            held,
            outgoing,
            incoming: Streaming::new_response(decoder, body, status, None, None),
            server,
        }
    }

    async fn send(&self, bytes: impl Into<Bytes>) {
        self.outgoing.send(bytes.into()).await.unwrap();
    }

    /// Waits until so much is held.
    async fn until_held(&self, fits: impl Fn(usize) -> bool) {
        for _ in 0..TURNS_MAX {
            if fits(self.held.now()) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{} bytes are held", self.held.now());
    }
}

fn call(method: &str, sent: Sent) -> http::Request<Body> {
    http::Request::post(format!("http://picker/{SERVICE_NAME}/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(Body::new(sent))
        .unwrap()
}

/// The beginning of a frame that claims so many bytes.
fn claim(bytes: usize) -> Vec<u8> {
    let bytes = u32::try_from(bytes).unwrap().to_be_bytes();
    [&[0], &bytes[..]].concat()
}

fn framed(message: Message) -> Vec<u8> {
    let config = ProtocolConfiguration {
        request_body_mode: BodySendMode::FullDuplexStreamed.into(),
        ..ProtocolConfiguration::default()
    };
    let message = ProcessingRequest {
        request: Some(message),
        protocol_config: Some(config),
        ..ProcessingRequest::default()
    };
    [claim(message.encoded_len()), message.encode_to_vec()].concat()
}

#[tokio::test]
async fn b23_what_has_come_of_a_message_counts_as_held_and_no_more_than_that() {
    const CAME: usize = 100_000;
    let call = Call::open(64 << 20).await;
    call.send(framed(head())).await;
    call.send(claim(MESSAGE_BYTES_MAX)).await;
    call.send(vec![b'x'; CAME]).await;
    call.until_held(|bytes| bytes >= CAME).await;
    assert!(call.held.now() <= 2 * CAME, "{}", call.held.now());
    drop(call.outgoing);
    drop(call.incoming);
    while call.held.now() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn b23_a_message_that_passes_the_memory_of_all_while_it_comes_is_answered_429_and_freed() {
    const LIMIT: usize = 100_000;
    let mut call = Call::open(LIMIT).await;
    call.send(framed(head())).await;
    call.send(claim(8 * LIMIT)).await;
    call.send(vec![b'x'; LIMIT + 1]).await;
    let reply = call.incoming.next().await.unwrap().unwrap().response;
    let Some(Reply::ImmediateResponse(answer)) = reply else {
        panic!("not refused: {reply:?}");
    };
    assert_eq!(answer.status.unwrap().code, 429);
    // Of what the gateway still sends nothing is kept, be it of that message or of another.
    // It is much more than fits into the connection, so most of it has been read in the end.
    let rest = [
        vec![b'x'; 7 * LIMIT - 1],
        claim(8 * LIMIT),
        vec![b'x'; 7 * LIMIT],
    ]
    .concat();
    for piece in rest.chunks(10_000) {
        call.send(piece.to_vec()).await;
        assert_eq!(call.held.now(), 0);
    }
    drop(call.outgoing);
    let failure = call.incoming.next().await.unwrap().unwrap_err();
    assert_eq!(failure.code(), Code::Internal, "it ended within a message");
    assert_eq!(call.held.now(), 0);
    call.server.abort_all();
}

#[tokio::test]
async fn a_first_message_that_passes_the_memory_of_all_fails_its_stream() {
    const LIMIT: usize = 100_000;
    let mut call = Call::open(LIMIT).await;
    call.send(claim(8 * LIMIT)).await;
    call.send(vec![b'x'; 2 * LIMIT]).await;
    let failure = call.incoming.next().await.unwrap().unwrap_err();
    assert_eq!(failure.code(), Code::ResourceExhausted);
    call.until_held(|bytes| bytes == 0).await;
    call.server.abort_all();
}

#[tokio::test]
async fn a_large_message_of_a_response_is_never_refused() {
    const LIMIT: usize = 100_000;
    let mut gateway = Gateway::open(LIMIT).await;
    gateway.send(head()).await;
    gateway.send(body(0, true)).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert_eq!(gateway.next().await.0, "request body");
    let large = HttpBody {
        body: vec![b'x'; 8 * LIMIT].into(),
        ..HttpBody::default()
    };
    gateway.send(Message::ResponseBody(large)).await;
    assert_eq!(gateway.next().await.0, "response body");
    assert_eq!(gateway.held.now(), 0);
    gateway.server.abort_all();
}

#[tokio::test]
async fn calls_that_are_not_understood_are_told_so() {
    let mut server = tokio::task::JoinSet::new();
    let channel = connect(service(1 << 20, None), &mut server).await;
    for method in ["Other", "Process/", "x/Process"] {
        let (_outgoing, sent) = mpsc::channel(1);
        let call = call(method, Sent(sent));
        let response = channel.clone().oneshot(call).await.unwrap();
        let status = Status::from_header_map(response.headers()).unwrap();
        assert_eq!(status.code(), Code::Unimplemented, "{method}");
    }
    let mut client =
        ExternalProcessorClient::new(channel).send_compressed(CompressionEncoding::Gzip);
    let messages = tokio_stream::pending();
    let refused = client.process(messages).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unimplemented);
    let accepted = refused.metadata().get("grpc-accept-encoding").unwrap();
    assert_eq!(accepted, "identity");
    server.abort_all();
}

/// Turns of the test's one thread after which what was sent has been read.
const TURNS_MAX: usize = 100_000;
