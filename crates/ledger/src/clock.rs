//! A virtual clock: how far an endpoint has come with prompts whose first output nobody sees.
//!
//! The endpoint is taken to compute one prompt after the other, in the order in which they were sent,
//! at a steady rate. So a request is out of prefill when all that was sent before it and its own
//! prompt are computed. Nothing waits for that moment: the line is read at whatever time it is asked.

use std::collections::BTreeMap;

use pointsman_domain::load::PrefillRate;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;

/// The prompts that one endpoint still has to compute.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    rate: PrefillRate,
    /// What is left of each prompt at `read_at`, by its place.
    line: BTreeMap<Place, Work>,
    /// The sum over the line.
    left: Work,
    read_at: Timestamp,
    next: Place,
}

/// A request's place in the line. Later ones are greater, and none is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place(u64);

/// What is in the line at some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Backlog {
    pub(crate) requests: u32,
    pub(crate) tokens: Tokens,
}

/// Tokens, in parts so small that any nanosecond at any rate computes a whole number of them. So it
/// makes no difference how often the clock is read. No sum of prompts comes near the largest value.
type Work = u128;

impl Clock {
    pub(crate) fn new(rate: PrefillRate) -> Self {
        Self {
            rate,
            ..Self::default()
        }
    }

    /// From now on the endpoint is taken to be that fast.
    pub(crate) fn set_rate(&mut self, now: Timestamp, rate: PrefillRate) {
        self.settle(now);
        self.rate = rate;
    }

    /// A prompt joins the end of the line.
    pub(crate) fn join(&mut self, now: Timestamp, tokens: Tokens) -> Place {
        self.settle(now);
        let work = Work::from(tokens.0) * WORK_PER_TOKEN;
        let place = self.next;
        self.next = Place(place.0.wrapping_add(1));
        self.line.insert(place, work);
        self.left += work;
        place
    }

    /// What is left of a prompt leaves the line, and those behind it move up.
    pub(crate) fn leave(&mut self, now: Timestamp, place: Place) {
        self.settle(now);
        if let Some(work) = self.line.remove(&place) {
            self.left -= work;
        }
    }

    /// The place of the prompt that joins next.
    pub(crate) const fn next_place(&self) -> Place {
        self.next
    }

    /// All prompts before this place are computed, as others have seen.
    pub(crate) fn retire_before(&mut self, now: Timestamp, place: Place) {
        self.settle(now);
        while let Some(first) = self.line.first_entry().filter(|first| *first.key() < place) {
            self.left -= first.remove();
        }
    }

    /// Takes out what has been computed by now. What happens next then costs no more than itself.
    pub(crate) fn settle(&mut self, now: Timestamp) {
        if self.line.is_empty() {
            // Where all responses are seen there is never a line.
            self.read_at = self.read_at.max(now);
            return;
        }
        let mut done = self.done(now);
        self.read_at = self.read_at.max(now);
        while let Some(mut first) = self.line.first_entry() {
            if *first.get() > done {
                *first.get_mut() -= done;
                self.left -= done;
                return;
            }
            let work = first.remove();
            done -= work;
            self.left -= work;
        }
    }

    /// What is in the line now. It costs one step for each prompt that was computed since the last
    /// change.
    pub(crate) fn backlog(&self, now: Timestamp) -> Backlog {
        if self.line.is_empty() {
            return Backlog::default();
        }
        let done = self.done(now);
        if done >= self.left {
            return Backlog::default();
        }
        let mut end = 0;
        let computed = self.line.values().take_while(|&&work| {
            end += work;
            end <= done
        });
        let requests = self.line.len().saturating_sub(computed.count());
        let tokens = (self.left - done).div_ceil(WORK_PER_TOKEN);
        Backlog {
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
            tokens: Tokens(u64::try_from(tokens).unwrap_or(u64::MAX)),
        }
    }

    /// What the endpoint can have computed since the line was read last.
    fn done(&self, now: Timestamp) -> Work {
        // A token per second is a part per nanosecond.
        now.since(self.read_at).as_nanos() * Work::from(self.rate.tokens_per_second().get())
    }
}

/// Parts of a token.
const WORK_PER_TOKEN: Work = 1_000_000_000;

#[cfg(test)]
mod tests;
