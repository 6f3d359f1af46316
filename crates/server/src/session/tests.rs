//! Sessions over a real gRPC connection in memory, with the runtime's time under control.

mod arriving;
mod models;

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_extproc::stream::ModelList;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::Input;
use pointsman_policy::config::load;
use pointsman_proto::ext_proc::external_processor_client::ExternalProcessorClient;
use pointsman_proto::ext_proc::processing_request::Request as Message;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderValue, HttpBody, HttpHeaders, ProtocolConfiguration,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint, Server};

use super::*;
use crate::metrics::Metrics;
use crate::record::Recorder;
use crate::recording::Tape;

/// Panics over a message that carries the word for it.
pub(super) fn panic_if_told(message: &ProcessingRequest) {
    let body = match &message.request {
        Some(Message::RequestBody(body) | Message::ResponseBody(body)) => &body.body[..],
        Some(Message::RequestHeaders(head) | Message::ResponseHeaders(head)) => {
            let headers = head.headers.as_ref().map_or(&[][..], |map| &map.headers);
            let told = headers.iter().find(|header| header.key == PANIC);
            told.map_or(&[][..], |header| &header.raw_value)
        }
        _ => &[],
    };
    assert!(body != PANIC.as_bytes(), "told to panic");
}

const PANIC: &str = "panic-now";

const MESSAGE_BYTES_MAX: usize = 16 << 20;

/// A gateway's side of one stream to a picker with one endpoint.
struct Gateway {
    door: Arc<PoolDoor>,
    held: Arc<HeldBytes>,
    outgoing: mpsc::Sender<ProcessingRequest>,
    incoming: Streaming<ProcessingResponse>,
    server: tokio::task::JoinSet<()>,
}

impl Gateway {
    async fn open(held_bytes_max: usize) -> Self {
        Self::open_with(held_bytes_max, None).await
    }

    /// With a table of models, the picker answers which there are.
    async fn open_with(held_bytes_max: usize, models: Option<Arc<ModelTable>>) -> Self {
        let service = service(held_bytes_max, models);
        let (door, held) = (Arc::clone(&service.door), Arc::clone(&service.held));
        let mut server = tokio::task::JoinSet::new();
        let channel = connect(service, &mut server).await;
        let (outgoing, messages) = mpsc::channel(8);
        let mut client = ExternalProcessorClient::new(channel);
        let call = client.process(ReceiverStream::new(messages)).await;
        Self {
            door,
            held,
            outgoing,
            incoming: call.unwrap().into_inner(),
            server,
        }
    }

    async fn send(&self, message: Message) {
        let config = ProtocolConfiguration {
            request_body_mode: BodySendMode::FullDuplexStreamed.into(),
            ..ProtocolConfiguration::default()
        };
        let request = ProcessingRequest {
            request: Some(message),
            protocol_config: Some(config),
            ..ProcessingRequest::default()
        };
        self.outgoing.send(request).await.unwrap();
    }

    /// The status of the immediate response that comes next.
    async fn status(&mut self) -> i32 {
        match self.incoming.next().await.unwrap().unwrap().response {
            Some(Reply::ImmediateResponse(answer)) => answer.status.unwrap().code,
            other => panic!("not answered in place of an engine: {other:?}"),
        }
    }
}

/// The service of a picker with one endpoint.
fn service(held_bytes_max: usize, models: Option<Arc<ModelTable>>) -> Service {
    let config = load("", Attachment::Gateway).unwrap().runtime;
    let recorder = Arc::new(Recorder::new(Metrics::new().unwrap()));
    let (door, _lives) = PoolDoor::new(config, 7, 0, recorder, Tape::off());
    door.input(Input::Endpoints(vec![endpoint()]));
    Service {
        door,
        settings: Settings {
            model_list: match models {
                Some(_) => ModelList::Merged,
                None => ModelList::OfEngine,
            },
            ..Settings::default()
        },
        message_bytes_max: MESSAGE_BYTES_MAX,
        held: Arc::new(HeldBytes::new(held_bytes_max)),
        models,
        open: TaskTracker::new(),
        leave: CancellationToken::new(),
    }
}

/// A connection in memory to `service`, which `server` serves.
async fn connect(service: Service, server: &mut tokio::task::JoinSet<()>) -> Channel {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    server.spawn(async move {
        let connection = tokio_stream::once(Ok::<_, std::io::Error>(theirs));
        let router = Server::builder().add_service(service);
        // The connection ends with the test.
        let _ended = router.serve_with_incoming(connection).await;
    });
    let mut ours = Some(TokioIo::new(ours));
    let connect = tower::service_fn(move |_| {
        let io = ours
            .take()
            .ok_or_else(|| std::io::Error::other("one connection only"));
        async { io }
    });
    let endpoint = Endpoint::from_static("http://picker");
    endpoint.connect_with_connector(connect).await.unwrap()
}

fn endpoint() -> EndpointSpec {
    EndpointSpec::new("default/one".to_owned(), ([127, 0, 0, 1], 8000).into())
}

