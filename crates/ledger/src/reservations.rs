//! Reservations and the sums over them.

use std::collections::BTreeMap;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestId;
use pointsman_domain::load::OwnLoad;
use pointsman_domain::units::Tokens;

use crate::account::{Account, ReportContext};

/// What one request in flight takes of its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Where it runs.
    pub endpoint: EndpointId,
    /// Prompt tokens that the endpoint has to compute.
    pub uncached_tokens: Tokens,
    /// How far it has come.
    pub phase: Phase,
}

/// How far a request has come, as far as we can see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Sent; no output seen.
    Prefill,
    /// Output was seen.
    Decode,
}

/// All reservations of one pool.
#[derive(Debug, Default)]
pub struct Ledger {
    reservations: BTreeMap<RequestId, Reservation>,
    accounts: Vec<Account>,
}

impl Ledger {
    /// Reserves load for `id`. A request that has a reservation moves to the new one, and was sent
    /// there only if that is at another endpoint.
    pub fn reserve(&mut self, id: RequestId, reservation: Reservation) {
        let before = self.release(id);
        if let Some(account) = self.account_mut(reservation.endpoint) {
            account.add(reservation);
            if before.is_none_or(|before| before.endpoint != reservation.endpoint) {
                account.count_dispatch();
            }
        }
        self.reservations.insert(id, reservation);
    }

    /// The request has come to `phase`; returns whether that is news.
    pub fn advance(&mut self, id: RequestId, phase: Phase) -> bool {
        let Some(&reservation) = self.reservations.get(&id) else {
            return false;
        };
        if reservation.phase == phase {
            return false;
        }
        self.reserve(
            id,
            Reservation {
                phase,
                ..reservation
            },
        );
        true
    }

    /// The request runs at another endpoint than it was sent to.
    pub fn relocate(&mut self, id: RequestId, endpoint: EndpointId) {
        if let Some(&reservation) = self.reservations.get(&id) {
            self.reserve(
                id,
                Reservation {
                    endpoint,
                    ..reservation
                },
            );
        }
    }

    /// Gives back what `id` reserved; `None` if it has nothing reserved (any more).
    pub fn release(&mut self, id: RequestId) -> Option<Reservation> {
        let reservation = self.reservations.remove(&id)?;
        if let Some(account) = self.account_mut(reservation.endpoint) {
            account.subtract(reservation);
        }
        Some(reservation)
    }

    /// The reservation of `id`.
    pub fn reservation(&self, id: RequestId) -> Option<&Reservation> {
        self.reservations.get(&id)
    }

    /// Our own requests at the endpoint.
    pub fn own(&self, endpoint: EndpointId) -> OwnLoad {
        self.account(endpoint)
            .map_or_else(OwnLoad::default, |account| account.own)
    }

    /// Requests at the endpoint that are not ours, by the last report.
    pub fn foreign(&self, endpoint: EndpointId) -> u32 {
        self.report_context(endpoint).foreign
    }

    /// What we know beside the endpoint's last report.
    pub fn report_context(&self, endpoint: EndpointId) -> ReportContext {
        self.account(endpoint)
            .map_or_else(ReportContext::default, Account::report_context)
    }

    /// A scrape of the endpoint is on its way: what it will show was true between now and its end.
    pub fn scrape_begun(&mut self, endpoint: EndpointId) {
        if let Some(account) = self.account_mut(endpoint) {
            account.scrape_begun();
        }
    }

    /// The scrape that began last showed `requests` requests, waiting or running.
    pub fn scrape_done(&mut self, endpoint: EndpointId, requests: u32) {
        if let Some(account) = self.account_mut(endpoint) {
            account.scrape_done(requests);
        }
    }

    /// The scrape that began last showed nothing of requests: the report before it stays the last.
    pub fn scrape_failed(&mut self, endpoint: EndpointId) {
        if let Some(account) = self.account_mut(endpoint) {
            account.scrape_failed();
        }
    }

    /// Requests in flight.
    pub fn len(&self) -> usize {
        self.reservations.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.reservations.is_empty()
    }

    fn account(&self, endpoint: EndpointId) -> Option<&Account> {
        self.accounts
            .get(endpoint.index())
            .filter(|account| account.generation == endpoint.generation)
    }

    /// The account of this life of the slot; starts a new one when the life is newer than the
    /// account, `None` when it is older.
    fn account_mut(&mut self, endpoint: EndpointId) -> Option<&mut Account> {
        if self.accounts.len() <= endpoint.index() {
            self.accounts
                .resize(endpoint.index() + 1, Account::default());
        }
        let account = self.accounts.get_mut(endpoint.index())?;
        if account.generation < endpoint.generation {
            *account = Account::of_life(endpoint.generation);
        }
        Some(account).filter(|account| account.generation == endpoint.generation)
    }
}

#[cfg(test)]
mod tests;
