//! The account of one endpoint: our own load there, and what we know beside its last report.

use pointsman_domain::load::OwnLoad;

use crate::reservations::{Phase, Reservation};

/// What we know beside an endpoint's last report of its requests: what of it was ours, and what we
/// did since. Without a report nothing was there, and all that we have there came since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportContext {
    /// Requests in the report that were not ours.
    pub foreign: u32,
    /// Our own requests there when the report's scrape began.
    pub own_at_report: u32,
    /// Requests that we sent there since the report's scrape began, ended ones included.
    pub dispatched_since_report: u32,
}

/// The sums of one slot, for the life that `generation` names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Account {
    pub(crate) generation: u32,
    pub(crate) own: OwnLoad,
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
}

impl Account {
    pub(crate) fn of_life(generation: u32) -> Self {
        Self {
            generation,
            ..Self::default()
        }
    }

    pub(crate) fn report_context(&self) -> ReportContext {
        self.report.unwrap_or_else(|| ReportContext {
            dispatched_since_report: self.own.requests,
            ..ReportContext::default()
        })
    }

    pub(crate) fn add(&mut self, reservation: Reservation) {
        let own = &mut self.own;
        own.requests += 1;
        if reservation.phase == Phase::Prefill {
            own.before_first_token += 1;
            own.uncached_tokens += reservation.uncached_tokens;
        }
        if let Some(scrape) = &mut self.scrape {
            scrape.own_most = scrape.own_most.max(own.requests);
        }
    }

    pub(crate) fn subtract(&mut self, reservation: Reservation) {
        let own = &mut self.own;
        debug_assert!(own.requests > 0, "a reservation is released once");
        own.requests = own.requests.saturating_sub(1);
        if reservation.phase == Phase::Prefill {
            own.before_first_token = own.before_first_token.saturating_sub(1);
            own.uncached_tokens = own.uncached_tokens.minus(reservation.uncached_tokens);
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
            own_begun: self.own.requests,
            own_most: self.own.requests,
            dispatched: 0,
        });
    }

    pub(crate) fn scrape_done(&mut self, requests: u32) {
        if let Some(scrape) = self.scrape.take() {
            self.report = Some(ReportContext {
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
