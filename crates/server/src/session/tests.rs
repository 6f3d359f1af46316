//! Sessions over a real gRPC connection in memory, with the runtime's time under control.

use bytes::Bytes;
use hyper_util::rt::TokioIo;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::Input;
use pointsman_policy::config::load;
use pointsman_proto::ext_proc::external_processor_client::ExternalProcessorClient;
use pointsman_proto::ext_proc::external_processor_server::ExternalProcessorServer;
use pointsman_proto::ext_proc::processing_request::Request as Message;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderValue, HttpBody, HttpHeaders, ProtocolConfiguration,
};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Endpoint, Server};

use super::*;
use crate::metrics::Metrics;
use crate::record::Recorder;
use crate::recording::Tape;

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
        let config = load("", Attachment::Gateway).unwrap().runtime;
        let recorder = Arc::new(Recorder::new(Metrics::new().unwrap()));
        let (door, _lives) = PoolDoor::new(config, 7, 0, recorder, Tape::off());
        door.input(Input::Endpoints(vec![endpoint()]));
        let held = Arc::new(HeldBytes::new(held_bytes_max));
        let service = Service::new(
            Arc::clone(&door),
            Settings::default(),
            Arc::clone(&held),
            TaskTracker::new(),
            CancellationToken::new(),
        );
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let connection = tokio_stream::once(Ok::<_, std::io::Error>(theirs));
            let router = Server::builder().add_service(ExternalProcessorServer::new(service));
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
        let channel = endpoint.connect_with_connector(connect).await.unwrap();
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
    let begun = tokio::time::Instant::now();
    assert_eq!(gateway.status().await, 408);
    assert!(begun.elapsed() >= BODY_STALLED);
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
