//! The account of one endpoint: our own load there, and what we know beside its last report.

use pointsman_domain::load::{OwnLoad, PrefillRate};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;

use crate::clock::{Clock, Place};
use crate::reservations::{Phase, Reservation};

/// What we know beside an endpoint's last report of its requests: what of it was ours, and what we
/// did since. Without a report nothing was there, and all that we have there came since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportContext {
    /// Requests in the report, waiting or running.
    pub requests: u32,
    /// Of these, requests that were not ours.
    pub foreign: u32,
    /// Our own requests there when the report's scrape began.
    pub own_at_report: u32,
    /// Requests that we sent there since the report's scrape began, ended ones included.
    pub dispatched_since_report: u32,
}

/// The sums of one slot, for the life that `generation` names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Account {
    pub(crate) generation: u32,
    /// Requests that take a place in the engine's batch or queue.
    requests: u32,
    /// Of these, those whose first output will be seen and was not.
    before_first_token: u32,
    /// Their prompts. A sum that cannot overflow, so that it always comes back to zero.
    uncached_tokens: u128,
    /// The prompts of those whose first output will not be seen.
    clock: Clock,
    scrape: Option<Scrape>,
    report: Option<ReportContext>,
}

/// A scrape that is on its way.
#[derive(Clone, Copy, Debug)]
struct Scrape {
    /// Own requests when it began.
    own_begun: u32,
    /// The most own requests there were since.
    own_most: u32,
    /// Requests sent since.
    dispatched: u32,
    /// What is sent since then has this place in the clock's line, or a later one.
    line_begun: Place,
}

impl Account {
    pub(crate) fn of_life(generation: u32, rate: PrefillRate) -> Self {
        Self {
            generation,
            clock: Clock::new(rate),
            ..Self::default()
        }
    }

    pub(crate) fn own(&self, now: Timestamp) -> OwnLoad {
        let clocked = self.clock.backlog(now);
        let seen = Tokens(u64::try_from(self.uncached_tokens).unwrap_or(u64::MAX));
        OwnLoad {
            requests: self.requests,
            before_first_token: self.before_first_token.saturating_add(clocked.requests),
            uncached_tokens: seen + clocked.tokens,
        }
    }

    pub(crate) fn settle(&mut self, now: Timestamp) {
        self.clock.settle(now);
    }

    pub(crate) fn set_prefill_rate(&mut self, now: Timestamp, rate: PrefillRate) {
        self.clock.set_rate(now, rate);
    }

    pub(crate) fn report_context(&self) -> ReportContext {
        self.report.unwrap_or_else(|| ReportContext {
            dispatched_since_report: self.requests,
            ..ReportContext::default()
        })
    }

    /// Adds what the reservation takes in its phase. Returns its place in the clock's line, if it has
    /// one there.
    pub(crate) fn add(&mut self, now: Timestamp, reservation: &Reservation) -> Option<Place> {
        if reservation.phase == Phase::Finished {
            return None;
        }
        self.requests = self.requests.saturating_add(1);
        if let Some(scrape) = &mut self.scrape {
            scrape.own_most = scrape.own_most.max(self.requests);
        }
        if reservation.phase != Phase::Prefill {
            return None;
        }
        if reservation.is_clocked() {
            return Some(self.clock.join(now, reservation.uncached_tokens));
        }
        self.before_first_token = self.before_first_token.saturating_add(1);
        self.uncached_tokens += u128::from(reservation.uncached_tokens.0);
        None
    }

    /// Takes away what was added for the reservation, which got `place` then.
    pub(crate) fn subtract(
        &mut self,
        now: Timestamp,
        reservation: &Reservation,
        place: Option<Place>,
    ) {
        if reservation.phase == Phase::Finished {
            return;
        }
        debug_assert!(self.requests > 0, "a reservation is released once");
        self.requests = self.requests.saturating_sub(1);
        if let Some(place) = place {
            self.clock.leave(now, place);
        } else if reservation.phase == Phase::Prefill {
            self.before_first_token = self.before_first_token.saturating_sub(1);
            let tokens = u128::from(reservation.uncached_tokens.0);
            self.uncached_tokens = self.uncached_tokens.saturating_sub(tokens);
        }
    }

    /// A request was sent there. Changes of a request that is there already are not counted.
    pub(crate) fn count_dispatch(&mut self) {
        if let Some(scrape) = &mut self.scrape {
            scrape.dispatched = scrape.dispatched.saturating_add(1);
        }
        if let Some(report) = &mut self.report {
            report.dispatched_since_report = report.dispatched_since_report.saturating_add(1);
        }
    }

    pub(crate) fn scrape_begun(&mut self) {
        self.scrape = Some(Scrape {
            own_begun: self.requests,
            own_most: self.requests,
            dispatched: 0,
            line_begun: self.clock.next_place(),
        });
    }

    /// The scrape on its way shows an idle engine, so what was sent before it is not in prefill.
    pub(crate) fn scrape_shows_idle(&mut self, now: Timestamp) {
        if let Some(scrape) = &self.scrape {
            self.clock.retire_before(now, scrape.line_begun);
        }
    }

    pub(crate) fn scrape_done(&mut self, requests: u32) {
        if let Some(scrape) = self.scrape.take() {
            self.report = Some(ReportContext {
                requests,
                // Our own part of the report is somewhere between the fewest and the most that we
                // had meanwhile. The most is taken away, so that our own dispatches are never
                // counted twice.
                foreign: requests.saturating_sub(scrape.own_most),
                own_at_report: scrape.own_begun,
                dispatched_since_report: scrape.dispatched,
            });
        }
    }

    pub(crate) fn scrape_failed(&mut self) {
        self.scrape = None;
    }
}
