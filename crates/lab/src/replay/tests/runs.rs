//! Runs of a pool in memory, recorded as the picker does it.

use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::time::Duration;

use pointsman_domain::block::{BlockHash, BlockKey, BlockSize, SaltHash};
use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::facts::{ModelName, RequestFacts, RequestId};
use pointsman_domain::load::LoadSample;
use pointsman_domain::observation::{EndCause, Observation, ObservationMode, Usage};
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::{Tokens, Unit};
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::{Detail, Input, Output, Pool, ScrapeFault};
use pointsman_pipeline::record::{
    Configuration, End, EndReason, Entry, FORMAT, Header, Line, Step,
};
use pointsman_policy::{config, rewrites};
use proptest::prelude::*;

/// A pool and what is recorded of it.
pub(super) struct Run {
    pool: Pool,
    now: Timestamp,
    entries: u64,
    offered: u64,
    bytes: Vec<u8>,
}

/// What may happen, with small numbers so that events meet each other.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Offer(u8, Option<u8>),
    End(u64, EndCause),
    Observe(u64, Observation),
    Endpoints(u8),
    ScrapeBegun(EndpointId),
    Scrape(EndpointId, LoadSample),
    ScrapeFailed(EndpointId, ScrapeFault),
    Cache(EndpointId, u64, u8),
    Pickers(NonZeroU32),
    Wait(u64),
    Recover(Option<u64>),
    Configure(usize),
    ShutDown,
}

pub(super) const RANDOM: &str = "
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [{type: random-picker}]
schedulingProfiles: [{name: default, plugins: [{pluginRef: random-picker}]}]
";

/// Given together with [`RANDOM`].
const SPLIT: &str = "
apiVersion: llm-d.ai/v1alpha2
kind: InferenceModelRewrite
metadata: {name: split}
spec:
  poolRef: {name: default}
  rules:
  - matches: [{model: {value: m}}]
    targets: [{modelRewrite: a, weight: 1}, {modelRewrite: b, weight: 2}]
";

/// The default, one that holds requests, and one that decides by chance.
pub(super) const CONFIGURATIONS: [&str; 3] = [
    "",
    "
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
flowControl: {noEndpointRequestTTL: 20ms, maxRequests: 4}
",
    RANDOM,
];

impl Run {
    pub(super) fn begin(configuration: &str, seed: u64) -> Self {
        Self {
            pool: Pool::new(compiled(configuration), seed),
            now: Timestamp::ZERO,
            entries: 0,
            offered: 0,
            bytes: header(configuration, seed),
        }
    }

    /// A recording of another program's, without entries.
    pub(super) fn recorded_elsewhere(configuration: &str) -> String {
        String::from_utf8(header(configuration, 0)).unwrap()
    }

    pub(super) fn endpoints(&mut self, count: u8) {
        self.input(Input::Endpoints((0..count).map(endpoint).collect()));
    }

    pub(super) fn offer(&mut self, id: u64) {
        self.input(Input::Offer {
            id: RequestId(id),
            facts: Box::new(RequestFacts::passthrough(BlockSize::DEFAULT)),
            detail: Detail::Explained,
        });
    }

    /// Records a panic that there was not.
    pub(super) fn pretend_panic(&mut self) {
        self.record(Step::Panicked(Input::Expire), Vec::new());
    }

    pub(super) fn finish(mut self, reason: EndReason) -> String {
        let entries = self.entries;
        Line::End(End { entries, reason })
            .write(&mut self.bytes)
            .unwrap();
        String::from_utf8(self.bytes).unwrap()
    }

