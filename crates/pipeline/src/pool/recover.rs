//! After a panic inside the pool: everything that can be derived is derived again.
//!
//! The table of open requests and the table of endpoints are changed in single steps, so they are
//! taken as true. Sums, the line of those who wait, and the index may have been left half changed.

use pointsman_admission::hold::{Hold, Verdict};
use pointsman_domain::decision::Refusal;
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::time::Timestamp;
use pointsman_ledger::reservations::Ledger;
use pointsman_prefix::index::Index;

use crate::pool::decide::Scratch;
use crate::pool::requests::Request;
use crate::pool::{Detail, Output, Pool};

impl Pool {
    /// Rebuilds the state from the open requests. `lost` is the offer that was under way, if it was
    /// one: it gets a pick by load alone, as its prompt may be what went wrong.
    pub fn recover(&mut self, now: Timestamp, lost: Option<RequestId>, outputs: &mut Vec<Output>) {
        self.ledger = Ledger::new(self.config.prefill_rate);
        self.index = Index::new(self.config.prefix_bytes_max, self.index_seed);
        self.scratch = Scratch::default();
        self.hold = Hold::new(self.config.hold);
        // What was decided by then stands.
        let known = |id| self.requests.get(&id);
        let lost = lost.filter(|&id| known(id).is_none_or(|known| known.sent.is_none()));
        let lost_request = lost.and_then(|id| self.requests.remove(&id));
        let mut sent = Vec::new();
        let mut unheld = Vec::new();
        for (&id, request) in &self.requests {
            match request.sent {
                Some(place) => sent.push((place.at, id, request.reservation(place))),
                None => {
                    if self.hold.offer(id, request.body_bytes(), now) != Verdict::Hold {
                        unheld.push(id);
                    }
                }
            }
        }
        // As they were sent, so that clocks go as if those that have ended had never been there.
        sent.sort_unstable_by_key(|&(at, id, _)| (at, id));
        for (at, id, reservation) in sent {
            self.ledger.reserve(at, id, reservation);
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
