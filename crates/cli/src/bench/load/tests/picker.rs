//! A picker that does one thing wrong.

use core::net::SocketAddr;

use bytes::Bytes;
use pointsman_proto::ext_proc::body_mutation::Mutation;
use pointsman_proto::ext_proc::external_processor_server::{
    ExternalProcessor, ExternalProcessorServer,
};
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    BodyMutation, BodyResponse, BodySendMode, CommonResponse, HeaderMutation, HeaderValue,
    HeaderValueOption, HeadersResponse, HttpBody, HttpStatus, ImmediateResponse, ProcessingRequest,
    ProcessingResponse, ProtocolConfiguration, StreamedBodyResponse,
};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Status, Streaming};

/// What the picker does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Nothing,
    ChangesAByte,
    NamesNoDestination,
    /// In the answer to the headers there is none.
    NamesTheDestinationWithTheBody,
    ClosesBeforeTheResponse,
    Refuses,
    FailsTheCall,
    EndsTheBodyTwice,
}

/// A running picker. It ends when it is dropped.
pub(super) struct Picker {
    pub(super) address: SocketAddr,
    _server: JoinSet<()>,
}

impl Picker {
    pub(super) async fn start(fault: Fault) -> Self {
        Self::serve(Service { fault, held: None }).await
    }

    /// A faultless picker that does not pick for a stream until its release is used.
    pub(super) async fn start_held() -> (Self, Held) {
        let (sender, held) = mpsc::unbounded_channel();
        let service = Service {
            fault: Fault::Nothing,
            held: Some(sender),
        };
        (Self::serve(service).await, held)
    }

    async fn serve(service: Service) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        let mut server = JoinSet::new();
        server.spawn(async move {
            Server::builder()
                .add_service(ExternalProcessorServer::new(service))
                .serve_with_incoming(incoming)
                .await
                .unwrap();
        });
        Self {
            address,
            _server: server,
        }
    }
}

/// The releases of the streams that wait for their destination, in the order in which they came.
pub(super) type Held = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

struct Service {
    fault: Fault,
    held: Option<mpsc::UnboundedSender<oneshot::Sender<()>>>,
}

#[tonic::async_trait]
impl ExternalProcessor for Service {
    type ProcessStream = ReceiverStream<Result<ProcessingResponse, Status>>;

    async fn process(
        &self,
        request: tonic::Request<Streaming<ProcessingRequest>>,
    ) -> Result<tonic::Response<Self::ProcessStream>, Status> {
        if self.fault == Fault::FailsTheCall {
            return Err(Status::resource_exhausted("too many streams"));
        }
        let (replies, receiver) = mpsc::channel(1000);
        let hold = self.held.as_ref().map(|held| {
            let (release, hold) = oneshot::channel();
            held.send(release).unwrap();
            hold
        });
        let stream = Stream {
            hold,
            fault: self.fault,
            config: ProtocolConfiguration::default(),
            held: Vec::new(),
            replies,
        };
        crate::task::spawn("test picker", stream.answer(request.into_inner()));
        Ok(tonic::Response::new(ReceiverStream::new(receiver)))
    }
}

struct Stream {
    hold: Option<oneshot::Receiver<()>>,
    fault: Fault,
    config: ProtocolConfiguration,
    held: Vec<HttpBody>,
    replies: mpsc::Sender<Result<ProcessingResponse, Status>>,
}

