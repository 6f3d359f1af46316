//! Listens, serves connections, and ends in order.

use core::future::Future;
use core::net::SocketAddr;
use core::pin::pin;
use core::time::Duration;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use http::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::driver::Driver;
use super::fault::Faults;
use super::prompt::Author;
use super::routes::Site;
use super::{Arguments, unix_seconds};
use crate::task;

/// A stand-in that listens already and serves once it is told to.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    connections: Arc<Semaphore>,
    site: Arc<Site>,
    driver: JoinHandle<()>,
}

impl Server {
    /// Binds the address and starts the engine.
    pub async fn bind(arguments: &Arguments) -> Result<Self> {
        let config = arguments.config()?;
        let listen = arguments.listen;
        let listener = TcpListener::bind(listen)
            .await
            .with_context(|| format!("cannot listen on {listen}"))?;
        let address = listener.local_addr()?;
        let name = arguments
            .name
            .clone()
            .unwrap_or_else(|| address.to_string());
        let name = HeaderValue::from_str(&name)
            .with_context(|| format!("`{name}` cannot stand in a header"))?;
        let (faults, watched) = watch::channel(Faults(arguments.fault.clone()));
        let (driver, handle) = Driver::new(config, arguments.time_scale, watched);
        let site = Site {
            name,
            adapters: Mutex::new(arguments.adapters()?),
            models: arguments.model.clone(),
            config,
            output_tokens: arguments.output_tokens,
            author: Author {
                block_size: config.block_size,
                seed: arguments.seed,
            },
            driver: handle,
            faults,
            start_seconds: unix_seconds(),
            answers: AtomicU64::new(0),
        };
        Ok(Self {
            listener,
            address,
            connections: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
            site: Arc::new(site),
            driver: task::spawn("engine driver", driver.run()),
        })
    }

    /// The address that clients connect to.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is ready, then lets open requests end for some seconds.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<()> {
        let graceful = GracefulShutdown::new();
        let abandoned = CancellationToken::new();
        let mut shutdown = pin!(shutdown);
        loop {
            let (stream, permit) = tokio::select! {
                () = &mut shutdown => break,
                accepted = self.accept() => accepted,
            };
            let site = Arc::clone(&self.site);
            let service = service_fn(move |request| {
                let site = Arc::clone(&site);
                async move { site.handle(request).await }
            });
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            let connection = graceful.watch(connection);
            let abandoned = abandoned.clone();
            task::spawn("engine connection", async move {
                let _permit = permit;
                tokio::select! {
                    ended = connection => if let Err(error) = ended {
                        debug!(%error, "connection ended early");
                    },
                    () = abandoned.cancelled() => {}
                }
            });
        }
        drop(self.listener);
        if timeout(DRAIN_MAX, graceful.shutdown()).await.is_err() {
            warn!("open requests are cut off, as they did not end in time");
            abandoned.cancel();
        }
        // The driver ends with the last connection, as each holds a way to it.
        drop(self.site);
        self.driver.await.context("the engine failed")
    }

    async fn accept(&self) -> (TcpStream, OwnedSemaphorePermit) {
        loop {
            let permit = Arc::clone(&self.connections).acquire_owned().await;
            match (self.listener.accept().await, permit) {
                (Ok((stream, _)), Ok(permit)) => {
                    // Tokens are small and must not wait for one another.
                    let _ = stream.set_nodelay(true);
                    return (stream, permit);
                }
                (Err(error), _) => {
                    warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
                (Ok(_), Err(_)) => debug_assert!(false, "the semaphore is never closed"),
            }
        }
    }
}

/// Connections beyond these wait in the kernel's queue.
const CONNECTIONS_MAX: usize = 16_384;

/// How long open requests may go on after a stop was asked for.
const DRAIN_MAX: Duration = Duration::from_secs(10);

/// The pause after a failure to accept, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