    pub(super) fn take(&mut self, event: Event) {
        let id = RequestId;
        match event {
            Event::Offer(content, salt) => {
                self.offered += 1;
                let input = offer(self.offered, content, salt);
                self.input(input);
            }
            Event::End(request, cause) => self.input(Input::Ended {
                id: id(request),
                cause,
            }),
            Event::Observe(request, observation) => self.input(Input::Observed {
                id: id(request),
                observation,
            }),
            Event::Endpoints(mask) => {
                let chosen = (0..5).filter(|number| mask & (1 << number) != 0);
                self.input(Input::Endpoints(chosen.map(endpoint).collect()));
            }
            Event::ScrapeBegun(endpoint) => self.input(Input::ScrapeBegun(endpoint)),
            Event::Scrape(endpoint, sample) => {
                self.input(Input::ScrapeDone(endpoint, Box::new(sample.into())))
            }
            Event::ScrapeFailed(endpoint, fault) => {
                self.input(Input::ScrapeFailed(endpoint, fault));
            }
            Event::Cache(endpoint, key, change) => {
                let keys = vec![BlockKey(key), BlockKey(key + 1)];
                self.input(match change % 3 {
                    0 => Input::CacheStored { endpoint, keys },
                    1 => Input::CacheRemoved { endpoint, keys },
                    _ => Input::CacheCleared(endpoint),
                });
            }
            Event::Pickers(pickers) => self.input(Input::Pickers(pickers)),
            Event::Wait(millis) => {
                self.now = self.now.plus(Duration::from_millis(millis));
                self.input(Input::Expire);
            }
            Event::Recover(lost) => self.recover(lost.map(RequestId)),
            Event::Configure(index) => self.configure(CONFIGURATIONS[index]),
            Event::ShutDown => self.input(Input::ShutDown),
        }
    }

    fn input(&mut self, input: Input) {
        self.now = self.now.plus(Duration::from_millis(1));
        let mut outputs = Vec::new();
        self.pool.input(self.now, input.clone(), &mut outputs);
        self.record(Step::Input(input), outputs);
    }

    fn recover(&mut self, lost: Option<RequestId>) {
        let mut outputs = Vec::new();
        self.pool.recover(self.now, lost, &mut outputs);
        self.record(Step::Recover { lost }, outputs);
    }

    fn configure(&mut self, text: &str) {
        let mut outputs = Vec::new();
        let input = Input::Configure(Box::new(compiled(text)));
        self.pool.input(self.now, input, &mut outputs);
        self.record(Step::Configure(given(text)), outputs);
    }

    fn record(&mut self, step: Step, outputs: Vec<Output>) {
        let entry = Entry {
            sequence: self.entries,
            now: self.now,
            step,
            outputs,
        };
        Line::Entry(entry).write(&mut self.bytes).unwrap();
        self.entries += 1;
    }
}

fn compiled(text: &str) -> pointsman_pipeline::config::RuntimeConfig {
    let mut runtime = config::load(text, Attachment::Standalone).unwrap().runtime;
    runtime.rewrites = rewrites::compile(rewrites_of(text)).unwrap().rewrites;
    runtime
}

fn given(text: &str) -> Configuration {
    let rewrites = rewrites_of(text).to_owned();
    Configuration::new(text.to_owned(), Attachment::Standalone).with_rewrites(rewrites)
}

fn rewrites_of(text: &str) -> &'static str {
    if text == RANDOM { SPLIT } else { "" }
}

fn header(configuration: &str, seed: u64) -> Vec<u8> {
    let header = Header {
        format: FORMAT,
        version: "0".to_owned(),
        pool: "default".to_owned(),
        seed,
        configuration: given(configuration),
    };
    let mut bytes = Vec::new();
    Line::Header(header).write(&mut bytes).unwrap();
    bytes
}

fn endpoint(number: u8) -> EndpointSpec {
    EndpointSpec::new(format!("default/engine-{number}"), address(number))
}

fn address(number: u8) -> SocketAddr {
    ([10, 0, 0, number], 8000).into()
}

