//! When requests come that nobody waits for.

use core::num::NonZeroU32;

use pointsman_domain::time::Timestamp;
use rand::Rng;
use serde::Deserialize;

use super::distribution::Shape;
use super::number::{Positive, Unevenness};
use crate::scenario::units::Millis;

/// An endless series of arrivals, which does not depend on how fast anything is served.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Arrivals {
    /// Independent of each other; the first comes one gap after the start.
    Poisson {
        /// Mean time between two.
        mean_gap_ms: Positive,
    },
    /// With gaps of a gamma distribution; the first comes one gap after the start.
    Gamma {
        /// Mean time between two.
        mean_gap_ms: Positive,
        /// The gaps' coefficient of variation: 1 is Poisson, more is burstier. vLLM's burstiness is
        /// 1 divided by the square of this.
        variation: Unevenness,
    },
    /// In equal gaps; the first comes at the start.
    Constant {
        /// Time from one to the next.
        gap_ms: Positive,
        /// How many come at each of these times.
        #[serde(default = "one")]
        at_once: NonZeroU32,
    },
}

/// Whether times are rounded down to whole milliseconds, as they are in the ticks of the founding
/// article. A file has `true` or `false` in its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct WholeMs(bool);

/// Tells one arrival after the other.
#[derive(Debug)]
pub(crate) struct Clock {
    arrivals: Arrivals,
    whole: WholeMs,
    at_ms: f64,
    came_at_once: u32,
}

impl WholeMs {
    pub(crate) fn round(self, ms: f64) -> Millis {
        Millis::new(if self.0 { ms.floor() } else { ms })
    }
}

impl Clock {
    pub(crate) const fn new(arrivals: Arrivals, start: Millis, whole: WholeMs) -> Self {
        Self {
            arrivals,
            whole,
            at_ms: start.value(),
            came_at_once: 0,
        }
    }

    /// The next arrival, which is never before the last one.
    pub(crate) fn next(&mut self, rng: &mut impl Rng) -> Timestamp {
        self.at_ms += match self.arrivals {
            Arrivals::Poisson { mean_gap_ms: mean } => Shape::Exponential { mean }.draw(rng),
            Arrivals::Gamma {
                mean_gap_ms: mean,
                variation,
            } => Shape::Gamma { mean, variation }.draw(rng),
            Arrivals::Constant { gap_ms, at_once } => {
                let is_next = self.came_at_once == at_once.get();
                self.came_at_once = if is_next { 1 } else { self.came_at_once + 1 };
                if is_next { gap_ms.value() } else { 0.0 }
            }
        };
        self.whole.round(self.at_ms).moment()
    }
}

const fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

#[cfg(test)]
mod tests;
