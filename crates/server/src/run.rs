//! Start, serve, drain.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use envoy_types::pb::envoy::service::endpoint::v3::endpoint_discovery_service_server::EndpointDiscoveryServiceServer;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_extproc::stream::Settings;
use pointsman_feeds::scrape::ScrapeSettings;
use pointsman_pipeline::pool::Input;
use pointsman_policy::config::{Attachment, Compiled};
use pointsman_proto::ext_proc::external_processor_server::ExternalProcessorServer;
use pointsman_proto::health::health_server::HealthServer;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tracing::{info, warn};

use crate::admin::Admin;
use crate::discovery;
use crate::eds::{EdsService, EdsTable};
use crate::flags::Flags;
use crate::health::{HealthService, Readiness};
use crate::metrics::Metrics;
use crate::pool::PoolDoor;
use crate::record::Recorder;
use crate::rollout::Rollout;
use crate::scraping;
use crate::session::Service;
use crate::task::Tasks;
use crate::tls;

/// Runs the picker until it is told to end.
pub async fn run(flags: Flags, warnings: Vec<String>) -> Result<()> {
    for warning in warnings {
        warn!("{warning}");
    }
    let compiled = configuration(&flags).await?;
    for warning in &compiled.warnings {
        warn!("configuration: {warning}");
    }
    let mut interrupt = signal(SignalKind::interrupt()).context("listen to SIGINT")?;
    let mut terminate = signal(SignalKind::terminate()).context("listen to SIGTERM")?;

    let picker = Picker::start(flags, compiled).await?;
    tokio::select! {
        _ = interrupt.recv() => info!("SIGINT: draining"),
        _ = terminate.recv() => info!("SIGTERM: draining"),
    }
    picker.drain().await;
    Ok(())
}

async fn configuration(flags: &Flags) -> Result<Compiled> {
    let (text, from) = match (&flags.config_file, &flags.config_text) {
        (Some(path), _) => {
            let read = tokio::fs::read_to_string(path).await;
            let text = read.with_context(|| format!("read --config-file {}", path.display()))?;
            (text, path.display().to_string())
        }
        (None, Some(text)) => (text.clone(), "--config-text".to_owned()),
        (None, None) => (String::new(), "the built-in configuration".to_owned()),
    };
    let attachment = if flags.eds_port.is_some() {
        Attachment::Standalone
    } else {
        Attachment::Gateway
    };
    pointsman_policy::config::load(&text, attachment)
        .map_err(|problems| anyhow::Error::new(Unusable { from, problems }))
}

/// A configuration that cannot be used, with everything that is wrong with it.
#[derive(Debug)]
pub struct Unusable {
    from: String,
    problems: pointsman_policy::problem::Problems,
}

impl core::fmt::Display for Unusable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} is not usable:\n{}", self.from, self.problems)
    }
}

impl core::error::Error for Unusable {}

struct Picker {
    door: Arc<PoolDoor>,
    readiness: Readiness,
    streams: TaskTracker,
    background: Tasks,
    /// The ext_proc server, which ends by itself once it stops accepting and its streams are done.
    gateways: Tasks,
    servers: Tasks,
    stop_accepting: CancellationToken,
    leave: CancellationToken,
    drain_timeout: Duration,
}

impl Picker {
    async fn start(flags: Flags, compiled: Compiled) -> Result<Self> {
        let seed = seed();
        let recorder = Arc::new(Recorder::new(Metrics::new().context("register metrics")?));
        let (door, lives) = PoolDoor::new(
            compiled.runtime.clone(),
            seed,
            flags.explain_every,
            Arc::clone(&recorder),
        );
        let eds = Arc::new(EdsTable::new(seed));
        let picker = Self {
            door: Arc::clone(&door),
            readiness: Readiness::new(),
            streams: TaskTracker::new(),
            background: Tasks::default(),
            gateways: Tasks::default(),
            servers: Tasks::default(),
            stop_accepting: CancellationToken::new(),
            leave: CancellationToken::new(),
            drain_timeout: flags.drain_timeout,
        };

        picker
            .background
            .spawn("expire", Arc::clone(&door).expire_in_time());
        let scrape = scrape_settings(&flags, &compiled);
        let port = compiled.metrics.port;
        let loops = picker.background.clone();
        let follow = scraping::follow(Arc::clone(&door), lives, scrape, port, loops);
        picker.background.spawn("scraping", follow);

        let admin = Admin {
            pool_name: Arc::from("default"),
            door: Arc::clone(&door),
            recorder: Arc::clone(&recorder),
            readiness: picker.readiness.clone(),
        };
        picker
            .serve(&flags, admin, &compiled, Arc::clone(&eds))
            .await?;
        picker
            .discover(&compiled, Rollout::new(door, eds), recorder)
            .await?;
        picker.readiness.set(true);
        info!("ready");
        Ok(picker)
    }

    /// Reads the endpoints, and follows them if the configuration says so.
    async fn discover(
        &self,
        compiled: &Compiled,
        rollout: Rollout,
        recorder: Arc<Recorder>,
    ) -> Result<()> {
        let Some(discovery) = &compiled.discovery else {
            warn!("no discovery is configured: the pool stays empty; add a file-discovery plugin");
            return Ok(());
        };
        let path = PathBuf::from(&discovery.path);
        // Watched before it is read, so that no change falls between the two.
        let watched = discovery
            .watch
            .then(|| discovery::watch(&path))
            .transpose()?;
        let specs: Vec<EndpointSpec> = discovery::read(&path).await?;
        info!(endpoints = specs.len(), path = %path.display(), "endpoints read");
        rollout.start(specs.clone());
        if let Some((watcher, changed)) = watched {
            self.background.spawn("discovery", async move {
                discovery::follow(path, changed, specs, rollout, recorder).await;
                drop(watcher);
            });
        }
        Ok(())
    }