fn head() -> Message {
    let header = |key: &str, value: &'static str| HeaderValue {
        key: key.to_owned(),
        raw_value: Bytes::from_static(value.as_bytes()),
        ..HeaderValue::default()
    };
    let headers = vec![header(":method", "POST"), header(":path", "/v1/anything")];
    Message::RequestHeaders(HttpHeaders {
        headers: Some(HeaderMap { headers }),
        end_of_stream: false,
    })
}

fn body(bytes: usize, end_of_stream: bool) -> Message {
    let body = vec![b'x'; bytes].into();
    Message::RequestBody(HttpBody {
        body,
        end_of_stream,
        ..HttpBody::default()
    })
}

#[tokio::test(start_paused = true)]
async fn b23_a_client_that_stops_in_its_body_is_answered_408_and_holds_nothing() {
    let mut gateway = Gateway::open(1 << 20).await;
    gateway.send(head()).await;
    gateway.send(body(1000, false)).await;
    let begun = Instant::now();
    assert_eq!(gateway.status().await, 408);
    assert!(begun.elapsed() >= SILENCE);
    assert_eq!(gateway.held.now(), 0);
    assert_eq!(gateway.door.sizes().in_flight, 0);
    gateway.server.abort_all();
}

#[tokio::test]
async fn b23_a_body_beyond_the_memory_of_all_is_answered_429_and_never_picked() {
    let mut gateway = Gateway::open(5000).await;
    gateway.send(head()).await;
    gateway.send(body(1000, false)).await;
    gateway.send(body(5000, true)).await;
    assert_eq!(gateway.status().await, 429);
    assert_eq!(gateway.held.now(), 0);
    let text = gateway
        .door
        .recorder()
        .metrics
        .render("", &[], gateway.door.sizes(), 0)
        .unwrap();
    assert!(!text.contains("pointsman_picks_total{"), "{text}");
    assert!(
        text.contains("pointsman_answered_here_total{status=\"429\"} 1"),
        "{text}"
    );
    gateway.server.abort_all();
}

#[tokio::test]
async fn what_waits_for_the_gateway_to_read_it_counts_as_held() {
    let mut gateway = Gateway::open(64 << 20).await;
    gateway.send(head()).await;
    for _ in 0..8 {
        gateway.send(body(1 << 20, false)).await;
    }
    gateway.send(body(0, true)).await;
    // The first reply is the pick; the body is still on our side of the connection's window.
    assert!(gateway.incoming.next().await.unwrap().is_ok());
    assert!(gateway.held.now() > 4 << 20, "{}", gateway.held.now());
    let mut back = 0;
    while back < 8 << 20 {
        back += body_bytes(&gateway.incoming.next().await.unwrap().unwrap());
    }
    assert_eq!(back, 8 << 20);
    gateway.server.abort_all();
}

#[tokio::test]
async fn b22_a_message_longer_than_one_may_be_is_answered_413() {
    let mut gateway = Gateway::open(64 << 20).await;
    gateway.send(head()).await;
    gateway.send(body(1000, false)).await;
    gateway.send(body(MESSAGE_BYTES_MAX + 1, true)).await;
    assert_eq!(gateway.status().await, 413);
    assert!(gateway.incoming.next().await.is_none());
    assert_eq!(gateway.held.now(), 0);
    gateway.server.abort_all();
}

#[tokio::test]
async fn a_message_longer_than_one_may_be_fails_the_stream_of_a_request_on_its_way() {
    let mut gateway = Gateway::open(64 << 20).await;
    gateway.send(head()).await;
    gateway.send(body(0, true)).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert_eq!(gateway.next().await.0, "request body");
    gateway.send(body(MESSAGE_BYTES_MAX + 1, true)).await;
    let failure = gateway.incoming.next().await.unwrap().unwrap_err();
    assert_eq!(failure.code(), Code::OutOfRange);
    assert_eq!(gateway.door.sizes().in_flight, 0);
    gateway.server.abort_all();
}

#[tokio::test]
async fn replies_in_many_pieces_count_for_more_than_their_bytes() {
    const PIECES: usize = 40_000;
    let mut gateway = Gateway::open(64 << 20).await;
    gateway.send(head()).await;
    for _ in 0..PIECES {
        gateway.send(body(100, false)).await;
    }
    gateway.send(body(0, true)).await;
    assert!(gateway.incoming.next().await.is_some());
    // A part of them is in the connection's window.
    let replies = PIECES / 4;
    let held = gateway.held.now();
    assert!(
        held > replies * (100 + size_of::<ProcessingResponse>()),
        "{held}"
    );
    for _ in 0..PIECES {
        assert_eq!(gateway.next().await.0, "request body");
    }
    assert_eq!(gateway.held.now(), 0);
    gateway.server.abort_all();
}

/// A message with a header that tells the session to panic over it, or without.
fn told(direction: fn(HttpHeaders) -> Message, end_of_stream: bool) -> Message {
    let header = |key: &str, value: &'static str| HeaderValue {
        key: key.to_owned(),
        raw_value: Bytes::from_static(value.as_bytes()),
        ..HeaderValue::default()
    };
    direction(HttpHeaders {
        headers: Some(HeaderMap {
            headers: vec![header(":status", "200"), header(PANIC, PANIC)],
        }),
        end_of_stream,
    })
}

