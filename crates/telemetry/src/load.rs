//! From samples to an endpoint's load.

use pointsman_domain::load::{EndpointLoad, LoadSample};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Tokens, Unit};

/// Keeps the last known load of one life of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadTracker {
    waiting: Known<u32>,
    running: Known<u32>,
    kv_usage: Known<Unit>,
    kv_block_tokens: Option<u32>,
    kv_blocks: Option<u32>,
    process_start_seconds: Option<f64>,
}

/// Whether a sample is of the process that was sampled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// Nothing says that it is another one.
    Same,
    /// The engine has restarted: all that was known of it is forgotten.
    Restarted,
}

impl LoadTracker {
    /// Takes over a sample that was read at `now`. What it lacks keeps its last value.
    pub fn apply(&mut self, now: Timestamp, sample: &LoadSample) -> Applied {
        let applied = self.applied(sample);
        if applied == Applied::Restarted {
            *self = Self::default();
        }
        self.told(now, sample);
        self.process_start_seconds = sample.process_start_seconds.or(self.process_start_seconds);
        applied
    }

    /// Takes over what the engine told of its load beside an answer at `now`, without a look at which
    /// process it is. What it did not tell keeps its last value.
    pub fn told(&mut self, now: Timestamp, sample: &LoadSample) {
        self.waiting.update(now, sample.waiting);
        self.running.update(now, sample.running);
        self.kv_usage.update(now, sample.kv_usage);
        self.kv_block_tokens = sample.kv_block_tokens.or(self.kv_block_tokens);
        self.kv_blocks = sample.kv_blocks.or(self.kv_blocks);
    }

    /// The load as last known. Its age is that of its oldest value among those that the engine has
    /// ever told, so that a family which stays away does not look fresh for ever.
    pub fn load(&self) -> EndpointLoad {
        let times = [
            self.waiting.read_at,
            self.running.read_at,
            self.kv_usage.read_at,
        ];
        EndpointLoad {
            waiting: self.waiting.value,
            running: self.running.value,
            kv_usage: self.kv_usage.value,
            kv_tokens: self.kv_block_tokens.zip(self.kv_blocks).map(
                // Two u32 cannot overflow a u64.
                |(tokens, blocks)| Tokens(u64::from(tokens) * u64::from(blocks)),
            ),
            sampled_at: times.into_iter().flatten().min(),
        }
    }

    fn applied(&self, sample: &LoadSample) -> Applied {
        let starts = self.process_start_seconds.zip(sample.process_start_seconds);
        match starts {
            Some((before, after)) if (after - before).abs() > START_JITTER_SECONDS_MAX => {
                Applied::Restarted
            }
            _ => Applied::Same,
        }
    }
}

/// A value with the time of its last reading.
#[derive(Clone, Copy, Debug, Default)]
struct Known<T> {
    value: T,
    read_at: Option<Timestamp>,
}

impl<T> Known<T> {
    fn update(&mut self, now: Timestamp, value: Option<T>) {
        if let Some(value) = value {
            self.value = value;
            self.read_at = Some(now);
        }
    }
}

/// Client libraries compute a process's start from the boot time, which moves with corrections of
/// the host's clock. No engine restarts within this time.
const START_JITTER_SECONDS_MAX: f64 = 2.0;

#[cfg(test)]
mod tests;
