//! The parts of a running picker, how they start and how they end.

use core::time::Duration;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use pointsman_extproc::stream::{LoadReports, ModelList, Settings};
use pointsman_feeds::page::{PageClient, PageSettings};
use pointsman_pipeline::pool::Input;
use pointsman_pipeline::record::{Configuration, FORMAT, Header};
use pointsman_policy::config::{Compiled, MetricNames};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use crate::admin::Admin;
use crate::connections::Connections;
use crate::discovery::{self, EndpointsFile};
use crate::eds::EdsTable;
use crate::feeding::{self, Feed};
use crate::flags::Flags;
use crate::health::Readiness;
use crate::held::HeldBytes;
use crate::metrics::Metrics;
use crate::models::{Listing, ModelTable};
use crate::pool::{Lives, PoolDoor};
use crate::record::Recorder;
use crate::recording::{self, Limits, Recording, Tape};
use crate::rollout::Rollout;
use crate::run::Configured;
use crate::scraping::Scraping;
use crate::serve;
use crate::session::Service;
use crate::task::Tasks;

/// A running picker.
pub(crate) struct Picker {
    door: Arc<PoolDoor>,
    /// The models of all endpoints, if they are asked for.
    models: Option<Arc<ModelTable>>,
    readiness: Readiness,
    streams: TaskTracker,
    background: Tasks,
    /// The ext_proc server, which ends by itself once it stops accepting and its streams are done.
    gateways: Tasks,
    /// The connections to it.
    connections: Connections,
    servers: Tasks,
    stop_accepting: CancellationToken,
    leave: CancellationToken,
    drain_timeout: Duration,
    recording: Option<Recording>,
}

/// What a picker is opened with.
pub(crate) struct Opening {
    flags: Flags,
    compiled: Compiled,
    recorder: Arc<Recorder>,
    lives: mpsc::UnboundedReceiver<Lives>,
    eds: Arc<EdsTable>,
}

impl Picker {
    /// A picker that does nothing yet but record, and what to [`open`](Self::open) it with.
    pub(crate) fn new(flags: Flags, configured: Configured) -> Result<(Self, Opening)> {
        let Configured { given, compiled } = configured;
        let seed = seed();
        let recorder = Arc::new(Recorder::new(Metrics::new().context("register metrics")?));
        let gauges = recorder.metrics.recording.clone();
        let (tape, recording) = match &flags.record {
            Some(path) => {
                let header = header(seed, given);
                let limits = Limits::of_bytes(flags.record_bytes_max);
                let (tape, recording) = recording::start_file(path, header, limits, gauges)?;
                (tape, Some(recording))
            }
            None => (Tape::off(), None),
        };
        let (door, lives) = PoolDoor::new(
            compiled.runtime.clone(),
            seed,
            flags.explain_every,
            Arc::clone(&recorder),
            tape,
        );
        let picker = Self {
            door,
            models: flags.merge_models.then(Arc::default),
            readiness: Readiness::new(),
            streams: TaskTracker::new(),
            background: Tasks::default(),
            gateways: Tasks::default(),
            connections: Connections::default(),
            servers: Tasks::default(),
            stop_accepting: CancellationToken::new(),
            leave: CancellationToken::new(),
            drain_timeout: flags.drain_timeout,
            recording,
        };
        let opening = Opening {
            eds: Arc::new(EdsTable::new(seed)),
            flags,
            compiled,
            recorder,
            lives,
        };
        Ok((picker, opening))
    }

    /// Opens all ports, reads the endpoints, and is ready.
    pub(crate) async fn open(&self, opening: Opening) -> Result<()> {
        let Opening {
            flags,
            compiled,
            recorder,
            lives,
            eds,
        } = opening;
        let door = || Arc::clone(&self.door);
        self.background.spawn("expire", door().expire_in_time());
        let scrape = scrape_settings(&flags, &compiled);
        let feeds = self.feeds(scrape, &compiled.metric_names);
        let follow = feeding::follow(lives, feeds, self.background.clone());
        self.background.spawn("feeding", follow);

        self.serve(&flags, &compiled, Arc::clone(&eds), Arc::clone(&recorder))
            .await?;
        self.discover(&compiled, Rollout::new(door(), eds), recorder)
            .await?;
        self.readiness.set(true);
        info!("ready");
        Ok(())
    }

    /// Readiness down first, so that gateways look elsewhere; then no new connections; open streams
    /// finish in the drain timeout. What is left then goes on without us where the gateway can, and
    /// who still waits for an endpoint is told no.
    pub(crate) async fn drain(self) {
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
        self.stop().await;
        info!("stopped");
    }

    /// Ends at once, with the end of the recording written.
    pub(crate) async fn stop(self) {
        if let Some(recording) = self.halt().await {
            recording.finished().await;
        }
    }

