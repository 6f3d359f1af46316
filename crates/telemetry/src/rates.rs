//! How fast an engine computes, learned from what it counts.
//!
//! Between two scrapes its counters grow by tokens and by the seconds that requests spent on them.
//! Their quotient is the rate at which one request is served there, with all that runs beside it, and
//! needs no look at any response.

use core::time::Duration;

use pointsman_domain::load::{Counters, Rate};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Tokens, Unit};

/// Learns the rates of one life of an endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateLearner {
    prefill: Learned,
    decode: Learned,
    last: Counters,
}

impl RateLearner {
    /// Takes the counters of a page that was read at `now`.
    pub fn counted(&mut self, now: Timestamp, counters: &Counters) {
        let grown = |counter: fn(&Counters) -> Option<f64>| {
            let (before, after) = (counter(&self.last)?, counter(counters)?);
            // A counter that falls belongs to another process.
            (after >= before).then_some(after - before)
        };
        let cached = grown(|it| it.cached_tokens).unwrap_or(0.0);
        let computed = grown(|it| it.prompt_tokens).map(|tokens| (tokens - cached).max(0.0));
        let prefill = computed.zip(grown(|it| it.prefill_seconds));
        let decode = grown(|it| it.output_tokens).zip(grown(|it| it.decode_seconds));
        for (learned, work) in [(&mut self.prefill, prefill), (&mut self.decode, decode)] {
            if let Some((tokens, seconds)) = work {
                learned.add(now, tokens, seconds);
            }
        }
        self.last = *counters;
    }

    /// Takes the time from the sending of a request to its first output. It tells of the engine's
    /// speed only where nothing ran before it, which the caller knows.
    pub fn first_output(&mut self, now: Timestamp, uncached: Tokens, after: Duration) {
        if uncached >= PROMPT_TOKENS_MIN {
            self.prefill
                .add(now, uncached.0 as f64, after.as_secs_f64());
        }
    }

    /// The rate of prefill, if anything is known of it.
    pub fn prefill(&self) -> Option<Rate> {
        self.prefill.rate()
    }

    /// The rate of decode of one request, if anything is known of it.
    pub fn decode(&self) -> Option<Rate> {
        self.decode.rate()
    }
}

/// The typical rate of a pool: the middle one of those that are known.
pub fn typical(rates: impl IntoIterator<Item = Rate>) -> Option<Rate> {
    let mut rates: Vec<Rate> = rates.into_iter().collect();
    if rates.is_empty() {
        return None;
    }
    let middle = rates.len() / 2;
    let by_value = |a: &Rate, b: &Rate| a.tokens_per_ms.total_cmp(&b.tokens_per_ms);
    Some(*rates.select_nth_unstable_by(middle, by_value).1)
}

/// What to take for an endpoint's rate: its own as far as it can be trusted, the pool's typical one for
/// the rest. However sure it is, none is taken to be more than eight times faster or slower than the
/// pool, as no hardware differs by more and a mistake would draw all traffic.
pub fn shrunk(own: Option<Rate>, typical: Rate) -> f64 {
    let common = typical.tokens_per_ms;
    let Some(own) = own else {
        return common;
    };
    let trust = own.confidence.value();
    let mixed = own.tokens_per_ms.mul_add(trust, common * (1.0 - trust));
    mixed.clamp(common / SPREAD_MAX, common * SPREAD_MAX)
}

/// Tokens and the seconds that they took, of which older ones count less and less.
#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    tokens: f64,
    seconds: f64,
    read_at: Timestamp,
}

impl Learned {
    fn add(&mut self, now: Timestamp, tokens: f64, seconds: f64) {
        // Where one of the two is 0 the other will follow: engines count them at different moments.
        if !(tokens >= 0.0 && seconds >= 0.0) || tokens + seconds == 0.0 {
            return;
        }
        let age = now.since(self.read_at).as_secs_f64();
        let kept = (-age / HALF_LIFE.as_secs_f64()).exp2();
        self.tokens = self.tokens.mul_add(kept, tokens);
        self.seconds = self.seconds.mul_add(kept, seconds);
        self.read_at = now;
    }

    fn rate(&self) -> Option<Rate> {
        let tokens_per_ms = self.tokens / self.seconds / 1000.0;
        (tokens_per_ms > 0.0 && tokens_per_ms.is_finite()).then(|| Rate {
            tokens_per_ms,
            confidence: Unit::clamped(self.seconds / (self.seconds + DOUBT_SECONDS)),
            read_at: self.read_at,
        })
    }
}

/// What was learned counts half after this time, as the mix of requests changes.
const HALF_LIFE: Duration = Duration::from_secs(60);

/// Seconds of work after which a rate is trusted by half.
const DOUBT_SECONDS: f64 = 2.0;

/// A shorter prompt tells of the time to begin, and not of the speed.
const PROMPT_TOKENS_MIN: Tokens = Tokens(256);

/// How many times faster or slower than the pool an endpoint is taken to be at most.
const SPREAD_MAX: f64 = 8.0;

#[cfg(test)]
mod tests;
