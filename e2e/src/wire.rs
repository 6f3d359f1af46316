//! HTTP/1.1 byte by byte, for what a library would put in order or hide: heads as they were sent,
//! framing, and interim responses.

use core::net::{Ipv4Addr, SocketAddr};
use core::str;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use pointsman_cli::harness::endpoints::Entry;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::wait;

/// A connection on which whole messages are read. Dropping it closes it.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    /// What has come and was not read yet.
    ahead: Vec<u8>,
}

/// The head of a message: its lines as they came.
#[derive(Clone, Debug)]
pub struct Head {
    text: String,
}

/// A message as it came, with the chunks of its body put together.
#[derive(Clone, Debug)]
pub struct Message {
    /// The head.
    pub head: Head,
    /// The body.
    pub body: Bytes,
}

impl Wire {
    /// Connects.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let connecting = TcpStream::connect(address);
        Ok(Self::over(wait::answer("a connection", connecting).await??))
    }

    const fn over(stream: TcpStream) -> Self {
        Self {
            stream,
            ahead: Vec::new(),
        }
    }

    /// Sends these bytes.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        let sending = self.stream.write_all(bytes.as_ref());
        Ok(wait::answer("sending", sending).await??)
    }

    /// Waits for the next message, be it a request, an interim response or a response to anything
    /// but HEAD.
    pub async fn message(&mut self) -> Result<Message> {
        let head = self.head().await?;
        let body = self.body(&head).await?;
        Ok(Message { head, body })
    }

    /// Waits for the next head.
    pub async fn head(&mut self) -> Result<Head> {
        let end = self.position_of(b"\r\n\r\n").await?;
        let text = self.take(end + 4).await?;
        // Each byte becomes the character of its number, so that nothing is lost.
        let text = text.iter().copied().map(char::from).collect();
        Ok(Head { text })
    }

    async fn body(&mut self, head: &Head) -> Result<Bytes> {
        if head.is_interim() {
            return Ok(Bytes::new());
        }
        if head.values("transfer-encoding").contains(&"chunked") {
            return self.chunks().await;
        }
        match head.values("content-length").first() {
            Some(length) => self.take(length.parse()?).await,
            None if head.is_request() => Ok(Bytes::new()),
            None => self.rest().await,
        }
    }

    async fn chunks(&mut self) -> Result<Bytes> {
        let mut body = Vec::new();
        loop {
            let end = self.position_of(b"\r\n").await?;
            let line = self.take(end + 2).await?;
            let size = str::from_utf8(&line)?.split(';').next().unwrap_or_default();
            let size = usize::from_str_radix(size.trim(), 16)?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&self.take(size).await?);
            ensure!(*self.take(2).await? == *b"\r\n", "a chunk without its end");
        }
        // Trailers, up to an empty line.
        loop {
            let end = self.position_of(b"\r\n").await?;
            if self.take(end + 2).await?.len() == 2 {
                return Ok(body.into());
            }
        }
    }

    async fn position_of(&mut self, mark: &[u8]) -> Result<usize> {
        let mut searched = 0;
        loop {
            let fresh = self.ahead.get(searched..).unwrap_or_default();
            if let Some(found) = fresh.windows(mark.len()).position(|part| part == mark) {
                return Ok(searched + found);
            }
            searched = self.ahead.len().saturating_sub(mark.len());
            self.read().await?;
        }
    }

    async fn take(&mut self, bytes: usize) -> Result<Bytes> {
        while self.ahead.len() < bytes {
            self.read().await?;
        }
        let rest = self.ahead.split_off(bytes);
        Ok(core::mem::replace(&mut self.ahead, rest).into())
    }

    async fn rest(&mut self) -> Result<Bytes> {
        let reading = self.stream.read_to_end(&mut self.ahead);
        wait::answer("the end of the connection", reading).await??;
        Ok(core::mem::take(&mut self.ahead).into())
    }

    async fn read(&mut self) -> Result<()> {
        let reading = self.stream.read_buf(&mut self.ahead);
        if wait::answer("more of a message", reading).await?? == 0 {
            bail!(
                "the connection ended within a message: {}",
                self.ahead.escape_ascii()
            );
        }
        Ok(())
    }
}

impl Head {
    /// The first line.
    pub fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }

    /// The status of a response.
    pub fn status(&self) -> Result<u16> {
        let status = self.first_line().split(' ').nth(1);
        Ok(status.context("no status")?.parse()?)
    }

    /// The values of all headers of this name, which is in lower case, in their order.
    pub fn values(&self, name: &str) -> Vec<&str> {
        self.text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .collect()
    }

    /// How many framings it names; a message must never have both.
    pub fn framings(&self) -> usize {
        self.values("content-length").len() + self.values("transfer-encoding").len()
    }

    fn is_request(&self) -> bool {
        !self.text.starts_with("HTTP/")
    }

    fn is_interim(&self) -> bool {
        self.text.starts_with("HTTP/1.1 1")
    }
}

/// A backend that keeps the heads of requests as they came, and sends the same bytes as the answer to
/// each of them. It ends when it is dropped.
#[derive(Debug)]
pub struct WireBackend {
    name: String,
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Message>>>,
    _server: JoinSet<()>,
}

impl WireBackend {
    /// Starts a backend whose answers consist of these bytes and the end of their connection.
    pub async fn start(name: &str, answer: impl Into<Bytes>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let seen = Arc::default();
        let mut server = JoinSet::new();
        server.spawn(serve(listener, answer.into(), Arc::clone(&seen)));
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

    /// The only request since it was asked last, but for those of a metrics page.
    pub fn take_one(&self) -> Result<Message> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = core::mem::take(&mut *seen);
        ensure!(seen.len() == 1, "{} requests arrived", seen.len());
        seen.pop().context("no request")
    }
}

async fn serve(listener: TcpListener, answer: Bytes, seen: Arc<Mutex<Vec<Message>>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            continue;
        };
        let (answer, seen) = (answer.clone(), Arc::clone(&seen));
        connections.spawn(async move {
            let mut wire = Wire::over(stream);
            // What breaks off was no request.
            let Ok(request) = wire.message().await else {
                return;
            };
            let is_scrape = request.head.first_line().starts_with("GET /metrics ");
            let answer: &[u8] = if is_scrape { NO_METRICS } else { &answer };
            if !is_scrape {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(request);
            }
            let _left = wire.send(answer).await;
        });
    }
}

const NO_METRICS: &[u8] =
    b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
