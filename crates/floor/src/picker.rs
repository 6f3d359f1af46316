//! The service: one task and one channel for each stream.

use core::convert::Infallible;
use core::future::Future;
use core::pin::Pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Poll};
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;
use tonic::codegen::Service;
use tonic_prost::ProstCodec;

use crate::messages::{
    BodyMutation, CommonResponse, HeaderMutation, HeaderValue, HeaderValueOption, HttpBody,
    Mutation, ProcessingRequest, ProcessingResponse, Received, Reply, StreamedBodyResponse,
    TrailersResponse, Wrapped,
};
use crate::task;

/// The ext_proc service. Its clones count streams together.
#[derive(Clone)]
pub(crate) struct Picker {
    destinations: Arc<Vec<String>>,
    streams: Arc<AtomicUsize>,
}

impl Picker {
    pub(crate) fn new(destinations: Vec<String>) -> Self {
        Self {
            destinations: Arc::new(destinations),
            streams: Arc::default(),
        }
    }

    fn next_destination(&self) -> String {
        let stream = self.streams.fetch_add(1, Ordering::Relaxed);
        let place = stream.checked_rem(self.destinations.len()).unwrap_or(0);
        self.destinations.get(place).cloned().unwrap_or_default()
    }
}

impl tonic::server::NamedService for Picker {
    const NAME: &'static str = "envoy.service.ext_proc.v3.ExternalProcessor";
}

impl Service<http::Request<tonic::body::Body>> for Picker {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<tonic::body::Body>) -> Self::Future {
        let picker = self.clone();
        Box::pin(async move {
            let codec: ProstCodec<ProcessingResponse, ProcessingRequest> = ProstCodec::default();
            let mut server =
                tonic::server::Grpc::new(codec).max_decoding_message_size(MESSAGE_BYTES_MAX);
            Ok(server.streaming(picker, request).await)
        })
    }
}

impl tonic::server::StreamingService<ProcessingRequest> for Picker {
    type Response = ProcessingResponse;
    type ResponseStream = UnboundedReceiverStream<Result<ProcessingResponse, Status>>;
    type Future =
        Pin<Box<dyn Future<Output = Result<tonic::Response<Self::ResponseStream>, Status>> + Send>>;

    fn call(
        &mut self,
        request: tonic::Request<tonic::Streaming<ProcessingRequest>>,
    ) -> Self::Future {
        let picker = self.clone();
        Box::pin(async move {
            let destination = picker.next_destination();
            let (replies, receiver) = mpsc::unbounded_channel();
            task::spawn(answer(request.into_inner(), destination, replies));
            Ok(tonic::Response::new(UnboundedReceiverStream::new(receiver)))
        })
    }
}

/// Answers the messages of one stream until it ends in whichever way.
async fn answer(
    mut messages: tonic::Streaming<ProcessingRequest>,
    destination: String,
    replies: mpsc::UnboundedSender<Result<ProcessingResponse, Status>>,
) {
    let send = |response| {
        let response = Some(response);
        let _ = replies.send(Ok(ProcessingResponse { response }));
    };
    let mut held: Vec<HttpBody> = Vec::new();
    while let Ok(Some(message)) = messages.message().await {
        match message.request {
            Some(Received::RequestHeaders(headers)) if headers.end_of_stream => {
                send(Reply::RequestHeaders(headers_reply(Some(&destination))));
            }
            Some(Received::RequestBody(body)) => {
                let is_last = body.end_of_stream;
                held.push(body);
                if is_last {
                    send(Reply::RequestHeaders(headers_reply(Some(&destination))));
                    for body in held.drain(..) {
                        send(Reply::RequestBody(body_reply(body)));
                    }
                }
            }
            Some(Received::ResponseHeaders(_)) => {
                send(Reply::ResponseHeaders(headers_reply(None)));
            }
            Some(Received::ResponseBody(body)) => send(Reply::ResponseBody(body_reply(body))),
            Some(Received::RequestTrailers(_)) => {
                send(Reply::RequestTrailers(TrailersResponse::default()));
            }
            Some(Received::ResponseTrailers(_)) => {
                send(Reply::ResponseTrailers(TrailersResponse::default()));
            }
            Some(Received::RequestHeaders(_)) | None => {}
        }
    }
}

fn headers_reply(destination: Option<&str>) -> Wrapped {
    Wrapped {
        response: Some(CommonResponse {
            clear_route_cache: destination.is_some(),
            header_mutation: destination.map(|destination| HeaderMutation {
                set_headers: vec![HeaderValueOption {
                    header: Some(HeaderValue {
                        key: DESTINATION_HEADER.into(),
                        value: String::new(),
                        raw_value: Bytes::copy_from_slice(destination.as_bytes()),
                    }),
                    append_action: 0,
                }],
                remove_headers: vec![],
            }),
            ..CommonResponse::default()
        }),
    }
}

fn body_reply(body: HttpBody) -> Wrapped {
    Wrapped {
        response: Some(CommonResponse {
            body_mutation: Some(BodyMutation {
                mutation: Some(Mutation::Streamed(StreamedBodyResponse {
                    body: body.body,
                    end_of_stream: body.end_of_stream,
                    end_of_stream_without_message: body.end_of_stream_without_message,
                })),
            }),
            ..CommonResponse::default()
        }),
    }
}

const DESTINATION_HEADER: &str = "x-gateway-destination-endpoint";
const MESSAGE_BYTES_MAX: usize = 64 << 20;