    /// Ends at once, as if it had never been: the next start finds no recording in its way.
    pub(crate) async fn discard(self) {
        if let Some(recording) = self.halt().await {
            recording.discarded().await;
        }
    }

    async fn halt(self) -> Option<Recording> {
        self.background.stop().await;
        self.gateways.stop().await;
        self.connections.end().await;
        self.servers.stop().await;
        self.door.end_recording();
        self.recording
    }

    fn feeds(&self, scrape: PageSettings, names: &MetricNames) -> Vec<Box<dyn Feed>> {
        let client = PageClient::new(READ_TIMEOUT);
        let scraping = Scraping::new(Arc::clone(&self.door), client.clone(), scrape, names);
        let mut feeds: Vec<Box<dyn Feed>> = vec![Box::new(scraping)];
        if let Some(table) = &self.models {
            let listing = Listing::new(Arc::clone(table), client, READ_TIMEOUT);
            feeds.push(Box::new(listing));
        }
        feeds
    }

    async fn serve(
        &self,
        flags: &Flags,
        compiled: &Compiled,
        eds: Arc<EdsTable>,
        recorder: Arc<Recorder>,
    ) -> Result<()> {
        let settings = Settings {
            body_bytes_max: usize::try_from(flags.body_bytes_max).unwrap_or(usize::MAX),
            block_size: compiled.runtime.block_size,
            load_reports: if flags.remove_load_reports {
                LoadReports::Removed
            } else {
                LoadReports::Kept
            },
            model_list: if self.models.is_some() {
                ModelList::Merged
            } else {
                ModelList::OfEngine
            },
        };
        let held_bytes_max = usize::try_from(flags.held_bytes_max).unwrap_or(usize::MAX);
        let held = Arc::new(HeldBytes::new(held_bytes_max));
        let service = Service {
            door: Arc::clone(&self.door),
            settings,
            message_bytes_max: usize::try_from(flags.grpc_max_recv_msg_size).unwrap_or(usize::MAX),
            held: Arc::clone(&held),
            models: self.models.clone(),
            open: self.streams.clone(),
            leave: self.leave.clone(),
        };
        let admin = Admin {
            pool_name: Arc::from(POOL_NAME),
            door: Arc::clone(&self.door),
            recorder,
            readiness: self.readiness.clone(),
            held,
        };
        let readiness = || self.readiness.clone();
        let stop = self.stop_accepting.clone();
        let connections = &self.connections;
        let ext_proc = serve::ext_proc(flags, service, readiness(), connections, stop).await?;
        self.gateways.spawn("ext_proc", ext_proc);
        self.servers
            .spawn("health", serve::health(flags, readiness()).await?);
        if let Some(port) = flags.eds_port {
            self.servers
                .spawn("eds", serve::eds(flags, port, eds).await?);
        }
        self.servers
            .spawn("admin", serve::admin(flags, admin).await?);
        Ok(())
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
        let file = EndpointsFile {
            path: PathBuf::from(&discovery.path),
            metrics_port: compiled.metrics.port,
        };
        // Watched before it is read, so that no change falls between the two.
        let watched = discovery
            .watch
            .then(|| discovery::watch(&file.path))
            .transpose()?;
        let specs = file.read().await?;
        info!(endpoints = specs.len(), path = %file.path.display(), "endpoints read");
        rollout.start(specs.clone());
        if let Some((watcher, changed)) = watched {
            self.background.spawn("discovery", async move {
                file.follow(changed, specs, rollout, recorder).await;
                drop(watcher);
            });
        }
        Ok(())
    }
}

fn scrape_settings(flags: &Flags, compiled: &Compiled) -> PageSettings {
    let interval = compiled
        .metrics
        .interval
        .unwrap_or(flags.refresh_metrics_interval);
    PageSettings {
        path: compiled.metrics.path.clone(),
        interval: interval.max(SCRAPE_INTERVAL_MIN),
        timeout: READ_TIMEOUT,
        back_off_max: SCRAPE_BACK_OFF_MAX,
        body_bytes_max: SCRAPE_BYTES_MAX,
    }
}

fn header(seed: u64, configuration: Configuration) -> Header {
    Header {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pool: POOL_NAME.to_owned(),
        seed,
        configuration,
    }
}

/// The root of all the process's randomness.
fn seed() -> u64 {
    use core::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

const POOL_NAME: &str = "default";
/// The time that gateways get to notice that we are not ready any more.
const NOTICE: Duration = Duration::from_secs(1);
const SCRAPE_INTERVAL_MIN: Duration = Duration::from_millis(5);
const SCRAPE_BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// How long an endpoint has to answer.
const READ_TIMEOUT: Duration = Duration::from_secs(1);
/// Pages of real engines are hundreds of kilobytes.
const SCRAPE_BYTES_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests;
