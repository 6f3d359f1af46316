//! Numbers of a scenario file that cannot be out of range.

use core::time::Duration;

use pointsman_domain::time::Timestamp;
use serde::Deserialize;

/// A time or duration in milliseconds: finite and not negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Millis(f64);

/// A share in percent, within 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Percent(f64);

impl Millis {
    pub(crate) const fn new(millis: f64) -> Self {
        Self(millis)
    }

    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// As a duration.
    pub fn duration(self) -> Duration {
        Duration::from_nanos((self.0 * 1e6).round() as u64)
    }

    /// As a moment after the begin of the run.
    pub fn moment(self) -> Timestamp {
        Timestamp::ZERO.plus(self.duration())
    }
}

impl Percent {
    /// The share within 0 to 1.
    pub const fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl TryFrom<f64> for Millis {
    type Error = String;

    fn try_from(millis: f64) -> Result<Self, String> {
        if (0.0..=MILLIS_MAX).contains(&millis) {
            Ok(Self(millis))
        } else {
            Err(format!(
                "expected milliseconds from 0 to {MILLIS_MAX}, got {millis}"
            ))
        }
    }
}

impl TryFrom<f64> for Percent {
    type Error = String;

    fn try_from(percent: f64) -> Result<Self, String> {
        if (0.0..=100.0).contains(&percent) {
            Ok(Self(percent))
        } else {
            Err(format!(
                "expected a percentage from 0 to 100, got {percent}"
            ))
        }
    }
}

/// Eleven days: nanoseconds of any sum of a few of these fit 64 bits.
const MILLIS_MAX: f64 = 1e9;
