//! Reservations and the sums over them.

use std::collections::BTreeMap;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestId;
use pointsman_domain::load::{OwnLoad, PrefillRate};
use pointsman_domain::observation::ObservationMode;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;

use crate::account::{Account, ReportContext};
use crate::clock::Place;

/// What one request in flight takes of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Where it runs.
    pub endpoint: EndpointId,
    /// Prompt tokens that the endpoint has to compute.
    pub uncached_tokens: Tokens,
    /// How far it has come, as far as it was seen.
    pub phase: Phase,
    /// How much of the response will be seen. Where that is its headers only, the clock tells when
    /// the prompt is computed.
    pub observation: ObservationMode,
}

/// How far a request has come, as far as we can see. It never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Sent; no output seen.
    Prefill,
    /// Output was seen.
    Decode,
    /// All output was seen: it takes nothing of the engine any more, but its stream is still open.
    Finished,
}

impl Reservation {
    /// Whether the clock tells when its prompt is computed.
    pub(crate) const fn is_clocked(&self) -> bool {
        matches!(self.observation, ObservationMode::HeadersOnly)
    }
}

/// All reservations of one pool.
#[derive(Debug, Default)]
pub struct Ledger {
    entries: BTreeMap<RequestId, Entry>,
    accounts: Accounts,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    reservation: Reservation,
    /// Its place in the clock's line, from which it may have gone meanwhile.
    place: Option<Place>,
}

/// By slot.
#[derive(Debug, Default)]
struct Accounts {
    accounts: Vec<Account>,
    rate: PrefillRate,
}

impl Ledger {
    /// A ledger that takes endpoints for that fast.
    pub fn new(rate: PrefillRate) -> Self {
        Self {
            entries: BTreeMap::new(),
            accounts: Accounts {
                accounts: Vec::new(),
                rate,
            },
        }
    }

    /// From now on endpoints are taken to be that fast.
    pub fn set_prefill_rate(&mut self, now: Timestamp, rate: PrefillRate) {
        self.accounts.rate = rate;
        for account in &mut self.accounts.accounts {
            account.set_prefill_rate(now, rate);
        }
    }

    /// From now on this endpoint is taken to be that fast.
    pub fn set_endpoint_rate(&mut self, now: Timestamp, endpoint: EndpointId, rate: PrefillRate) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.set_prefill_rate(now, rate);
        }
    }

    /// Reserves load for `id`. A request that has a reservation moves to the new one, and was sent
    /// there only if that is at another endpoint.
    pub fn reserve(&mut self, now: Timestamp, id: RequestId, reservation: Reservation) {
        let before = self.release(now, id);
        let phase = before.map_or(reservation.phase, |before| {
            before.phase.max(reservation.phase)
        });
        let reservation = Reservation {
            phase,
            ..reservation
        };
        let mut place = None;
        if let Some(account) = self.accounts.get_mut(reservation.endpoint) {
            place = account.add(now, &reservation);
            if before.is_none_or(|before| before.endpoint != reservation.endpoint) {
                account.count_dispatch();
            }
        }
        self.entries.insert(id, Entry { reservation, place });
    }

    /// The request has come to `phase`; returns whether that is news. It keeps its entry in any
    /// phase.
    pub fn advance(&mut self, now: Timestamp, id: RequestId, phase: Phase) -> bool {
        let Some(entry) = self.entries.get_mut(&id) else {
            return false;
        };
        if entry.reservation.phase >= phase {
            return false;
        }
        let before = *entry;
        entry.reservation.phase = phase;
        entry.place = None;
        if let Some(account) = self.accounts.get_mut(before.reservation.endpoint) {
            account.subtract(now, &before.reservation, before.place);
            account.add(now, &entry.reservation);
        }
        true
    }

    /// The request runs at another endpoint than it was sent to. Unless output was seen, that one has
    /// its whole prompt to compute, after all that was sent there before.
    pub fn relocate(&mut self, now: Timestamp, id: RequestId, endpoint: EndpointId) {
        if let Some(&Entry { reservation, .. }) = self.entries.get(&id)
            && reservation.endpoint != endpoint
        {
            self.reserve(
                now,
                id,
                Reservation {
                    endpoint,
                    ..reservation
                },
            );
        }
    }

    /// Gives back what is left of what `id` reserved; `None` if it has nothing reserved (any more).
    pub fn release(&mut self, now: Timestamp, id: RequestId) -> Option<Reservation> {
        let Entry { reservation, place } = self.entries.remove(&id)?;
        if let Some(account) = self.accounts.get_mut(reservation.endpoint) {
            account.subtract(now, &reservation, place);
        }
        Some(reservation)
    }

    /// The reservation of `id`.
    pub fn reservation(&self, id: RequestId) -> Option<&Reservation> {
        self.entries.get(&id).map(|entry| &entry.reservation)
    }

    /// Our own requests at the endpoint that have not finished, and what is left of their prompts.
    pub fn own(&self, endpoint: EndpointId, now: Timestamp) -> OwnLoad {
        self.accounts
            .get(endpoint)
            .map_or_else(OwnLoad::default, |account| account.own(now))
    }

    /// Lets the endpoint's clock come up to now, so that reading it again costs nothing for what it
    /// has computed until then. No number changes by it.
    pub fn settle(&mut self, endpoint: EndpointId, now: Timestamp) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.settle(now);
        }
    }

    /// Requests at the endpoint that are not ours, by the last report.
    pub fn foreign(&self, endpoint: EndpointId) -> u32 {
        self.report_context(endpoint).foreign
    }

    /// What we know beside the endpoint's last report.
    pub fn report_context(&self, endpoint: EndpointId) -> ReportContext {
        self.accounts
            .get(endpoint)
            .map_or_else(ReportContext::default, Account::report_context)
    }

    /// A scrape of the endpoint is on its way: what it will show was true between now and its end.
    pub fn scrape_begun(&mut self, endpoint: EndpointId) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.scrape_begun();
        }
    }

    /// The scrape that began last shows that nothing waits and nothing runs there: whatever the clock
    /// says, no prompt that was sent before it began is still to be computed.
    pub fn scrape_shows_idle(&mut self, now: Timestamp, endpoint: EndpointId) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.scrape_shows_idle(now);
        }
    }

    /// The scrape that began last showed `requests` requests, waiting or running.
    pub fn scrape_done(&mut self, endpoint: EndpointId, requests: u32) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.scrape_done(requests);
        }
    }

    /// The scrape that began last showed nothing of requests: the report before it stays the last.
    pub fn scrape_failed(&mut self, endpoint: EndpointId) {
        if let Some(account) = self.accounts.get_mut(endpoint) {
            account.scrape_failed();
        }
    }

    /// Requests in flight, finished ones whose streams are open included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl Accounts {
    fn get(&self, endpoint: EndpointId) -> Option<&Account> {
        self.accounts
            .get(endpoint.index())
            .filter(|account| account.generation == endpoint.generation)
    }

    /// The account of this life of the slot; starts a new one when the life is newer than the
    /// account, `None` when it is older.
    fn get_mut(&mut self, endpoint: EndpointId) -> Option<&mut Account> {
        if self.accounts.len() <= endpoint.index() {
            let rate = self.rate;
            self.accounts
                .resize_with(endpoint.index() + 1, || Account::of_life(0, rate));
        }
        let account = self.accounts.get_mut(endpoint.index())?;
        if account.generation < endpoint.generation {
            *account = Account::of_life(endpoint.generation, self.rate);
        }
        Some(account).filter(|account| account.generation == endpoint.generation)
    }
}

#[cfg(test)]
mod tests;
