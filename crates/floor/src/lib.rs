//! The floor: a trivial picker that shows what the protocol itself costs.
//!
//! Job: an ext_proc server that waits for the end of the body, names the next destination in turn
//! and gives every byte back. Figures of other pickers are told as multiples of it. Not its job: to
//! be fast, complete or robust. It speaks duplex mode only, does not know trailers as the end of a
//! body, and bounds nothing.
//!
//! Read first: [`serve`] and `picker::Picker`.
//!
//! Invariants: it uses no other crate of this workspace, and its source is frozen, so that it does
//! not move when ours does. A test compares the source with a digest. A change of the floor is a
//! commit of its own with the reason, as all earlier figures lose their baseline with it. The program
//! that serves it has the system's allocator and the runtime that [`runtime`] makes.

mod messages;
mod picker;
mod task;

use core::future::Future;
use std::io;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use picker::Picker;

/// The runtime that the floor is measured on.
pub fn runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
}

/// Serves the floor on `listener` until `shutdown` is ready, and names `destinations` in turn. None
/// of them makes every pick an empty one.
pub async fn serve(
    listener: TcpListener,
    destinations: Vec<String>,
    shutdown: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .add_service(Picker::new(destinations))
        .serve_with_incoming_shutdown(incoming, shutdown)
        .await
}

const WORKER_THREADS: usize = 2;
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;

#[cfg(test)]
mod tests;
