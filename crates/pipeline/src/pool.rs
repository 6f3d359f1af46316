//! The door to one pool.

mod caches;
mod decide;
mod learning;
mod recover;
mod requests;
mod scrapes;
mod stale;

use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;

use pointsman_admission::hold::{Hold, Verdict};
use pointsman_domain::block::BlockKey;
use pointsman_domain::decision::{Decision, Refusal};
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::event::Event;
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::load::{EndpointLoad, EngineSample, OwnLoad};
use pointsman_domain::observation::{EndCause, Observation};
use pointsman_domain::time::Timestamp;
use pointsman_ledger::reservations::Ledger;
use pointsman_prefix::index::Index;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Serialize};

use crate::config::{PrefixSource, RuntimeConfig};
use crate::endpoints::{Endpoints, Member};
use crate::pool::caches::CacheReport;
use crate::pool::decide::Scratch;
use crate::pool::learning::Learning;
use crate::pool::requests::Request;

pub use learning::Statistics;

/// One pool: its endpoints, its requests and its policy.
#[derive(Debug)]
pub struct Pool {
    config: RuntimeConfig,
    endpoints: Endpoints,
    requests: BTreeMap<RequestId, Request>,
    hold: Hold,
    ledger: Ledger,
    index: Index,
    index_seed: u64,
    pickers: NonZeroU32,
    rng: Pcg64Mcg,
    scratch: Scratch,
    learning: Learning,
    closing: bool,
}

/// Everything that can happen to a pool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Input {
    /// A request asks where to go.
    Offer {
        /// The request; not offered before.
        id: RequestId,
        /// What is known of it.
        facts: Box<RequestFacts>,
        /// How much the pick's event should tell.
        detail: Detail,
    },
    /// The request is over, however it ended. Counts once.
    Ended {
        /// The request.
        id: RequestId,
        /// How it ended.
        cause: EndCause,
    },
    /// Something was seen in the response.
    Observed {
        /// The request.
        id: RequestId,
        /// What was seen.
        observation: Observation,
    },
    /// A scrape of the endpoint's metrics is on its way.
    ScrapeBegun(EndpointId),
    /// The scrape is done.
    ScrapeDone(EndpointId, Box<EngineSample>),
    /// The scrape failed.
    ScrapeFailed(EndpointId, ScrapeFault),
    /// The engine has stored these blocks in its cache.
    CacheStored {
        /// The endpoint.
        endpoint: EndpointId,
        /// The blocks, by the pool's own keys, of one prompt first to last.
        keys: Vec<BlockKey>,
    },
    /// The engine has let these blocks go.
    CacheRemoved {
        /// The endpoint.
        endpoint: EndpointId,
        /// The blocks, by the pool's own keys.
        keys: Vec<BlockKey>,
    },
    /// The engine has emptied its cache.
    CacheCleared(EndpointId),
    /// Discovery's whole set of endpoints.
    Endpoints(Vec<EndpointSpec>),
    /// How many pickers serve this pool, this one included; 1 until it is told.
    Pickers(NonZeroU32),
    /// Another configuration from now on. A recording holds the text that it was made of.
    #[serde(skip)]
    Configure(Box<RuntimeConfig>),
    /// The pool's next deadline has come.
    Expire,
    /// The process ends: nothing waits any more.
    ShutDown,
}

/// How much a pick's event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The endpoint.
    Brief,
    /// Every candidate's scores too.
    Explained,
}

/// How a scrape failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScrapeFault {
    /// Nobody listens at the address.
    Unreachable,
    /// Anything else: slow, an error status, no sense in the page.
    Unusable,
}

/// What a pool answers. Any input may bring decisions for any waiting request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Output {
    /// The answer to an offer.
    Decided {
        /// The request.
        id: RequestId,
        /// The answer.
        decision: Decision,
    },
    /// Lives of endpoints that began or ended, for those who watch endpoints.
    Endpoints {
        /// Lives that began.
        added: Vec<(EndpointId, EndpointSpec)>,
        /// Lives that ended.
        removed: Vec<EndpointId>,
    },
    /// A fact.
    Event(Event),
}

