//! Loads: what an engine reports of itself, and what we know that we sent it.

use core::num::NonZeroU32;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::adapter::Adapters;
use crate::time::Timestamp;
use crate::units::{Tokens, Unit};

/// What one scrape of an engine's metrics said. A family that was missing or senseless is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSample {
    /// Requests waiting in the engine's queue.
    pub waiting: Option<u32>,
    /// Requests in the engine's batch.
    pub running: Option<u32>,
    /// Share of KV blocks in use.
    pub kv_usage: Option<Unit>,
    /// Tokens per KV block.
    pub kv_block_tokens: Option<u32>,
    /// KV blocks of the engine.
    pub kv_blocks: Option<u32>,
    /// Start of the engine's process, in seconds since 1970.
    #[serde(with = "crate::float::option")]
    pub process_start_seconds: Option<f64>,
}

/// What one page of an engine's metrics said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSample {
    /// Its load.
    pub load: LoadSample,
    /// Its adapters, where it tells of them.
    pub adapters: Option<Adapters>,
    /// What it counted since its process began.
    pub counters: Counters,
}

impl From<LoadSample> for EngineSample {
    /// A page that tells the load alone.
    fn from(load: LoadSample) -> Self {
        Self {
            load,
            ..Self::default()
        }
    }
}

/// Counters of an engine. One that was missing or senseless is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Tokens of prompts.
    #[serde(with = "crate::float::option")]
    pub prompt_tokens: Option<f64>,
    /// Of these, tokens that came from the cache.
    #[serde(with = "crate::float::option")]
    pub cached_tokens: Option<f64>,
    /// Tokens of answers.
    #[serde(with = "crate::float::option")]
    pub output_tokens: Option<f64>,
    /// Seconds that requests were in prefill.
    #[serde(with = "crate::float::option")]
    pub prefill_seconds: Option<f64>,
    /// Seconds that requests were in decode.
    #[serde(with = "crate::float::option")]
    pub decode_seconds: Option<f64>,
    /// Requests that lost their place in the batch.
    #[serde(with = "crate::float::option")]
    pub preemptions: Option<f64>,
    /// Requests that ended.
    #[serde(with = "crate::float::option")]
    pub finished: Option<f64>,
}

/// Who told a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A page of metrics.
    Scrape,
    /// The engine, beside an answer.
    Answer,
    /// The engine, on a stream of its own.
    Stream,
}

impl Source {
    /// The value of metric labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Scrape => "scrape",
            Self::Answer => "answer",
            Self::Stream => "stream",
        }
    }
}

/// When a value was told, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// A time at which it was true, or before that.
    pub at: Timestamp,
    /// Who told it.
    pub by: Source,
}

/// What is known of each value of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    /// Requests waiting.
    pub waiting: Option<Told>,
    /// Requests running.
    pub running: Option<Told>,
    /// Share of KV blocks in use.
    pub kv_usage: Option<Told>,
}

impl Signals {
    /// Each with the value of metric labels.
    pub fn named(&self) -> [(&'static str, Option<Told>); 3] {
        [
            ("waiting", self.waiting),
            ("running", self.running),
            ("kv_usage", self.kv_usage),
        ]
    }

    /// The oldest of those that were ever told.
    pub fn oldest(&self) -> Option<Timestamp> {
        let told = self.named().into_iter().filter_map(|(_, told)| told);
        told.map(|told| told.at).min()
    }
}

/// An endpoint's load as last reported, with its age.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EndpointLoad {
    /// Requests waiting in the engine's queue.
    pub waiting: u32,
    /// Requests in the engine's batch.
    pub running: u32,
    /// Share of KV blocks in use.
    pub kv_usage: Unit,
    /// KV cache size in tokens, where the engine tells it.
    pub kv_tokens: Option<Tokens>,
    /// When the values were read; `None` before the first scrape.
    pub sampled_at: Option<Timestamp>,
}

impl EndpointLoad {
    /// Whether the report is older than `age_max` at `now`, or there was none.
    pub fn is_stale(&self, now: Timestamp, age_max: Duration) -> bool {
        self.sampled_at
            .is_none_or(|sampled_at| now.since(sampled_at) > age_max)
    }
}

/// Our own requests at one endpoint, exact at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnLoad {
    /// Requests in flight.
    pub requests: u32,
    /// Of these, requests whose first output was not seen yet.
    pub before_first_token: u32,
    /// Prompt tokens not in the endpoint's cache, of requests whose first output was not seen yet.
    pub uncached_tokens: Tokens,
}

/// How fast an endpoint computes, as far as that was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Tokens of one request in a millisecond.
    pub tokens_per_ms: f64,
    /// How far it can be trusted; 1 is wholly.
    pub confidence: Unit,
    /// When it was learned last.
    pub read_at: Timestamp,
}

/// How fast an endpoint computes prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefillRate(NonZeroU32);

impl PrefillRate {
    /// A rate in tokens per second.
    pub const fn new(tokens_per_second: NonZeroU32) -> Self {
        Self(tokens_per_second)
    }

    /// The rate that comes nearest.
    pub const fn of_tokens_per_ms(tokens_per_ms: f64) -> Self {
        // Of what is no number it becomes 1.
        let rounded = (tokens_per_ms * 1000.0).round() as u32;
        Self(match NonZeroU32::new(rounded) {
            Some(rate) => rate,
            None => NonZeroU32::MIN,
        })
    }

    /// Tokens per second.
    pub const fn tokens_per_second(self) -> NonZeroU32 {
        self.0
    }
}

/// What llm-d takes for an endpoint's best (`peakPrefillThroughput`), until a rate is learned.
impl Default for PrefillRate {
    fn default() -> Self {
        Self(NonZeroU32::MIN.saturating_add(15_927))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_stale_when_it_is_older_than_allowed_or_was_never_told() {
        let at = Timestamp::from_millis;
        let load = EndpointLoad {
            sampled_at: Some(at(100)),
            ..EndpointLoad::default()
        };
        let age_max = Duration::from_millis(50);
        assert!(!load.is_stale(at(150), age_max));
        assert!(load.is_stale(at(151), age_max));
        assert!(!load.is_stale(at(0), age_max));
        assert!(EndpointLoad::default().is_stale(at(0), Duration::MAX));
    }
}
