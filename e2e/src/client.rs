//! An HTTP client that speaks one protocol to one address.

use core::net::SocketAddr;
use core::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

use crate::body::{Body, whole};
use crate::chat::{self, Answer, Chat, Form};
use crate::wait;

/// One user of a server. Clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    connections: legacy::Client<HttpConnector, Body>,
    address: SocketAddr,
}

/// The protocol between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2 without TLS, by prior knowledge.
    Http2,
}

/// A complete response.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The trailers, if any came.
    pub trailers: Option<HeaderMap>,
}

/// A response whose body is still coming. Dropping it is a client that leaves.
#[derive(Debug)]
pub struct OpenReply {
    response: Response<Incoming>,
    received: Vec<u8>,
    trailers: Option<HeaderMap>,
}

impl Client {
    /// A client that connects at its first request.
    pub fn new(address: SocketAddr, protocol: Protocol) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_MAX));
        let connections = legacy::Client::builder(TokioExecutor::new())
            .http2_only(protocol == Protocol::Http2)
            .build(connector);
        Self {
            connections,
            address,
        }
    }

    /// Sends a request to `path`, which is not in `request` yet, and waits for the head of the
    /// response.
    pub async fn open(&self, path: &str, mut request: Request<Body>) -> Result<OpenReply> {
        *request.uri_mut() = format!("http://{}{path}", self.address).parse()?;
        let what = format!("{} {}", request.method(), request.uri());
        let response = wait::answer(&what, self.connections.request(request)).await?;
        Ok(OpenReply {
            response: response.context(what)?,
            received: Vec::new(),
            trailers: None,
        })
    }

    /// Sends a request and waits for the complete response.
    pub async fn send(&self, path: &str, request: Request<Body>) -> Result<Reply> {
        self.open(path, request).await?.complete().await
    }

    /// The answer to a GET.
    pub async fn get(&self, path: &str) -> Result<Reply> {
        self.send(path, Request::new(whole(Bytes::new()))).await
    }

    /// The answer to a POST of a JSON body, or of one that pretends to be.
    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> Result<Reply> {
        self.send(path, post(whole(body.into()))).await
    }

    /// The answer to a chat.
    pub async fn chat(&self, chat: &Chat, form: Form) -> Result<Answer> {
        let reply = self.post(chat::PATH, chat.body(form)).await?;
        Answer::read(form, &reply)
    }

    /// Sends a chat and waits for the first bytes of its streamed answer.
    pub async fn stream(&self, chat: &Chat) -> Result<OpenReply> {
        let request = post(whole(chat.body(Form::Stream)));
        let mut reply = self.open(chat::PATH, request).await?;
        reply.more().await?;
        Ok(reply)
    }
}

impl Reply {
    /// The value of a header, if it can be read.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("no JSON: {}", self.body.escape_ascii()))
    }
}

impl OpenReply {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// What of the body has come so far.
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Waits for more of the body; false at its end. A body that breaks off is an error.
    pub async fn more(&mut self) -> Result<bool> {
        let Some(frame) = wait::answer("more of a body", self.response.frame()).await? else {
            return Ok(false);
        };
        match frame.context("the body broke off")?.into_data() {
            Ok(data) => self.received.extend_from_slice(&data),
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
        Ok(true)
    }

    /// Waits for the end of the body.
    pub async fn complete(mut self) -> Result<Reply> {
        while self.more().await? {}
        let (head, _) = self.response.into_parts();
        Ok(Reply {
            status: head.status,
            headers: head.headers,
            body: Bytes::from(self.received),
            trailers: self.trailers,
        })
    }
}

/// A POST of JSON.
pub fn post(body: Body) -> Request<Body> {
    let mut request = Request::new(body);
    *request.method_mut() = http::Method::POST;
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert(header::CONTENT_TYPE, json);
    request
}

const CONNECT_MAX: Duration = Duration::from_secs(5);