fn text(direction: fn(HttpBody) -> Message, text: &'static str, end_of_stream: bool) -> Message {
    direction(HttpBody {
        body: Bytes::from_static(text.as_bytes()),
        end_of_stream,
        end_of_stream_without_message: false,
    })
}

impl Gateway {
    /// The next reply, as the part of the message that it answers and the body that it passes on.
    async fn next(&mut self) -> (&'static str, Bytes) {
        let reply = self.incoming.next().await.unwrap().unwrap();
        let (part, body) = match reply.response.unwrap() {
            Reply::RequestHeaders(_) => ("request headers", None),
            Reply::RequestBody(body) => ("request body", body.response),
            Reply::ResponseHeaders(_) => ("response headers", None),
            Reply::ResponseBody(body) => ("response body", body.response),
            other => panic!("not passed on: {other:?}"),
        };
        let piece = match body.and_then(|body| body.body_mutation?.mutation) {
            Some(Mutation::StreamedResponse(piece)) => piece.body,
            _ => Bytes::new(),
        };
        (part, piece)
    }

    fn counted(&self, line: &str) -> bool {
        let sizes = self.door.sizes();
        let metrics = &self.door.recorder().metrics;
        let text = metrics.render("", &self.door.endpoints(), sizes, 0);
        text.unwrap().contains(line)
    }
}

#[tokio::test]
async fn failure_a_panic_over_a_request_body_sends_it_by_load_as_it_came() {
    let mut gateway = Gateway::open(1 << 20).await;
    gateway.send(head()).await;
    gateway
        .send(text(Message::RequestBody, "before ", false))
        .await;
    gateway.send(text(Message::RequestBody, PANIC, false)).await;
    gateway
        .send(text(Message::RequestBody, " after", true))
        .await;
    assert_eq!(gateway.next().await.0, "request headers");
    for piece in ["before ", PANIC, " after"] {
        assert_eq!(gateway.next().await, ("request body", Bytes::from(piece)));
    }
    assert!(gateway.counted("pointsman_panics_total{part=\"stream\"} 1"));
    assert!(gateway.counted("pointsman_picks_total{endpoint=\"127.0.0.1:8000\"} 1"));
    gateway.server.abort_all();
}

#[tokio::test]
async fn failure_a_panic_over_the_last_piece_of_a_body_does_not_lose_it() {
    let mut gateway = Gateway::open(1 << 20).await;
    gateway.send(head()).await;
    gateway.send(text(Message::RequestBody, PANIC, true)).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert_eq!(gateway.next().await, ("request body", Bytes::from(PANIC)));
    gateway.server.abort_all();
}

#[tokio::test]
async fn failure_a_panic_over_request_headers_leaves_the_request_to_its_body() {
    let mut gateway = Gateway::open(1 << 20).await;
    gateway.send(told(Message::RequestHeaders, false)).await;
    gateway.send(text(Message::RequestBody, "{}", true)).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert_eq!(gateway.next().await, ("request body", Bytes::from("{}")));
    assert_eq!(gateway.door.sizes().in_flight, 1);
    gateway.server.abort_all();
}

#[tokio::test]
async fn failure_a_panic_over_a_response_costs_its_reading_only() {
    let mut gateway = Gateway::open(1 << 20).await;
    gateway.send(head()).await;
    gateway.send(text(Message::RequestBody, "{}", true)).await;
    assert_eq!(gateway.next().await.0, "request headers");
    assert_eq!(gateway.next().await.0, "request body");

    gateway.send(told(Message::ResponseHeaders, false)).await;
    assert_eq!(gateway.next().await.0, "response headers");
    for (piece, is_end) in [("one ", false), (PANIC, false), (" two", true)] {
        gateway
            .send(text(Message::ResponseBody, piece, is_end))
            .await;
        // Each is answered, and stays with the gateway as it is.
        assert_eq!(gateway.next().await, ("response body", Bytes::new()));
    }
    assert!(gateway.counted("pointsman_panics_total{part=\"stream\"} 2"));
    assert!(gateway.counted("pointsman_requests_completed_total{cause=\"complete\"} 1"));
    assert_eq!(gateway.door.sizes().in_flight, 0);
    gateway.server.abort_all();
}

#[tokio::test(start_paused = true)]
async fn a_stream_on_which_nothing_comes_is_ended() {
    let mut gateway = Gateway::open(5000).await;
    assert!(gateway.incoming.next().await.is_none());
    gateway.server.abort_all();
}

#[tokio::test(start_paused = true)]
async fn b23_a_body_that_trickles_is_refused_in_the_end() {
    let mut gateway = Gateway::open(5000).await;
    gateway.send(head()).await;
    let opened = Instant::now();
    let status = loop {
        gateway.send(body(1, false)).await;
        let pause = Duration::from_secs(20);
        if let Ok(reply) = tokio::time::timeout(pause, gateway.status()).await {
            break reply;
        }
    };
    assert_eq!(status, 408);
    assert_eq!(opened.elapsed(), BODY_WHOLE);
    assert_eq!(gateway.held.now(), 0);
    gateway.server.abort_all();
}
