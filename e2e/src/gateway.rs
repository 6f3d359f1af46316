//! Speaks to a picker as a gateway does: `ext_proc` and health over gRPC, without an Envoy.

use core::net::SocketAddr;

use anyhow::{Context as _, Result, bail};
use bytes::Bytes;
use pointsman_proto::ext_proc::external_processor_client::ExternalProcessorClient;
use pointsman_proto::ext_proc::processing_request::Request;
use pointsman_proto::ext_proc::processing_response::Response;
use pointsman_proto::ext_proc::{
    BodySendMode, HeaderMap, HeaderMutation, HeaderValue, HttpBody, HttpHeaders, ProcessingRequest,
    ProcessingResponse, ProtocolConfiguration,
};
use pointsman_proto::health::HealthCheckRequest;
use pointsman_proto::health::health_check_response::ServingStatus;
use pointsman_proto::health::health_client::HealthClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

use crate::wait;

/// One `ext_proc` stream. Dropping it resets the stream.
#[derive(Debug)]
pub struct Exchange {
    /// `None` once the gateway's side has ended.
    outgoing: Option<mpsc::Sender<ProcessingRequest>>,
    incoming: Streaming<ProcessingResponse>,
    config: Option<ProtocolConfiguration>,
}

/// A plain-text connection to a gRPC port.
pub async fn connect(address: SocketAddr) -> Result<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    let what = format!("connecting to {address}");
    wait::answer(&what, endpoint.connect()).await?.context(what)
}

/// What the health service says of `service`.
pub async fn health(channel: &Channel, service: &str) -> Result<ServingStatus> {
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let mut client = HealthClient::new(channel.clone());
    let response = wait::answer("a health check", client.check(request)).await??;
    Ok(response.into_inner().status())
}

impl Exchange {
    /// Opens a stream of a gateway that sends request bodies in this mode, or does not say in which.
    pub async fn open(channel: &Channel, mode: Option<BodySendMode>) -> Result<Self> {
        let (outgoing, messages) = mpsc::channel(MESSAGES_MAX);
        let mut client = ExternalProcessorClient::new(channel.clone());
        let call = client.process(ReceiverStream::new(messages));
        let incoming = wait::answer("opening a stream", call).await??.into_inner();
        let config = mode.map(|mode| ProtocolConfiguration {
            request_body_mode: mode.into(),
            response_body_mode: BodySendMode::None.into(),
            send_body_without_waiting_for_header_response: false,
        });
        Ok(Self {
            outgoing: Some(outgoing),
            incoming,
            config,
        })
    }

    /// Sends a message.
    pub async fn send(&mut self, request: Request) -> Result<()> {
        let message = ProcessingRequest {
            protocol_config: self.config.take(),
            request: Some(request),
            ..ProcessingRequest::default()
        };
        let outgoing = self
            .outgoing
            .as_ref()
            .context("the gateway's side has ended")?;
        outgoing.send(message).await.context("the stream is closed")
    }

    /// Ends the gateway's side; answers still come.
    pub fn end_input(&mut self) {
        self.outgoing = None;
    }

    /// Waits for the next answer.
    pub async fn reply(&mut self) -> Result<ProcessingResponse> {
        let reply = wait::answer("a reply", self.incoming.message()).await??;
        reply.context("the picker closed the stream")
    }
}

/// The headers of a chat request, with more of them.
pub fn chat_headers(more: &[(&str, &str)]) -> Request {
    headers(crate::chat::PATH, more)
}

/// The headers of a request to this path that a body follows, with more of them.
pub fn headers(path: &str, more: &[(&str, &str)]) -> Request {
    let head = [
        (":method", "POST"),
        (":path", path),
        (":authority", "gateway"),
        ("content-type", "application/json"),
    ];
    let headers = head.iter().chain(more).map(|&(name, value)| HeaderValue {
        key: name.to_owned(),
        value: String::new(),
        raw_value: Bytes::copy_from_slice(value.as_bytes()),
    });
    Request::RequestHeaders(HttpHeaders {
        headers: Some(HeaderMap {
            headers: headers.collect(),
        }),
        end_of_stream: false,
    })
}

/// A part of a request body that is not the last.
pub fn body(body: Bytes) -> Request {
    Request::RequestBody(HttpBody {
        body,
        ..HttpBody::default()
    })
}

/// The last part of a request body, or all of it.
pub fn last_body(body: Bytes) -> Request {
    Request::RequestBody(HttpBody {
        body,
        end_of_stream: true,
        end_of_stream_without_message: false,
    })
}

/// What an answer does to the request's headers.
pub fn header_mutation(reply: &ProcessingResponse) -> Result<HeaderMutation> {
    let common = match &reply.response {
        Some(Response::RequestHeaders(headers)) => headers.response.as_ref(),
        Some(Response::RequestBody(body)) => body.response.as_ref(),
        other => bail!("this answer cannot change request headers: {other:?}"),
    };
    Ok(common
        .and_then(|common| common.header_mutation.clone())
        .unwrap_or_default())
}

/// The value that an answer gives to the header `name`.
pub fn header_set(mutation: &HeaderMutation, name: &str) -> Option<String> {
    let mut headers = mutation
        .set_headers
        .iter()
        .filter_map(|set| set.header.as_ref());
    let header = headers.find(|header| header.key == name)?;
    Some(String::from_utf8_lossy(&header.raw_value).into_owned())
}

const MESSAGES_MAX: usize = 16;
