//! From samples to an endpoint's load.

use core::time::Duration;

use pointsman_domain::adapter::Adapters;
use pointsman_domain::load::{EndpointLoad, EngineSample, LoadSample, Signals, Source, Told};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Tokens, Unit};

use crate::rates::RateLearner;

/// Keeps what one life of an endpoint told last.
#[derive(Clone, Debug, Default)]
pub struct LoadTracker {
    waiting: Known<u32>,
    running: Known<u32>,
    kv_usage: Known<Unit>,
    kv_block_tokens: Option<u32>,
    kv_blocks: Option<u32>,
    process_start_seconds: Option<f64>,
    adapters: Option<Adapters>,
    /// When the scrape began that is on its way.
    begun_at: Option<Timestamp>,
    rates: RateLearner,
    preemptions: Preemptions,
    running_most: u32,
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
    /// A scrape begins at `now`: what it will tell is true of no earlier time.
    pub const fn scrape_begun(&mut self, now: Timestamp) {
        self.begun_at = Some(now);
    }

    /// Takes over a page that came at `now`. What it lacks keeps its last value, and so does what was
    /// told after the scrape began.
    pub fn apply(&mut self, now: Timestamp, sample: &EngineSample) -> Applied {
        let at = self.begun_at.take().unwrap_or(now);
        let applied = self.applied(&sample.load);
        if applied == Applied::Restarted {
            *self = Self::default();
        }
        let told = Told {
            at,
            by: Source::Scrape,
        };
        self.update(told, &sample.load);
        let start = sample.load.process_start_seconds;
        self.process_start_seconds = start.or(self.process_start_seconds);
        if sample.adapters.is_some() {
            self.adapters.clone_from(&sample.adapters);
        }
        self.rates.counted(now, &sample.counters);
        self.preemptions.counted(now, sample.counters.preemptions);
        applied
    }

    /// Takes over what the engine told of its load by itself at `now`, without a look at which process
    /// it is. What it did not tell keeps its last value.
    pub fn told(&mut self, now: Timestamp, by: Source, sample: &LoadSample) {
        self.update(Told { at: now, by }, sample);
    }

    /// The load as last known. Its age is that of its oldest value among those that the engine has
    /// ever told, so that a family which stays away does not look fresh for ever.
    pub fn load(&self) -> EndpointLoad {
        EndpointLoad {
            waiting: self.waiting.value,
            running: self.running.value,
            kv_usage: self.kv_usage.value,
            kv_tokens: self.kv_block_tokens.zip(self.kv_blocks).map(
                // Two u32 cannot overflow a u64.
                |(tokens, blocks)| Tokens(u64::from(tokens) * u64::from(blocks)),
            ),
            sampled_at: self.signals().oldest(),
        }
    }

    /// Who told each value of the load, and when.
    pub const fn signals(&self) -> Signals {
        Signals {
            waiting: self.waiting.told,
            running: self.running.told,
            kv_usage: self.kv_usage.told,
        }
    }

    /// The engine's adapters, where it tells of them.
    pub const fn adapters(&self) -> Option<&Adapters> {
        self.adapters.as_ref()
    }

    /// How fast the engine is.
    pub const fn rates(&self) -> &RateLearner {
        &self.rates
    }

    /// Like [`rates`](Self::rates), to learn from what is seen elsewhere.
    pub const fn rates_mut(&mut self) -> &mut RateLearner {
        &mut self.rates
    }

    /// Whether the engine takes requests out of its batch again and again, as its cache is too small
    /// for what it was sent.
    pub fn is_preempting(&self, now: Timestamp) -> bool {
        self.preemptions.is_sustained(now)
    }

    /// The most requests that were ever seen in the batch at once: so many slots it has at least.
    pub const fn running_most(&self) -> u32 {
        self.running_most
    }

    fn update(&mut self, told: Told, sample: &LoadSample) {
        self.waiting.update(told, sample.waiting);
        self.running.update(told, sample.running);
        self.kv_usage.update(told, sample.kv_usage);
        self.kv_block_tokens = sample.kv_block_tokens.or(self.kv_block_tokens);
        self.kv_blocks = sample.kv_blocks.or(self.kv_blocks);
        self.running_most = self.running_most.max(sample.running.unwrap_or(0));
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

/// A value, with who told it last.
#[derive(Clone, Copy, Debug, Default)]
struct Known<T> {
    value: T,
    told: Option<Told>,
}

impl<T> Known<T> {
    fn update(&mut self, told: Told, value: Option<T>) {
        let is_newer = self.told.is_none_or(|before| before.at <= told.at);
        if let Some(value) = value.filter(|_| is_newer) {
            self.value = value;
            self.told = Some(told);
        }
    }
}

/// Preemptions that follow each other closely.
#[derive(Clone, Copy, Debug, Default)]
struct Preemptions {
    counted: Option<f64>,
    /// The first and the last page of a row of them that told of new ones.
    row: Option<(Timestamp, Timestamp)>,
}

impl Preemptions {
    fn counted(&mut self, now: Timestamp, count: Option<f64>) {
        let Some(count) = count else {
            return;
        };
        let before = self.counted.replace(count);
        if before.is_some_and(|before| count > before) {
            let row = self
                .row
                .filter(|(_, last)| now.since(*last) < PREEMPTION_GAP);
            self.row = Some((row.map_or(now, |(first, _)| first), now));
        }
    }

    fn is_sustained(&self, now: Timestamp) -> bool {
        self.row.is_some_and(|(first, last)| {
            last.since(first) >= PREEMPTION_ROW_MIN && now.since(last) < PREEMPTION_GAP
        })
    }
}

/// Client libraries compute a process's start from the boot time, which moves with corrections of
/// the host's clock. No engine restarts within this time.
const START_JITTER_SECONDS_MAX: f64 = 2.0;

/// Preemptions over less time than this are a peak that passes by itself.
const PREEMPTION_ROW_MIN: Duration = Duration::from_secs(1);

/// A row of preemptions ends when none came for so long.
const PREEMPTION_GAP: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests;