    /// Opens all ports and serves them.
    async fn serve(
        &self,
        flags: &Flags,
        admin: Admin,
        compiled: &Compiled,
        eds: Arc<EdsTable>,
    ) -> Result<()> {
        let listen = async |what, port| listen(flags.bind_address, port, what).await;
        let health = || HealthServer::new(HealthService::new(self.readiness.clone()));
        let settings = Settings {
            body_bytes_max: usize::try_from(flags.body_bytes_max).unwrap_or(usize::MAX),
            block_size: compiled.runtime.block_size,
        };
        let held_bytes_max = usize::try_from(flags.held_bytes_max).unwrap_or(usize::MAX);
        let service = Service::new(
            Arc::clone(&self.door),
            settings,
            held_bytes_max,
            self.streams.clone(),
            self.leave.clone(),
        );
        let message_max = usize::try_from(flags.grpc_max_recv_msg_size).unwrap_or(usize::MAX);
        let ext_proc = ExternalProcessorServer::new(service).max_decoding_message_size(message_max);

        let mut server = Server::builder();
        if flags.secure_serving {
            server = server
                .tls_config(tls::config(&flags.cert_path).await?)
                .context("set up TLS")?;
        }
        let server = server
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .add_service(ext_proc)
            .add_service(health());
        let listener = incoming(listen("ext_proc", flags.grpc_port).await?);
        let stop = self.stop_accepting.clone().cancelled_owned();
        self.gateways.spawn("ext_proc", async move {
            ended(
                "ext_proc",
                server.serve_with_incoming_shutdown(listener, stop).await,
            );
        });

        let listener = incoming(listen("health", flags.grpc_health_port).await?);
        let server = Server::builder().add_service(health());
        self.servers.spawn("health", async move {
            ended("health", server.serve_with_incoming(listener).await);
        });

        if let Some(port) = flags.eds_port {
            let listener = incoming(listen("EDS", port).await?);
            let server = Server::builder()
                .add_service(EndpointDiscoveryServiceServer::new(EdsService::new(eds)));
            self.servers.spawn("eds", async move {
                ended("EDS", server.serve_with_incoming(listener).await);
            });
        }

        let listener = listen("admin", flags.metrics_port).await?;
        self.servers.spawn("admin", async move {
            if let Err(error) = axum::serve(listener, admin.router()).await {
                warn!("the admin server ended: {error}");
            }
        });
        Ok(())
    }

    /// Readiness down first, so that gateways look elsewhere; then no new connections; open streams
    /// finish in the drain timeout. What is left then goes on without us where the gateway can, and
    /// who still waits for an endpoint is told no.
    async fn drain(self) {
        self.readiness.set(false);
        let end = tokio::time::Instant::now() + self.drain_timeout;
        tokio::time::sleep(NOTICE.min(self.drain_timeout)).await;
        self.stop_accepting.cancel();
        self.streams.close();
        if tokio::time::timeout_at(end, self.streams.wait())
            .await
            .is_err()
        {
            warn!(
                streams = self.streams.len(),
                "the drain timeout is over: leaving open streams"
            );
        }
        self.leave.cancel();
        self.door.input(Input::ShutDown);
        // Lets the last answers go out.
        let _cut = tokio::time::timeout(NOTICE, self.gateways.finished()).await;
        self.background.stop().await;
        self.gateways.stop().await;
        self.servers.stop().await;
        info!("stopped");
    }
}

async fn listen(ip: IpAddr, port: u16, what: &str) -> Result<TcpListener> {
    let mut bound = TcpListener::bind((ip, port)).await;
    // `::` takes both families, where there are both.
    if bound.is_err() && ip == Ipv6Addr::UNSPECIFIED {
        bound = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
    }
    let listener = bound.with_context(|| {
        format!(
            "listen on {} for {what}: choose another port or --bind-address",
            SocketAddr::new(ip, port)
        )
    })?;
    info!(address = %listener.local_addr()?, "serving {what}");
    Ok(listener)
}

fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}

fn ended(what: &str, result: Result<(), tonic::transport::Error>) {
    if let Err(error) = result {
        warn!("the {what} server ended: {error}");
    }
}

fn scrape_settings(flags: &Flags, compiled: &Compiled) -> ScrapeSettings {
    let interval = compiled
        .metrics
        .interval
        .unwrap_or(flags.refresh_metrics_interval);
    ScrapeSettings {
        interval: interval.max(SCRAPE_INTERVAL_MIN),
        timeout: SCRAPE_TIMEOUT,
        path: compiled.metrics.path.clone(),
        body_bytes_max: SCRAPE_BYTES_MAX,
    }
}

/// The root of all the process's randomness.
fn seed() -> u64 {
    use core::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// A whole prompt of ordinary size fits in flight on one stream, and many on one connection.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// A gateway that vanished without a word must not hold reservations for ever.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// The time that gateways get to notice that we are not ready any more.
const NOTICE: Duration = Duration::from_secs(1);
const SCRAPE_INTERVAL_MIN: Duration = Duration::from_millis(5);
const SCRAPE_TIMEOUT: Duration = Duration::from_secs(1);
/// Pages of real engines are hundreds of kilobytes.
const SCRAPE_BYTES_MAX: usize = 8 << 20;
