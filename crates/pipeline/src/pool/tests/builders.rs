//! Pools, requests and endpoints by intent.

use std::sync::Arc;

use pointsman_domain::block::{BlockHash, BlockSize};
use pointsman_domain::decision::Decision;
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::facts::{Dialect, ModelName, RequestFacts};
use pointsman_domain::load::LoadSample;
use pointsman_domain::units::Tokens;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::profile::{Profile, Weighted};
use pointsman_schedule::scorer::Scorer;

use super::super::*;

/// The built-in default profile.
pub(super) fn config() -> RuntimeConfig {
    let weighted = |name: &str, scorer, weight| Weighted {
        name: Arc::from(name),
        scorer,
        weight,
    };
    let scorers = vec![
        weighted("queue-scorer", Scorer::Queue(Default::default()), 2.0),
        weighted(
            "kv-cache-utilization-scorer",
            Scorer::KvCacheUtilization(Default::default()),
            2.0,
        ),
        weighted(
            "prefix-cache-scorer",
            Scorer::PrefixCache(Default::default()),
            3.0,
        ),
        weighted(
            "own-inflight-scorer",
            Scorer::OwnInflight(Default::default()),
            4.0,
        ),
    ];
    RuntimeConfig {
        profile: Profile {
            scorers,
            picker: Picker::MaxScore(Default::default()),
        },
        destinations_max: 1,
        block_size: BlockSize::DEFAULT,
        prefix_source: PrefixSource::Predicted,
        prefix_bytes_max: 16 << 20,
        hold: pointsman_admission::hold::HoldLimits::OFF,
        rewrites: Default::default(),
        prefill_rate: Default::default(),
    }
}

/// A default config that holds up to ten requests for ten milliseconds.
pub(super) fn holding() -> RuntimeConfig {
    let hold = pointsman_admission::hold::HoldLimits {
        requests_max: 10,
        bytes_max: 1000,
        wait_max: Some(Duration::from_millis(10)),
    };
    RuntimeConfig { hold, ..config() }
}

/// A pool of so many equal endpoints.
pub(super) fn pool_of(endpoints: u32) -> TestPool {
    pool_with(config(), endpoints)
}

pub(super) fn pool_with(config: RuntimeConfig, endpoints: u32) -> TestPool {
    filled(Pool::new(config, 42), endpoints)
}

pub(super) fn seeded(seed: u64, endpoints: u32) -> TestPool {
    filled(Pool::new(config(), seed), endpoints)
}

fn filled(pool: Pool, endpoints: u32) -> TestPool {
    let mut pool = TestPool {
        pool,
        now: Timestamp::ZERO,
    };
    pool.input(Input::Endpoints((0..endpoints).map(endpoint).collect()));
    pool
}

pub(super) fn endpoint(number: u32) -> EndpointSpec {
    EndpointSpec::new(format!("default/engine-{number:03}"), address(number))
}

pub(super) fn address(number: u32) -> SocketAddr {
    SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 8000))
}

/// The first life of an endpoint that was in the pool from the start.
pub(super) fn first_life(number: u32) -> EndpointId {
    EndpointId {
        slot: number,
        generation: 1,
    }
}

/// A chat of blocks with these contents.
pub(super) fn chat(blocks: &[u64]) -> RequestFacts {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    facts.dialect = Dialect::ChatCompletions;
    facts.model = ModelName::Named("m".into());
    facts.prompt.blocks = blocks.iter().copied().map(BlockHash).collect();
    facts.prompt.tokens = Tokens(64 * blocks.len() as u64);
    facts.body_bytes = 100;
    facts
}

pub(super) fn sample(waiting: u32, running: u32) -> LoadSample {
    LoadSample {
        waiting: Some(waiting),
        running: Some(running),
        ..LoadSample::default()
    }
}

/// A pool and its time.
pub(super) struct TestPool {
    pub(super) pool: Pool,
    pub(super) now: Timestamp,
}

impl TestPool {
    pub(super) fn input(&mut self, input: Input) -> Vec<Output> {
        let mut outputs = Vec::new();
        self.pool.input(self.now, input, &mut outputs);
        outputs
    }

    pub(super) fn recover(&mut self, lost: Option<u64>) -> Vec<Output> {
        let mut outputs = Vec::new();
        self.pool
            .recover(self.now, lost.map(RequestId), &mut outputs);
        outputs
    }

    pub(super) fn at_millis(&mut self, millis: u64) -> &mut Self {
        self.now = Timestamp::from_millis(millis);
        self
    }

    pub(super) fn offer(&mut self, id: u64, facts: RequestFacts) -> Vec<Output> {
        let facts = Box::new(facts);
        self.input(Input::Offer {
            id: RequestId(id),
            facts,
            detail: Detail::Brief,
        })
    }

    /// Offers a request and gives the endpoint that it is sent to.
    pub(super) fn pick(&mut self, id: u64, facts: RequestFacts) -> EndpointId {
        let outputs = self.offer(id, facts);
        match decisions(&outputs).as_slice() {
            [(_, Decision::Picked(pick))] => pick.destinations[0].endpoint,
            other => panic!("not picked: {other:?}"),
        }
    }

    pub(super) fn end(&mut self, id: u64) -> Vec<Output> {
        self.input(Input::Ended {
            id: RequestId(id),
            cause: EndCause::Complete,
        })
    }

    pub(super) fn observe(&mut self, id: u64, observation: Observation) -> Vec<Output> {
        self.input(Input::Observed {
            id: RequestId(id),
            observation,
        })
    }

    pub(super) fn scrape(&mut self, endpoint: EndpointId, sample: LoadSample) -> Vec<Output> {
        self.input(Input::ScrapeBegun(endpoint));
        self.input(Input::ScrapeDone(endpoint, Box::new(sample.into())))
    }
}

pub(super) fn decisions(outputs: &[Output]) -> Vec<(RequestId, Decision)> {
    let decided = |output: &Output| match output {
        Output::Decided { id, decision } => Some((*id, decision.clone())),
        _ => None,
    };
    outputs.iter().filter_map(decided).collect()
}

pub(super) fn events(outputs: &[Output]) -> Vec<&Event> {
    let only_events = outputs.iter().filter_map(|output| match output {
        Output::Event(event) => Some(event),
        _ => None,
    });
    only_events.collect()
}