/// The state of one endpoint, for people and gauges.
#[derive(Clone, Debug, PartialEq)]
pub struct EndpointState {
    /// Who it is.
    pub id: EndpointId,
    /// `namespace/name`.
    pub name: String,
    /// Where requests go.
    pub address: SocketAddr,
    /// Last reported load.
    pub load: EndpointLoad,
    /// Our own load there.
    pub own: OwnLoad,
    /// Requests there that are not ours, by the last report.
    pub foreign_requests: u32,
    /// Age of the report; `None` before the first.
    pub load_age: Option<Duration>,
    /// Whether it is out of the picks.
    pub ejected: bool,
}

/// Sizes of the pool, for gauges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Endpoints.
    pub endpoints: usize,
    /// Requests that have an endpoint and have not ended.
    pub in_flight: usize,
    /// Requests that wait.
    pub held: usize,
    /// Body bytes of requests that wait.
    pub held_bytes: u64,
    /// Memberships in the prefix index.
    pub prefix_blocks: usize,
    /// Bytes of the prefix index.
    pub prefix_bytes: usize,
}

impl Pool {
    /// An empty pool. All its randomness comes from `seed`.
    pub fn new(config: RuntimeConfig, seed: u64) -> Self {
        Self {
            hold: Hold::new(config.hold),
            index: Index::new(config.prefix_bytes_max, seed),
            index_seed: seed,
            pickers: NonZeroU32::MIN,
            ledger: Ledger::new(config.prefill_rate),
            config,
            endpoints: Endpoints::default(),
            requests: BTreeMap::new(),
            rng: Pcg64Mcg::seed_from_u64(seed),
            scratch: Scratch::default(),
            learning: Learning::default(),
            closing: false,
        }
    }

    /// Takes `input` at `now` and adds what follows from it to `outputs`.
    pub fn input(&mut self, now: Timestamp, input: Input, outputs: &mut Vec<Output>) {
        match input {
            Input::Offer { id, facts, detail } => self.offer(now, id, facts, detail, outputs),
            Input::Ended { id, cause } => self.ended(now, id, cause, outputs),
            Input::Observed { id, observation } => self.observed(now, id, observation, outputs),
            Input::ScrapeBegun(endpoint) => self.scrape_begun(now, endpoint),
            Input::ScrapeDone(endpoint, sample) => {
                self.scrape_done(now, endpoint, &sample, outputs);
            }
            Input::ScrapeFailed(endpoint, fault) => {
                self.scrape_failed(now, endpoint, fault, outputs);
            }
            Input::CacheStored { endpoint, keys } => {
                self.cache_reported(endpoint, CacheReport::Stored(&keys), outputs);
            }
            Input::CacheRemoved { endpoint, keys } => {
                self.cache_reported(endpoint, CacheReport::Removed(&keys), outputs);
            }
            Input::CacheCleared(endpoint) => {
                self.cache_reported(endpoint, CacheReport::Cleared, outputs);
            }
            Input::Pickers(pickers) => self.pickers = pickers,
            Input::Endpoints(specs) => self.replace_endpoints(now, specs, outputs),
            Input::Configure(config) => self.configure(now, *config),
            Input::Expire => self.expire(now, outputs),
            Input::ShutDown => self.shut_down(now, outputs),
        }
    }

