//! Reservations and the sums over them.

use std::collections::BTreeMap;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestId;
use pointsman_domain::load::OwnLoad;
use pointsman_domain::units::Tokens;

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

/// The sums of one slot, for the life that `generation` names.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    generation: u32,
    own: OwnLoad,
    /// The most own requests there were since the running scrape began.
    own_since_scrape_begun: Option<u32>,
    /// Requests in the last report that were not ours.
    foreign: u32,
}

impl Ledger {
    /// Reserves load for `id`. A request that has a reservation moves to the new one.
    pub fn reserve(&mut self, id: RequestId, reservation: Reservation) {
        self.release(id);
        self.add(reservation);
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
        self.subtract(reservation);
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
        self.account(endpoint).map_or(0, |account| account.foreign)
    }

    /// A scrape of the endpoint is on its way: what it will show was true between now and its end.
    pub fn scrape_begun(&mut self, endpoint: EndpointId) {
        let account = self.account_mut(endpoint);
        account.own_since_scrape_begun = Some(account.own.requests);
    }

    /// The scrape that began last showed `requests` requests, waiting or running.
    ///
    /// Our own part of these is somewhere between the fewest and the most that we had meanwhile. The
    /// most is taken away, so that our own dispatches are never counted twice.
    pub fn scrape_done(&mut self, endpoint: EndpointId, requests: u32) {
        let account = self.account_mut(endpoint);
        if let Some(own) = account.own_since_scrape_begun.take() {
            account.foreign = requests.saturating_sub(own);
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

    /// The account of this life of the slot; starts a new one when the life is newer.
    fn account_mut(&mut self, endpoint: EndpointId) -> &mut Account {
        if self.accounts.len() <= endpoint.index() {
            self.accounts
                .resize(endpoint.index() + 1, Account::default());
        }
        #[expect(
            clippy::indexing_slicing,
            reason = "the line above makes room for the slot"
        )]
        let account = &mut self.accounts[endpoint.index()];
        if account.generation < endpoint.generation {
            *account = Account {
                generation: endpoint.generation,
                ..Account::default()
            };
        }
        account
    }

    fn add(&mut self, reservation: Reservation) {
        let account = self.account_mut(reservation.endpoint);
        if account.generation != reservation.endpoint.generation {
            return;
        }
        let own = &mut account.own;
        own.requests += 1;
        if reservation.phase == Phase::Prefill {
            own.before_first_token += 1;
            own.uncached_tokens += reservation.uncached_tokens;
        }
        if let Some(most) = &mut account.own_since_scrape_begun {
            *most = (*most).max(own.requests);
        }
    }

    fn subtract(&mut self, reservation: Reservation) {
        let account = self.account_mut(reservation.endpoint);
        if account.generation != reservation.endpoint.generation {
            return;
        }
        let own = &mut account.own;
        debug_assert!(own.requests > 0, "a reservation is released once");
        own.requests = own.requests.saturating_sub(1);
        if reservation.phase == Phase::Prefill {
            own.before_first_token = own.before_first_token.saturating_sub(1);
            own.uncached_tokens = own.uncached_tokens.minus(reservation.uncached_tokens);
        }
    }
}

#[cfg(test)]
mod tests;
