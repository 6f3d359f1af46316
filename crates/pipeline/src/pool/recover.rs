//! After a panic inside the pool: everything that can be derived is derived again.
//!
//! The table of open requests and the table of endpoints are changed in single steps, so they are
//! taken as true. Sums, the line of those who wait, and the index may have been left half changed.

use pointsman_admission::hold::{Hold, Verdict};
use pointsman_domain::decision::Refusal;
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;
use pointsman_ledger::reservations::{Ledger, Phase, Reservation};
use pointsman_prefix::index::Index;

use crate::pool::decide::Scratch;
use crate::pool::requests::Request;
use crate::pool::{Detail, Output, Pool};

impl Pool {
    /// Rebuilds the state from the open requests. `lost` is the offer that was under way, if it was
    /// one: it gets a pick by load alone, as its prompt may be what went wrong.
    pub fn recover(&mut self, now: Timestamp, lost: Option<RequestId>, outputs: &mut Vec<Output>) {
        self.ledger = Ledger::default();
        self.index = Index::new(self.config.prefix_bytes_max, self.index_seed);
        self.scratch = Scratch::default();
        self.hold = Hold::new(self.config.hold);
        let lost_request = lost.and_then(|id| self.requests.remove(&id));
        let mut unheld = Vec::new();
        for (&id, request) in &self.requests {
            match request.destinations.first() {
                Some(destination) => self.ledger.reserve(
                    id,
                    // What of the prompt was cached, and whether output came, is not known any more.
                    Reservation {
                        endpoint: destination.endpoint,
                        uncached_tokens: Tokens::ZERO,
                        phase: Phase::Prefill,
                    },
                ),
                None => {
                    if self.hold.offer(id, request.body_bytes(), now) != Verdict::Hold {
                        unheld.push(id);
                    }
                }
            }
        }
        // When the last reports were made is not known any more either: they count as made now.
        for member in self.endpoints.iter() {
            let load = member.load.load();
            if load.sampled_at.is_some() {
                self.ledger.scrape_begun(member.id);
                self.ledger
                    .scrape_done(member.id, load.waiting.saturating_add(load.running));
            }
        }
        for id in unheld {
            self.requests.remove(&id);
            self.refuse(now, id, now, Refusal::HoldFull, outputs);
        }
        self.wake(now, outputs);
        if let Some(id) = lost {
            let arrived = lost_request.map_or(now, |request| request.arrived);
            let facts = RequestFacts::passthrough(self.config.block_size);
            let plain = Request::new(arrived, Box::new(facts), Detail::Brief);
            self.decide(now, id, plain, outputs);
        }
    }
}