    /// When [`Input::Expire`] is due next.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.hold.next_deadline()
    }

    /// The configuration in force.
    pub const fn config(&self) -> &RuntimeConfig {
        &self.config
    }

    /// Whether the request waits for a decision.
    pub fn is_held(&self, id: RequestId) -> bool {
        self.hold.contains(id)
    }

    /// The present endpoints and their loads, by slot.
    pub fn endpoints(&self, now: Timestamp) -> Vec<EndpointState> {
        let state = |member: &Member| {
            let load = member.load.load();
            EndpointState {
                id: member.id,
                name: member.spec.name.clone(),
                address: member.spec.address,
                load,
                own: self.ledger.own(member.id, now),
                foreign_requests: self.ledger.foreign(member.id),
                load_age: load.sampled_at.map(|at| now.since(at)),
                ejected: self.endpoints.is_ejected(member.id, now),
            }
        };
        self.endpoints.iter().map(state).collect()
    }

    /// The pool's sizes.
    pub fn sizes(&self) -> Sizes {
        Sizes {
            endpoints: self.endpoints.len(),
            in_flight: self.ledger.len(),
            held: self.hold.len(),
            held_bytes: self.hold.bytes(),
            prefix_blocks: self.index.blocks(),
            prefix_bytes: self.index.bytes(),
        }
    }

    fn offer(
        &mut self,
        now: Timestamp,
        id: RequestId,
        facts: Box<RequestFacts>,
        detail: Detail,
        outputs: &mut Vec<Output>,
    ) {
        if self.closing {
            return self.refuse(now, id, now, Refusal::ShuttingDown, outputs);
        }
        // At once, as no endpoint that appears would change it.
        if let Err(refusal) = self.config.rewrites.demand_model(&facts) {
            return self.refuse(now, id, now, refusal, outputs);
        }
        self.learning.arrived(now);
        let request = Request::new(now, facts, detail);
        if !self.endpoints.is_empty() {
            return self.decide(now, id, request, outputs);
        }
        match self.hold.offer(id, request.body_bytes(), now) {
            Verdict::Hold => {
                outputs.push(Output::Event(Event::Held { request: id }));
                self.requests.insert(id, request);
            }
            Verdict::Shed(refusal) => self.refuse(now, id, now, refusal, outputs),
        }
    }

    fn replace_endpoints(
        &mut self,
        now: Timestamp,
        specs: Vec<EndpointSpec>,
        outputs: &mut Vec<Output>,
    ) {
        let changes = self.endpoints.replace(now, specs);
        if !changes.added.is_empty() || !changes.removed.is_empty() {
            self.lives_changed(changes.added, changes.removed, outputs);
            let endpoints = self.endpoints.len();
            outputs.push(Output::Event(Event::EndpointsChanged { endpoints }));
        }
        self.wake(now, outputs);
    }

    /// Tells the outside, and forgets what ended lives had in cache.
    fn lives_changed(
        &mut self,
        added: Vec<EndpointId>,
        removed: Vec<EndpointId>,
        outputs: &mut Vec<Output>,
    ) {
        for &id in &removed {
            self.index.remove(id);
        }
        let described = |id| {
            self.endpoints
                .get(id)
                .map(|member| (id, member.spec.clone()))
        };
        let added = added.into_iter().filter_map(described).collect();
        outputs.push(Output::Endpoints { added, removed });
    }

    /// Sends those who wait, in their order, while there is somewhere to send them.
    fn wake(&mut self, now: Timestamp, outputs: &mut Vec<Output>) {
        while !self.endpoints.is_empty() {
            let Some(id) = self.hold.release() else { break };
            if let Some(request) = self.requests.remove(&id) {
                self.decide(now, id, request, outputs);
            }
        }
    }

    fn configure(&mut self, now: Timestamp, config: RuntimeConfig) {
        self.hold.set_limits(config.hold);
        self.ledger.set_prefill_rate(now, config.prefill_rate);
        // Keys of blocks of another size never match again, and no report would take back what was
        // predicted before.
        let is_unlike = config.block_size != self.config.block_size;
        let keeps_predictions = self.config.prefix_source.is_predicted()
            && config.prefix_source == PrefixSource::Reported;
        if is_unlike || keeps_predictions {
            self.index = Index::new(config.prefix_bytes_max, self.index_seed);
        } else {
            self.index.set_bytes_max(config.prefix_bytes_max);
        }
        self.config = config;
    }

    fn expire(&mut self, now: Timestamp, outputs: &mut Vec<Output>) {
        while let Some(id) = self.hold.expire(now) {
            if let Some(request) = self.requests.remove(&id) {
                self.refuse(
                    now,
                    id,
                    request.arrived,
                    Refusal::NoEndpointsInTime,
                    outputs,
                );
            }
        }
    }

    fn shut_down(&mut self, now: Timestamp, outputs: &mut Vec<Output>) {
        self.closing = true;
        while let Some(id) = self.hold.release() {
            if let Some(request) = self.requests.remove(&id) {
                self.refuse(now, id, request.arrived, Refusal::ShuttingDown, outputs);
            }
        }
    }
}

#[cfg(test)]
mod tests;
