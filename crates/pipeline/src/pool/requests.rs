//! From the pick to the end of a request.

use pointsman_domain::decision::{Decision, Destination, Refusal};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::{Completed, Event, Late};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::observation::{EndCause, Observation, Usage};
use pointsman_domain::time::Timestamp;
use pointsman_ledger::reservations::Phase;
use smallvec::SmallVec;

use crate::pool::{Detail, Output, Pool};

/// One request that is waiting or in flight.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) arrived: Timestamp,
    /// Until the decision.
    pub(super) facts: Option<Box<RequestFacts>>,
    pub(super) detail: Detail,
    /// Where it was sent, as the table of endpoints was then; empty before the decision.
    pub(super) destinations: SmallVec<[Destination; 3]>,
    usage: Option<Usage>,
}

impl Request {
    pub(super) fn new(arrived: Timestamp, facts: Box<RequestFacts>, detail: Detail) -> Self {
        Self {
            arrived,
            facts: Some(facts),
            detail,
            destinations: SmallVec::new(),
            usage: None,
        }
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.facts.as_ref().map_or(0, |facts| facts.body_bytes)
    }
}

impl Pool {
    pub(super) fn refuse(
        &self,
        now: Timestamp,
        id: RequestId,
        arrived: Timestamp,
        refusal: Refusal,
        outputs: &mut Vec<Output>,
    ) {
        let waited = now.since(arrived);
        outputs.push(Output::Decided {
            id,
            decision: Decision::Refused(refusal),
        });
        outputs.push(Output::Event(Event::Refused {
            request: id,
            refusal,
            waited,
        }));
    }

    pub(super) fn ended(
        &mut self,
        now: Timestamp,
        id: RequestId,
        cause: EndCause,
        outputs: &mut Vec<Output>,
    ) {
        self.hold.withdraw(id);
        let endpoint = self
            .ledger
            .release(id)
            .map(|reservation| reservation.endpoint);
        // Refused before, or ended before: nothing is left to end.
        let Some(request) = self.requests.remove(&id) else {
            return;
        };
        outputs.push(Output::Event(Event::Completed(Box::new(Completed {
            request: id,
            endpoint,
            cause,
            duration: now.since(request.arrived),
            usage: request.usage,
        }))));
        self.wake(now, outputs);
    }

    pub(super) fn observed(
        &mut self,
        now: Timestamp,
        id: RequestId,
        observation: Observation,
        outputs: &mut Vec<Output>,
    ) {
        let Some(request) = self.requests.get_mut(&id) else {
            outputs.push(Output::Event(Event::Dropped {
                what: Late::Observation,
            }));
            return;
        };
        match observation {
            Observation::Usage(usage) => request.usage = Some(usage),
            Observation::FirstOutput => {
                let after = now.since(request.arrived);
                if self.ledger.advance(id, Phase::Decode) {
                    outputs.push(Output::Event(Event::FirstOutput { request: id, after }));
                }
            }
            Observation::Served(address) => {
                let named = request
                    .destinations
                    .iter()
                    .find(|named| named.address == address);
                let served = named.map(|named| named.endpoint);
                if let Some(served) = served.or_else(|| self.endpoints.find(address)) {
                    self.served(now, id, served, outputs);
                }
            }
            Observation::Headers { status } => {
                let Some(reservation) = self.ledger.reservation(id) else {
                    return;
                };
                let endpoint = reservation.endpoint;
                self.note(now, endpoint, outputs, |health| {
                    if status >= 500 {
                        health.failed(now)
                    } else {
                        health.answered()
                    }
                });
            }
        }
    }

    /// Moves the reservation to who serves. Those before it in the list failed the request.
    fn served(
        &mut self,
        now: Timestamp,
        id: RequestId,
        served: EndpointId,
        outputs: &mut Vec<Output>,
    ) {
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        let Some(picked) = request.destinations.first().map(|first| first.endpoint) else {
            return;
        };
        if picked == served {
            return;
        }
        let failed: SmallVec<[EndpointId; 3]> = request
            .destinations
            .iter()
            .map(|destination| destination.endpoint)
            .take_while(|&endpoint| endpoint != served)
            .collect();
        for endpoint in failed {
            self.note(now, endpoint, outputs, |health| health.failed(now));
        }
        self.ledger.relocate(id, served);
        let event = Event::ServedElsewhere {
            request: id,
            picked,
            served,
        };
        outputs.push(Output::Event(event));
    }
}
