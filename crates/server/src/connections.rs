//! The connections of gateways, which end without losing what is on its way to a gateway.
//!
//! If a socket is closed before all that its peer sent was read, or if more comes later, the peer's
//! next write fails, and Envoy then closes its side without reading the answers that lie there. So a
//! connection that we end first ends in our direction alone, and what still comes is read and
//! dropped until the gateway has closed its own.

use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io::{self, IoSlice};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tonic::transport::server::{Connected, TcpConnectInfo, TcpIncoming};

use crate::task::Tasks;

/// All connections to one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Connections {
    /// Those that are not closed yet.
    open: TaskTracker,
    /// Those of them that only wait for the gateway to close its side.
    closing: Tasks,
    cut: CancellationToken,
}

/// One connection. Dropping it ends it.
pub(crate) struct Connection {
    /// `None` once it was dropped.
    stream: Option<TcpStream>,
    /// Nothing more can come.
    ended_by_peer: bool,
    closing: Tasks,
    /// Ready when all connections are ended.
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
    open: Option<TaskTrackerToken>,
}

impl Connections {
    /// What comes in is one of these connections.
    pub(crate) fn of(
        &self,
        incoming: TcpIncoming,
    ) -> impl Stream<Item = io::Result<Connection>> + use<> {
        let connections = self.clone();
        incoming.map(move |accepted| accepted.map(|stream| connections.opened(stream)))
    }

    /// Ends those that are still open, and waits a moment for gateways to have read all of them.
    pub(crate) async fn end(&self) {
        self.cut.cancel();
        self.open.close();
        // A gateway that does not read what we sent loses it.
        let _lost = tokio::time::timeout(END_MAX, self.open.wait()).await;
        self.closing.stop().await;
    }

    fn opened(&self, stream: TcpStream) -> Connection {
        Connection {
            stream: Some(stream),
            ended_by_peer: false,
            closing: self.closing.clone(),
            cut: Box::pin(self.cut.clone().cancelled_owned()),
            open: Some(self.open.token()),
        }
    }
}

impl Connection {
    fn stream(&mut self) -> io::Result<Pin<&mut TcpStream>> {
        let stream = self.stream.as_mut().map(Pin::new);
        stream.ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = self.get_mut();
        if connection.cut.as_mut().poll(cx).is_ready() {
            // As if the peer had ended it: what was answered is still sent.
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let read = connection.stream()?.poll_read(cx, buffer);
        if let Poll::Ready(result) = &read {
            let came = buffer.filled().len() > before;
            connection.ended_by_peer = result.is_err() || !came;
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().stream()?.poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().stream()?.poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream
            .as_ref()
            .is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_shutdown(cx)
    }
}

impl Connected for Connection {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        let stream = self.stream.as_ref();
        TcpConnectInfo {
            local_addr: stream.and_then(|stream| stream.local_addr().ok()),
            remote_addr: stream.and_then(|stream| stream.peer_addr().ok()),
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let (Some(stream), false) = (self.stream.take(), self.ended_by_peer) {
            let open = self.open.take();
            self.closing.spawn("closing", async move {
                // A peer that does not close its side in time has had its chance to read.
                let _late = tokio::time::timeout(CLOSING_MAX, close(stream)).await;
                drop(open);
            });
        }
    }
}

/// Ends our direction, and reads until the peer has ended the other.
async fn close(mut stream: TcpStream) -> io::Result<()> {
    poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await?;
    let mut unread = [0; UNREAD_BYTES];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut unread) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

/// How long a peer has to close a connection that we have ended. Gateways do so at once.
const CLOSING_MAX: Duration = Duration::from_millis(250);
/// How long all of them have, with those that cannot send all that they were about to.
const END_MAX: Duration = Duration::from_millis(400);
/// Bytes that are dropped at a time.
const UNREAD_BYTES: usize = 4096;

#[cfg(test)]
mod tests;
