//! A backend that writes down what reaches it and answers as a test wants, where the engine stand-in
//! would do neither. It speaks HTTP/1.1 and HTTP/2 by prior knowledge.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pointsman_cli::harness::endpoints::Entry;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::body::{Body, whole};
use crate::chat::ENGINE;

/// A running backend. It ends when it is dropped.
#[derive(Debug)]
pub struct Backend {
    name: String,
    address: SocketAddr,
    shared: Arc<Shared>,
    _server: JoinSet<()>,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// The trailers, if any came.
    pub trailers: Option<HeaderMap>,
}

/// How a backend behaves.
pub struct Manner {
    at_head: Box<dyn Fn() -> AtHead + Send + Sync>,
    read_pause: Duration,
    answer: Box<Answers>,
}

type Answers = dyn Fn(&Seen) -> Response<Body> + Send + Sync;

/// What a backend does with a request of which it has the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtHead {
    /// Reads its body.
    Read,
    /// Answers with this status, and only then reads the body away.
    Answer(StatusCode),
    /// Closes the connection.
    Close,
}

impl Manner {
    /// Reads each request to its end and gives it this answer.
    pub fn answering(answer: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static) -> Self {
        Self {
            at_head: Box::new(|| AtHead::Read),
            read_pause: Duration::ZERO,
            answer: Box::new(answer),
        }
    }

    /// Asks what to do with each request as soon as its head is there.
    #[must_use]
    pub fn at_head(self, at_head: impl Fn() -> AtHead + Send + Sync + 'static) -> Self {
        Self {
            at_head: Box::new(at_head),
            ..self
        }
    }

    /// Lets so much time pass before each piece of a body that it reads.
    #[must_use]
    pub fn reading_slowly(self, read_pause: Duration) -> Self {
        Self { read_pause, ..self }
    }
}

impl fmt::Debug for Manner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manner").finish_non_exhaustive()
    }
}

impl Backend {
    /// Starts a backend that answers everything with an empty JSON object.
    pub async fn start(name: &str) -> Result<Self> {
        Self::with_manner(name, Manner::answering(|_| json("{}"))).await
    }

    /// Starts a backend that gives these answers.
    pub async fn answering(
        name: &str,
        answer: impl Fn(&Seen) -> Response<Body> + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::with_manner(name, Manner::answering(answer)).await
    }

    /// Starts a backend that behaves in this manner.
    pub async fn with_manner(name: &str, manner: Manner) -> Result<Self> {
        Self::at(Ipv4Addr::LOCALHOST.into(), name, manner).await
    }

    /// Starts a backend that listens at this address of the machine.
    pub async fn at(ip: IpAddr, name: &str, manner: Manner) -> Result<Self> {
        let listener = TcpListener::bind((ip, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            name: HeaderValue::from_str(name)?,
            manner,
            seen: Mutex::new(Vec::new()),
            open: AtomicUsize::new(0),
            reading: Mutex::default(),
        });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Arc::clone(&shared)));
        Ok(Self {
            name: name.to_owned(),
            address,
            shared,
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

    /// Every complete request so far, but for those of a metrics page, which it does not have.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.seen().clone()
    }

    /// The complete requests since they were taken last.
    pub fn take(&self) -> Vec<Seen> {
        core::mem::take(&mut *self.shared.seen())
    }

    /// The only complete request since they were taken last.
    pub fn take_one(&self) -> Result<Seen> {
        let mut seen = self.take();
        ensure!(seen.len() == 1, "{} requests arrived", seen.len());
        seen.pop().context("no request")
    }

    /// How many requests have begun to arrive and are neither answered to the end nor given up.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::Relaxed)
    }
}

/// An answer of JSON.
pub fn json(body: impl Into<Bytes>) -> Response<Body> {
    answer("application/json", whole(body))
}

/// An answer without a body.
pub fn with_status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(whole(""));
    *response.status_mut() = status;
    response
}

/// An answer with status 200.
pub fn answer(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let content_type = HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}

#[derive(Debug)]
struct Shared {
    name: HeaderValue,
    manner: Manner,
    seen: Mutex<Vec<Seen>>,
    open: AtomicUsize,
    /// Bodies that are read away.
    reading: Mutex<JoinSet<()>>,
}

impl Shared {
    fn seen(&self) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request; an error closes the connection without an answer.
    async fn handle(self: Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>> {
        let (head, mut body) = request.into_parts();
        if head.uri.path() == "/metrics" {
            return Ok(with_status(StatusCode::NOT_FOUND));
        }
        match (self.manner.at_head)() {
            AtHead::Read => {}
            AtHead::Answer(status) => {
                // What nobody reads would make the end of the connection a reset, which overtakes the
                // answer.
                let reading = async move { while let Some(Ok(_)) = body.frame().await {} };
                self.reading
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .spawn(reading);
                return Ok(with_status(status));
            }
            AtHead::Close => bail!("the connection is refused"),
        }
        let open = Open::new(Arc::clone(&self));
        let seen = self.read(head, body).await?;
        let mut response = (self.manner.answer)(&seen);
        self.seen().push(seen);
        response.headers_mut().insert(ENGINE, self.name.clone());
        // The request is open as long as its answer's body is there.
        Ok(response.map(|body| {
            body.map_frame(move |frame| {
                let _open = &open;
                frame
            })
            .boxed_unsync()
        }))
    }

    /// Reads a request to its end. A body that breaks off was not a request.
    async fn read(&self, head: Parts, mut body: Incoming) -> Result<Seen> {
        let mut received = Vec::new();
        let mut trailers = None;
        loop {
            if !self.manner.read_pause.is_zero() {
                sleep(self.manner.read_pause).await;
            }
            let Some(frame) = body.frame().await else {
                break;
            };
            match frame.context("the body broke off")?.into_data() {
                Ok(data) => received.extend_from_slice(&data),
                Err(frame) => trailers = frame.into_trailers().ok(),
            }
        }
        let target = head.uri.path_and_query().map(ToString::to_string);
        Ok(Seen {
            method: head.method,
            target: target.unwrap_or_else(|| head.uri.to_string()),
            headers: head.headers,
            body: received.into(),
            trailers,
        })
    }
}

/// Counts a request as open while it exists.
#[derive(Debug)]
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: Arc<Shared>) -> Self {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Dropped with this task, and then all connections end too.
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        // Else a small piece of a stream could wait for the acknowledgement of the one before.
        let _delays = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let service = service_fn(move |request| Arc::clone(&shared).handle(request));
            // A connection that breaks is the gateway's decision, and the tests look at requests.
            let _ended = auto::Builder::new(TokioExecutor::new())
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}