impl Stream {
    async fn answer(mut self, mut messages: Streaming<ProcessingRequest>) {
        if let Some(hold) = self.hold.take() {
            hold.await.unwrap();
        }
        while let Ok(Some(message)) = messages.message().await {
            if let Some(config) = message.protocol_config {
                self.config = config;
            }
            let mut answers = Vec::new();
            match message.request.unwrap() {
                Request::RequestHeaders(_) => self.request_headers(&mut answers),
                Request::RequestBody(body) => self.request_body(body, &mut answers),
                Request::ResponseHeaders(_) if self.fault == Fault::ClosesBeforeTheResponse => {
                    return;
                }
                Request::ResponseHeaders(_) => {
                    answers.push(Response::ResponseHeaders(headers(None)))
                }
                Request::ResponseBody(body) => {
                    let is_duplex = is_duplex(self.config.response_body_mode);
                    answers.push(Response::ResponseBody(body_answer(is_duplex, body)));
                }
                Request::RequestTrailers(_) | Request::ResponseTrailers(_) => {}
            }
            for response in answers {
                let response = Some(response);
                let answer = ProcessingResponse {
                    response,
                    ..ProcessingResponse::default()
                };
                let _ = self.replies.send(Ok(answer)).await;
            }
        }
    }

    fn request_headers(&self, answers: &mut Vec<Response>) {
        if !is_duplex(self.config.request_body_mode) {
            answers.push(self.pick());
        }
    }

    fn request_body(&mut self, body: HttpBody, answers: &mut Vec<Response>) {
        if !is_duplex(self.config.request_body_mode) {
            let mut answer = body_answer(false, body);
            if self.fault == Fault::NamesTheDestinationWithTheBody {
                answer.response = headers(Some(DESTINATION)).response;
            }
            answers.push(Response::RequestBody(answer));
            return;
        }
        let is_last = body.end_of_stream;
        self.held.push(body);
        if !is_last {
            return;
        }
        answers.push(self.pick());
        if self.fault == Fault::ChangesAByte {
            let mut bytes = self.held[0].body.to_vec();
            bytes[100] ^= 1;
            self.held[0].body = Bytes::from(bytes);
        }
        if self.fault == Fault::EndsTheBodyTwice {
            self.held.push(self.held.last().unwrap().clone());
        }
        let names_here = self.fault == Fault::NamesTheDestinationWithTheBody;
        let echo = |body| {
            let mut answer = body_answer(true, body);
            if let (true, Some(echo)) = (names_here, &mut answer.response) {
                echo.header_mutation = headers(Some(DESTINATION))
                    .response
                    .and_then(|answer| answer.header_mutation);
            }
            Response::RequestBody(answer)
        };
        answers.extend(self.held.drain(..).map(echo));
    }

    fn pick(&self) -> Response {
        match self.fault {
            Fault::Refuses => Response::ImmediateResponse(ImmediateResponse {
                status: Some(HttpStatus { code: 503 }),
                ..ImmediateResponse::default()
            }),
            Fault::NamesNoDestination | Fault::NamesTheDestinationWithTheBody => {
                Response::RequestHeaders(headers(None))
            }
            _ => Response::RequestHeaders(headers(Some(DESTINATION))),
        }
    }
}

fn is_duplex(mode: i32) -> bool {
    mode == i32::from(BodySendMode::FullDuplexStreamed)
}

fn headers(destination: Option<&'static str>) -> HeadersResponse {
    let set = |destination: &'static str| HeaderValueOption {
        header: Some(HeaderValue {
            key: "x-gateway-destination-endpoint".to_owned(),
            value: String::new(),
            raw_value: Bytes::from(destination),
        }),
        ..HeaderValueOption::default()
    };
    HeadersResponse {
        response: Some(CommonResponse {
            header_mutation: destination.map(|destination| HeaderMutation {
                set_headers: vec![set(destination)],
                ..HeaderMutation::default()
            }),
            ..CommonResponse::default()
        }),
    }
}

fn body_answer(is_duplex: bool, body: HttpBody) -> BodyResponse {
    let echo = StreamedBodyResponse {
        body: body.body,
        end_of_stream: body.end_of_stream,
        end_of_stream_without_message: false,
    };
    BodyResponse {
        response: Some(CommonResponse {
            body_mutation: is_duplex.then(|| BodyMutation {
                mutation: Some(Mutation::StreamedResponse(echo)),
            }),
            ..CommonResponse::default()
        }),
    }
}

const DESTINATION: &str = "10.0.0.1:80";
