//! From the pick to the end of a request.

use core::net::SocketAddr;

use pointsman_domain::decision::{Decision, Destination, Refusal};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::{Completed, Event, Late, Timings};
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::load::{LoadSample, Source};
use pointsman_domain::observation::{EndCause, Observation, ObservationMode, Usage};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Tokens;
use pointsman_ledger::reservations::{Phase, Reservation};
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
    /// From the decision on.
    pub(super) sent: Option<Sent>,
    usage: Option<Usage>,
    timings: Timings,
}

/// Where a request runs, and what it takes there: all that its reservation can be made of again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Timestamp,
    pub(super) endpoint: EndpointId,
    pub(super) uncached_tokens: Tokens,
    /// Tokens of the prompt that the index says are in cache there.
    pub(super) believed_tokens: Tokens,
    /// Nothing waited or was in prefill there, as far as is known.
    pub(super) is_alone: bool,
    pub(super) observation: ObservationMode,
}

impl Request {
    pub(super) fn new(arrived: Timestamp, facts: Box<RequestFacts>, detail: Detail) -> Self {
        Self {
            arrived,
            facts: Some(facts),
            detail,
            destinations: SmallVec::new(),
            sent: None,
            usage: None,
            timings: Timings::default(),
        }
    }

    pub(super) fn body_bytes(&self) -> u64 {
        self.facts.as_ref().map_or(0, |facts| facts.body_bytes)
    }

    /// What is reserved for it where it was sent.
    pub(super) const fn reservation(&self, sent: Sent) -> Reservation {
        let phase = match self.timings {
            Timings {
                finished: Some(_), ..
            } => Phase::Finished,
            Timings {
                first_output: Some(_),
                ..
            } => Phase::Decode,
            _ => Phase::Prefill,
        };
        Reservation {
            endpoint: sent.endpoint,
            uncached_tokens: sent.uncached_tokens,
            phase,
            observation: sent.observation,
        }
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
        // First out of the table, of which all else can be made again: so it ends here even if a sum
        // is wrong.
        let request = self.requests.remove(&id);
        self.hold.withdraw(id);
        self.ledger.release(now, id);
        // Refused before, or ended before: nothing is left to end.
        let Some(request) = request else {
            return;
        };
        if let (EndCause::Complete, Some(sent)) = (cause, request.sent) {
            self.learning.served(now.since(sent.at));
        }
        outputs.push(Output::Event(Event::Completed(Box::new(Completed {
            request: id,
            endpoint: request.sent.map(|sent| sent.endpoint),
            cause,
            duration: now.since(request.arrived),
            usage: request.usage,
            timings: request.timings,
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
            return outputs.push(late(Late::Observation));
        };
        let Some(sent) = request.sent else {
            return outputs.push(late(Late::Observation));
        };
        let after = now.since(request.arrived);
        let timings = &mut request.timings;
        match observation {
            Observation::Usage(usage) => {
                request.usage = Some(usage);
                self.learn_cache(sent.endpoint, sent, usage);
            }
            Observation::FirstVisible => {
                timings.first_visible.get_or_insert(after);
            }
            Observation::FirstOutput => {
                if timings.first_output.is_none() {
                    timings.first_output = Some(after);
                    self.ledger.advance(now, id, Phase::Decode);
                    self.learn_prefill(now, sent);
                    outputs.push(Output::Event(Event::FirstOutput { request: id, after }));
                }
            }
            Observation::Finished => {
                timings.finished.get_or_insert(after);
                self.ledger.advance(now, id, Phase::Finished);
            }
            Observation::Load(sample) => self.load_told(now, sent.endpoint, &sample, outputs),
            Observation::Served(address) => self.served(now, id, address, outputs),
            Observation::Answered { status } => {
                self.note(now, sent.endpoint, outputs, |health| {
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
        address: SocketAddr,
        outputs: &mut Vec<Output>,
    ) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let mut list = request.destinations.iter();
        let named = list.find(|named| named.address == address);
        let served = named.map(|named| named.endpoint);
        let Some(served) = served.or_else(|| self.endpoints.find(address)) else {
            return outputs.push(late(Late::Served));
        };
        let Some(sent) = request.sent.as_mut().filter(|sent| sent.endpoint != served) else {
            return;
        };
        let left = sent.endpoint;
        let picked = request.destinations.first();
        let picked = picked.map_or(left, |first| first.endpoint);
        sent.at = now;
        sent.endpoint = served;
        // What was believed and seen was of the other.
        sent.believed_tokens = Tokens(0);
        sent.is_alone = false;
        let list = request.destinations.iter().map(|named| named.endpoint);
        // The gateway goes down the list once, whatever it tells after that.
        let failed: SmallVec<[EndpointId; 3]> = list
            .take_while(|&endpoint| endpoint != served)
            .skip_while(|&endpoint| endpoint != left)
            .collect();
        self.ledger.relocate(now, id, served);
        for endpoint in failed {
            self.note(now, endpoint, outputs, |health| health.failed(now));
        }
        outputs.push(Output::Event(Event::ServedElsewhere {
            request: id,
            picked,
            served,
        }));
    }

    /// Takes over what an engine tells of its load beside an answer. What is known beside its last
    /// report is not about this, so it stays as it is.
    fn load_told(
        &mut self,
        now: Timestamp,
        endpoint: EndpointId,
        sample: &LoadSample,
        outputs: &mut Vec<Output>,
    ) {
        match self.endpoints.get_mut(endpoint) {
            Some(member) => member.load.told(now, Source::Answer, sample),
            None => outputs.push(late(Late::Observation)),
        }
    }
}

const fn late(what: Late) -> Output {
    Output::Event(Event::Dropped { what })
}