fn offer(id: u64, content: u8, salt: Option<u8>) -> Input {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    facts.prompt.blocks = (0..content % 4)
        .map(|block| BlockHash(block.into()))
        .collect();
    facts.prompt.tokens = Tokens(u64::from(content) * 40);
    facts.cache_salt = salt.map(|salt| SaltHash::of(&salt.to_string()));
    facts.model = match content % 8 {
        0 => ModelName::Missing,
        1 => ModelName::Named("other".into()),
        _ => ModelName::Named("m".into()),
    };
    if content.is_multiple_of(3) {
        facts.observation = ObservationMode::HeadersOnly;
    }
    facts.body_bytes = u64::from(content);
    Input::Offer {
        id: RequestId(id),
        facts: Box::new(facts),
        detail: if content.is_multiple_of(2) {
            Detail::Brief
        } else {
            Detail::Explained
        },
    }
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(event(), 0..80)
}

fn event() -> impl Strategy<Value = Event> {
    let request = 0_u64..40;
    let fault = prop_oneof![Just(ScrapeFault::Unreachable), Just(ScrapeFault::Unusable)];
    let cause = prop_oneof![
        Just(EndCause::Complete),
        Just(EndCause::EngineError),
        Just(EndCause::Cut)
    ];
    prop_oneof![
        8 => (any::<u8>(), proptest::option::of(0_u8..2)).prop_map(|(c, s)| Event::Offer(c, s)),
        4 => (request.clone(), cause).prop_map(|(id, cause)| Event::End(id, cause)),
        4 => (request.clone(), observation()).prop_map(|(id, seen)| Event::Observe(id, seen)),
        2 => any::<u8>().prop_map(Event::Endpoints),
        1 => life().prop_map(Event::ScrapeBegun),
        6 => (life(), sample()).prop_map(|(id, sample)| Event::Scrape(id, sample)),
        1 => (life(), fault).prop_map(|(id, fault)| Event::ScrapeFailed(id, fault)),
        2 => (life(), 0_u64..9, any::<u8>()).prop_map(|(id, key, how)| Event::Cache(id, key, how)),
        1 => (1_u32..4).prop_map(|n| Event::Pickers(NonZeroU32::new(n).unwrap())),
        2 => (0_u64..30).prop_map(Event::Wait),
        1 => proptest::option::of(request).prop_map(Event::Recover),
        1 => (0..CONFIGURATIONS.len()).prop_map(Event::Configure),
        1 => prop_oneof![19 => Just(Event::Wait(3000)), 1 => Just(Event::ShutDown)],
    ]
}

fn life() -> impl Strategy<Value = EndpointId> {
    (0_u32..5, 1_u32..4).prop_map(|(slot, generation)| EndpointId { slot, generation })
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        prop_oneof![Just(200), Just(503)].prop_map(|status| Observation::Answered { status }),
        (0_u8..5).prop_map(|number| Observation::Served(address(number))),
        Just(Observation::FirstOutput),
        Just(Observation::FirstVisible),
        Just(Observation::Finished),
        sample().prop_map(Observation::Load),
        (0_u64..100).prop_map(|tokens| Observation::Usage(Usage {
            prompt: Tokens(tokens),
            output: Tokens(tokens),
            cached: Some(Tokens(tokens)),
            reasoning: None,
        })),
    ]
}

/// Reports as they come, and now and then one that makes no sense.
fn sample() -> impl Strategy<Value = LoadSample> {
    let count = proptest::option::weighted(0.8, 0_u32..9);
    let start = prop_oneof![
        6 => Just(None),
        1 => Just(Some(1.5e9 + 0.1)),
        1 => Just(Some(f64::INFINITY)),
        1 => Just(Some(f64::NAN)),
    ];
    (count, 0.0..=1.0_f64, start).prop_map(|(requests, usage, start)| LoadSample {
        waiting: requests,
        running: requests,
        kv_usage: Some(Unit::clamped(usage)),
        kv_block_tokens: Some(16),
        kv_blocks: requests,
        process_start_seconds: start,
    })
}
