//! Passive health of one endpoint: taken out of the picks when it fails, put back when it answers or
//! after a while.

use core::time::Duration;

use pointsman_domain::time::Timestamp;

/// What requests and scrapes told of one endpoint's life.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Health {
    /// Whether its metrics could be read at least once: only then does a refusal mean a failure.
    reached: bool,
    /// Requests that failed in a row.
    failures: u32,
    /// Ejections in a row, for the back-off.
    ejections: u32,
    out: Option<Out>,
}

#[derive(Clone, Copy, Debug)]
enum Out {
    /// Nothing listens there: out until a scrape reaches it again.
    Unreachable,
    /// Requests fail: out until then.
    Until(Timestamp),
}

impl Health {
    /// A scrape was answered.
    pub(crate) fn scraped(&mut self) {
        self.reached = true;
        if matches!(self.out, Some(Out::Unreachable)) {
            self.out = None;
        }
    }

    /// A scrape found nobody listening.
    pub(crate) fn unreachable(&mut self) {
        if self.reached {
            self.out = Some(Out::Unreachable);
        }
    }

    /// A request was answered as it should.
    pub(crate) fn answered(&mut self) {
        *self = Self {
            reached: self.reached,
            ..Self::default()
        };
    }

    /// A request failed there: the gateway went on to another endpoint, or it answered 5xx.
    pub(crate) fn failed(&mut self, now: Timestamp) {
        // Requests that were on their way tell of the incident that took it out, not of another one.
        if self.is_out(now) {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES_TO_EJECT {
            let wait = EJECTION_MIN.saturating_mul(1 << self.ejections.min(5));
            self.ejections = self.ejections.saturating_add(1);
            self.failures = 0;
            self.out = Some(Out::Until(now.plus(wait.min(EJECTION_MAX))));
        }
    }

    /// Whether it is out of the picks at `now`.
    pub(crate) fn is_out(&self, now: Timestamp) -> bool {
        match self.out {
            None => false,
            Some(Out::Unreachable) => true,
            Some(Out::Until(end)) => now < end,
        }
    }

    /// Whether it was taken out and has not answered since.
    pub(crate) const fn is_marked(&self) -> bool {
        self.out.is_some()
    }
}

/// Failures in a row that take an endpoint out.
const FAILURES_TO_EJECT: u32 = 3;
/// The first ejection; each further one in a row doubles it.
const EJECTION_MIN: Duration = Duration::from_secs(1);
/// The longest ejection.
const EJECTION_MAX: Duration = Duration::from_secs(30);
