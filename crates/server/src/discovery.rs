//! Endpoints from a file, read again whenever it changes. A file that cannot be used leaves the last
//! good set in force.

use core::time::Duration;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use notify::{RecursiveMode, Watcher};
use pointsman_domain::endpoint::EndpointSpec;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::record::Recorder;
use crate::rollout::Rollout;

/// The endpoints file.
#[derive(Clone, Debug)]
pub(crate) struct EndpointsFile {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The port of all metrics, where it is not the one that serves.
    pub(crate) metrics_port: Option<u16>,
}

impl EndpointsFile {
    /// Reads the file once; an error here ends the start.
    pub(crate) async fn read(&self) -> Result<Vec<EndpointSpec>> {
        let mut specs = read(&self.path).await?;
        if let Some(port) = self.metrics_port {
            specs
                .iter_mut()
                .for_each(|spec| spec.metrics_address.set_port(port));
        }
        Ok(specs)
    }

    /// Rolls out every change of the file, for ever.
    pub(crate) async fn follow(
        self,
        changed: Arc<Notify>,
        mut present: Vec<EndpointSpec>,
        rollout: Rollout,
        recorder: Arc<Recorder>,
    ) {
        let mut failure = None;
        loop {
            // Also without a signal: a folder that is replaced as a whole takes its watch along.
            let _timeout = tokio::time::timeout(LOOK_AGAIN, changed.notified()).await;
            let specs = match self.read().await {
                Ok(specs) => specs,
                Err(error) => {
                    let text = format!("{error:#}");
                    // Told once: any file in the folder wakes us, and our own log may be one.
                    if failure.as_ref() != Some(&text) {
                        recorder.metrics.discovery_failed();
                        warn!("{text}; the last good set of endpoints stays in force");
                        failure = Some(text);
                    }
                    continue;
                }
            };
            failure = None;
            if specs != present {
                info!(endpoints = specs.len(), "the endpoints file changed");
                rollout.replace(&present, specs.clone()).await;
                present = specs;
            }
        }
    }
}

async fn read(path: &Path) -> Result<Vec<EndpointSpec>> {
    let context = || format!("read the endpoints file {}", path.display());
    let length = tokio::fs::metadata(path).await.with_context(context)?.len();
    anyhow::ensure!(
        length <= FILE_BYTES_MAX,
        "the endpoints file {} has {length} bytes; the limit is {FILE_BYTES_MAX}",
        path.display()
    );
    let text = tokio::fs::read_to_string(path)
        .await
        .with_context(context)?;
    let parsed = pointsman_policy::endpoints::parse(&text);
    parsed.with_context(|| format!("the endpoints file {} is not usable", path.display()))
}

/// A watcher, and the signal that it gives. The watcher works as long as it lives.
pub(crate) fn watch(path: &Path) -> Result<(impl Watcher + use<>, Arc<Notify>)> {
    let changed = Arc::new(Notify::new());
    let signal = Arc::clone(&changed);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading the file is an event of its own on some systems, and no change.
        if event.map_or(true, |event| !event.kind.is_access()) {
            signal.notify_one();
        }
    })
    .context("watch the endpoints file")?;
    // The folder, not the file: editors and ConfigMap volumes replace the file by renaming.
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    watcher
        .watch(folder, RecursiveMode::NonRecursive)
        .with_context(|| format!("watch the folder {}", folder.display()))?;
    Ok((watcher, changed))
}

/// How long a change may go unnoticed where no signal comes.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// As today's pickers limit it.
const FILE_BYTES_MAX: u64 = 1 << 20;
