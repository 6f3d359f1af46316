//! The thread that writes a recording.

use core::time::Duration;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use pointsman_pipeline::record::{End, EndReason, Entry, Header, Line};
use tracing::{error, info, warn};

use super::{Backlog, size};
use crate::metrics::recording::RecordingGauges;

/// Puts entries into words, and writes them as long as there is room.
pub(super) struct Writer<W: Write> {
    to: BufWriter<W>,
    bytes: u64,
    bytes_max: u64,
    entries: u64,
    /// The line at hand, to be used again.
    line: Vec<u8>,
    flushed: Instant,
    gauges: RecordingGauges,
}

impl<W: Write> Writer<W> {
    /// A writer that has written the header.
    pub(super) fn new(
        to: W,
        header: Header,
        bytes_max: u64,
        gauges: RecordingGauges,
    ) -> io::Result<Self> {
        let mut writer = Self {
            to: BufWriter::new(to),
            bytes: 0,
            bytes_max,
            entries: 0,
            line: Vec::new(),
            flushed: Instant::now(),
            gauges,
        };
        Line::Header(header)
            .write(&mut writer.line)
            .map_err(io::Error::other)?;
        if !writer.has_room() {
            return Err(io::Error::other("--record-bytes-max leaves no room for it"));
        }
        writer.put()?;
        writer.flush()?;
        writer.gauges.begun();
        Ok(writer)
    }

    /// Writes all that comes, and the end.
    pub(super) fn run(mut self, entries: &Receiver<Entry>, backlog: &Backlog) {
        let ended = self.entries(entries, backlog);
        let ended = ended.and_then(|reason| self.end(reason).map(|()| reason));
        self.gauges.ended();
        let (entries, bytes) = (self.entries, self.bytes);
        match ended {
            Ok(EndReason::Complete) => info!(entries, bytes, "the recording is complete"),
            Ok(reason) => warn!(entries, bytes, ?reason, "the recording ended early"),
            Err(error) => error!(entries, bytes, %error, "the recording cannot be written"),
        }
    }

    fn entries(&mut self, entries: &Receiver<Entry>, backlog: &Backlog) -> io::Result<EndReason> {
        loop {
            let wait = FLUSH_INTERVAL.saturating_sub(self.flushed.elapsed());
            match entries.recv_timeout(wait) {
                Ok(entry) => {
                    let bytes = size::of(&entry);
                    if let Some(reason) = self.entry(entry)? {
                        return Ok(reason);
                    }
                    backlog.bytes.fetch_sub(bytes, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) if backlog.was_full.load(Ordering::Acquire) => {
                    return Ok(EndReason::QueueFull);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(EndReason::Complete),
            }
            if self.flushed.elapsed() >= FLUSH_INTERVAL {
                self.flush()?;
            }
        }
    }

    /// Writes an entry, or tells why there can be no more.
    fn entry(&mut self, entry: Entry) -> io::Result<Option<EndReason>> {
        if let Err(error) = Line::Entry(entry).write(&mut self.line) {
            error!(entry = self.entries, %error, "the recording ends here");
            return Ok(Some(EndReason::Unwritable));
        }
        if !self.has_room() {
            self.line.clear();
            return Ok(Some(EndReason::BytesMax));
        }
        self.put()?;
        self.entries += 1;
        Ok(None)
    }

    fn end(&mut self, reason: EndReason) -> io::Result<()> {
        let entries = self.entries;
        Line::End(End { entries, reason })
            .write(&mut self.line)
            .map_err(io::Error::other)?;
        self.put()?;
        self.flush()
    }

    /// Whether the line at hand may be written, and the end after it.
    fn has_room(&self) -> bool {
        let wanted = (self.line.len() as u64).saturating_add(END_BYTES_MAX);
        self.bytes.saturating_add(wanted) <= self.bytes_max
    }

    fn put(&mut self) -> io::Result<()> {
        self.to.write_all(&self.line)?;
        self.bytes = self.bytes.saturating_add(self.line.len() as u64);
        self.line.clear();
        self.gauges.grown(self.bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()?;
        self.flushed = Instant::now();
        Ok(())
    }
}

/// What a killed process loses at most.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// More than the longest last line.
const END_BYTES_MAX: u64 = 128;
