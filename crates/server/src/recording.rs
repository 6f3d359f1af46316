//! A recording of all that happens to the pool: taken under the pool's lock, so that its order is the
//! true one, and written by a thread of its own, so that a slow disk never slows a request.

mod size;
mod writer;

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use anyhow::{Context, Result};
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::pool::Output;
use pointsman_pipeline::record::{Entry, Header, Step};
use tokio::sync::oneshot;
use tracing::{error, info};

use crate::metrics::recording::RecordingGauges;
use crate::task;

/// Where the pool's door leaves what happens. It never waits.
#[derive(Debug, Default)]
pub(crate) struct Tape(Option<Open>);

/// A recording that is being written.
#[derive(Debug)]
pub(crate) struct Recording {
    written: oneshot::Receiver<()>,
    /// Where it is, if it is a file.
    path: Option<PathBuf>,
}

/// How much a recording may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of the recording.
    pub(crate) bytes_max: u64,
    /// Entries that wait to be written.
    pub(crate) entries_waiting_max: usize,
    /// Bytes of those entries, as estimated.
    pub(crate) bytes_waiting_max: usize,
}

#[derive(Debug)]
struct Open {
    entries: SyncSender<Entry>,
    /// The sequence number of the next entry.
    next: u64,
    backlog: Arc<Backlog>,
    bytes_waiting_max: usize,
    gauges: RecordingGauges,
}

/// What waits to be written, as both sides see it.
#[derive(Debug, Default)]
struct Backlog {
    bytes: AtomicUsize,
    was_full: AtomicBool,
}

impl Tape {
    /// A tape that takes nothing.
    pub(crate) const fn off() -> Self {
        Self(None)
    }

    /// Whether entries are taken.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Takes what happened. If there is no room the recording ends here: with a gap in it, it would
    /// prove nothing.
    pub(crate) fn take(&mut self, now: Timestamp, step: Step, outputs: &[Output]) {
        let Some(open) = &mut self.0 else { return };
        let entry = Entry {
            sequence: open.next,
            now,
            step,
            outputs: outputs.to_vec(),
        };
        open.next += 1;
        let bytes = size::of(&entry);
        let waiting = open.backlog.bytes.fetch_add(bytes, Ordering::Relaxed);
        let sent = if waiting.saturating_add(bytes) > open.bytes_waiting_max {
            Err(TrySendError::Full(entry))
        } else {
            open.entries.try_send(entry)
        };
        match sent {
            Ok(()) => {}
            Err(TrySendError::Full(entry)) => {
                open.backlog.was_full.store(true, Ordering::Release);
                open.gauges.ended();
                error!(
                    entries = entry.sequence,
                    "the recording ends here: entries come faster than they can be written"
                );
                self.end();
            }
            // The writer has ended, and has said why.
            Err(TrySendError::Disconnected(_)) => self.end(),
        }
    }

    /// Takes nothing more. The writer ends after what it has.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }
}

impl Recording {
    /// Waits until all that was taken is written, after the tape has ended.
    pub(crate) async fn finished(self) {
        if tokio::time::timeout(WRITE_TIMEOUT, self.written)
            .await
            .is_err()
        {
            error!("the end of the recording could not be written in {WRITE_TIMEOUT:?}");
        }
    }

    /// As [`finished`](Self::finished), and removes the file, which would be in the next start's way.
    pub(crate) async fn discarded(mut self) {
        let path = self.path.take();
        self.finished().await;
        if let Some(path) = path {
            remove(&path);
        }
    }
}

impl Limits {
    /// Limits for a recording of so many bytes.
    pub(crate) const fn of_bytes(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            entries_waiting_max: ENTRIES_WAITING_MAX,
            bytes_waiting_max: BYTES_WAITING_MAX,
        }
    }
}

/// Starts a recording in a new file, which only its owner may read. After an error there is none.
pub(crate) fn start_file(
    path: &Path,
    header: Header,
    limits: Limits,
    gauges: RecordingGauges,
) -> Result<(Tape, Recording)> {
    let file = create(path)?;
    match start(file, header, limits, gauges) {
        Ok((tape, mut recording)) => {
            recording.path = Some(path.to_owned());
            info!(path = %path.display(), "recording all that happens to the pool");
            Ok((tape, recording))
        }
        Err(error) => {
            remove(path);
            Err(error)
        }
    }
}

fn create(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    match file {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            Err(anyhow::Error::new(error).context(format!(
                "--record never overwrites: name another file than {}, or move that one away",
                path.display()
            )))
        }
        file => file.with_context(|| format!("create --record {}", path.display())),
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path) {
        error!(path = %path.display(), %error, "the recording cannot be removed");
    }
}

/// Writes the header, and starts to write what the tape takes.
fn start(
    to: impl Write + Send + 'static,
    header: Header,
    limits: Limits,
    gauges: RecordingGauges,
) -> Result<(Tape, Recording)> {
    let (entries, taken) = sync_channel(limits.entries_waiting_max);
    let backlog = Arc::new(Backlog::default());
    let writer = writer::Writer::new(to, header, limits.bytes_max, gauges.clone())
        .context("write the header of the recording")?;
    let waiting = Arc::clone(&backlog);
    let written = task::thread("recording", move || writer.run(&taken, &waiting))
        .context("start the thread that writes the recording")?;
    let tape = Tape(Some(Open {
        entries,
        next: 0,
        backlog,
        bytes_waiting_max: limits.bytes_waiting_max,
        gauges,
    }));
    let path = None;
    Ok((tape, Recording { written, path }))
}

/// About a second of a busy pool.
const ENTRIES_WAITING_MAX: usize = 8192;
/// An entry takes 16 KiB at most for its prompt, but a set of endpoints or an explained pick of a
/// large pool takes more, so that the number of entries alone would be no bound.
const BYTES_WAITING_MAX: usize = 256 << 20;
/// A disk that has not taken the last entries by then is taken to be broken.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
