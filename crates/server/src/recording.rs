//! A recording of all that happens to the pool: taken under the pool's lock, so that its order is the
//! true one, and written by a thread of its own, so that a slow disk never slows a request.

mod writer;

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use anyhow::{Context, Result};
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::pool::Output;
use pointsman_pipeline::record::{Entry, Header, Step};
use tokio::sync::oneshot;
use tracing::error;

use crate::metrics::recording::RecordingGauges;
use crate::task;

/// Where the pool's door leaves what happens. It never waits.
#[derive(Debug, Default)]
pub(crate) struct Tape(Option<Open>);

/// A recording that is being written.
#[derive(Debug)]
pub(crate) struct Recording {
    written: oneshot::Receiver<()>,
}

/// How much a recording may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of the recording.
    pub(crate) bytes_max: u64,
    /// Entries that wait to be written.
    pub(crate) entries_waiting_max: usize,
}

#[derive(Debug)]
struct Open {
    entries: SyncSender<Entry>,
    /// The sequence number of the next entry.
    next: u64,
    queue_was_full: Arc<AtomicBool>,
    gauges: RecordingGauges,
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
        match open.entries.try_send(entry) {
            Ok(()) => {}
            Err(TrySendError::Full(entry)) => {
                open.queue_was_full.store(true, Ordering::Release);
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
}

impl Limits {
    /// Limits for a recording of so many bytes.
    pub(crate) const fn of_bytes(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            entries_waiting_max: ENTRIES_WAITING_MAX,
        }
    }
}

/// A new file for a recording, which only its owner may read.
pub(crate) fn create(path: &Path) -> Result<File> {
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

/// Writes the header, and starts to write what the tape takes.
pub(crate) fn start(
    to: impl Write + Send + 'static,
    header: Header,
    limits: Limits,
    gauges: RecordingGauges,
) -> Result<(Tape, Recording)> {
    let (entries, taken) = sync_channel(limits.entries_waiting_max);
    let queue_was_full = Arc::new(AtomicBool::new(false));
    let writer = writer::Writer::new(to, header, limits.bytes_max, gauges.clone())
        .context("write the header of the recording")?;
    let was_full = Arc::clone(&queue_was_full);
    let written = task::thread("recording", move || writer.run(&taken, &was_full))
        .context("start the thread that writes the recording")?;
    let tape = Tape(Some(Open {
        entries,
        next: 0,
        queue_was_full,
        gauges,
    }));
    Ok((tape, Recording { written }))
}

/// About a second of a busy pool. An entry takes 16 KiB at most for its prompt, and what it tells of
/// a pick that is explained.
const ENTRIES_WAITING_MAX: usize = 8192;
/// A disk that has not taken the last entries by then is taken to be broken.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
