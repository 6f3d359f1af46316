//! A backend that writes down what reaches it, where the engine stand-in would not tell.

use core::convert::Infallible;
use core::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointsman_cli::harness::endpoints::Entry;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::chat::ENGINE;

/// A running backend. It ends when it is dropped.
#[derive(Debug)]
pub struct Backend {
    name: String,
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    _server: JoinSet<()>,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The trailers, if any came.
    pub trailers: Option<HeaderMap>,
}

impl Backend {
    /// Starts a backend that answers every POST with an empty JSON object, and all else with 404.
    pub async fn start(name: &str) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut server = JoinSet::new();
        server.spawn(serve(listener, name.to_owned(), Arc::clone(&seen)));
        Ok(Self {
            name: name.to_owned(),
            address,
            seen,
            _server: server,
        })
    }

    /// Its line in the endpoints file.
    pub fn entry(&self) -> Entry {
        Entry {
            name: self.name.clone(),
            address: self.address,
        }
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Every POST so far.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }
}

async fn serve(listener: TcpListener, name: String, seen: Arc<Mutex<Vec<Seen>>>) {
    // Dropped with this task, and then all connections end too.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let (name, seen) = (name.clone(), Arc::clone(&seen));
        connections.spawn(async move {
            let service = service_fn(async |request| answer(request, &name, &seen).await);
            // A connection that breaks is the gateway's decision, and the tests look at requests.
            let _ended = http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    name: &str,
    seen: &Mutex<Vec<Seen>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let mut response = Response::new(Full::from("{}"));
    if head.method != Method::POST {
        *response.status_mut() = http::StatusCode::NOT_FOUND;
        return Ok(response);
    }
    // A body that breaks off was not a request, and is not written down.
    if let Ok(body) = body.collect().await {
        lock(seen).push(Seen {
            headers: head.headers,
            trailers: body.trailers().cloned(),
            body: body.to_bytes(),
        });
    }
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        http::HeaderValue::from_static("application/json"),
    );
    if let Ok(name) = name.parse() {
        headers.insert(ENGINE, name);
    }
    Ok(response)
}

fn lock(seen: &Mutex<Vec<Seen>>) -> std::sync::MutexGuard<'_, Vec<Seen>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}
