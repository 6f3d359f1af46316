//! Gauges of the recording, set by those who make it.

use prometheus::{Error, IntGauge};

use super::family::Families;

/// The state of the recording. Copies are of the same gauges.
#[derive(Clone, Debug)]
pub(crate) struct RecordingGauges {
    active: IntGauge,
    bytes: IntGauge,
}

impl RecordingGauges {
    pub(super) fn new(families: &Families<'_>) -> Result<Self, Error> {
        Ok(Self {
            active: families.gauge(
                "pointsman_recording_active",
                "1 while all that happens to the pool is recorded.",
            )?,
            bytes: families.gauge("pointsman_recording_bytes", "Bytes of the recording.")?,
        })
    }

    /// Everything is recorded from now on.
    pub(crate) fn begun(&self) {
        self.active.set(1);
    }

    /// Nothing is recorded any more.
    pub(crate) fn ended(&self) {
        self.active.set(0);
    }

    /// The recording has so many bytes now.
    pub(crate) fn grown(&self, bytes: u64) {
        self.bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}
