//! The engines, and what happens in them.

use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use pointsman_domain::block::BlockKey;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_domain::load::{Counters, EngineSample, LoadSample};
use pointsman_domain::time::Timestamp;
use pointsman_engine::config::{CacheReports, EngineConfig};
use pointsman_engine::engine::Engine;
use pointsman_engine::event::EngineEvent;
use pointsman_engine::job::JobId;
use pointsman_engine::stats::EngineTotals;
use pointsman_pipeline::config::{PrefixSource, RuntimeConfig};

use super::World;
use super::moments::What;
use crate::scenario::engine::Fleet;

/// All engines, by endpoint.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) members: Vec<Member>,
    /// Those that may have a step to begin at this moment.
    ready: Vec<usize>,
    /// Reused by every step.
    events: Vec<EngineEvent>,
    /// The picker's keys of what an engine calls by a key of its own; `None` unless engines report.
    pub(super) reported: Option<BTreeMap<BlockKey, Vec<BlockKey>>>,
}

/// One engine at one endpoint.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) engine: Engine,
    pub(super) config: EngineConfig,
    pub(super) group: usize,
    pub(super) spec: EndpointSpec,
    /// Whether discovery lists it.
    pub(super) present: bool,
    pub(super) condition: Condition,
    /// Requests that were sent here, ever.
    pub(super) assigned: u32,
    /// Of these, requests that have not ended.
    pub(super) in_flight: u32,
    /// What its cache holds, by its own keys; empty unless engines report.
    pub(super) cached: BTreeSet<BlockKey>,
    cache_blocks: u32,
    starts: u32,
    /// What its processes before this one counted.
    earlier: EngineTotals,
    /// The request behind each job.
    plans: Vec<usize>,
    /// When it is to be looked at next; moments that were scheduled for another time are void.
    wake: Option<Timestamp>,
    /// How much later than the engine knows the step in progress ends, as it stood still.
    step_delay: Duration,
    is_ready: bool,
}

/// What is wrong with an endpoint at present.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Condition {
    pub(super) refuses: bool,
    /// It answers 500 to each request, after this time.
    pub(super) errors_after: Option<Duration>,
    /// It stands still since then.
    pub(super) stalls_since: Option<Timestamp>,
    pub(super) unreadable: bool,
}

impl Engines {
    pub(super) fn new(fleet: &Fleet, runtime: &RuntimeConfig) -> Self {
        let reports = runtime.prefix_source != PrefixSource::Predicted;
        let cache = if reports {
            CacheReports::Changes
        } else {
            CacheReports::Nothing
        };
        let mut members = Vec::new();
        for (endpoint, (group_index, group)) in fleet.members().enumerate() {
            let config = fleet.engine.config(group, cache);
            let block_tokens = u64::from(fleet.engine.block_tokens.get());
            let blocks = |tokens: u64| u32::try_from(tokens / block_tokens).unwrap_or(u32::MAX);
            let kv_blocks = fleet.engine.kv_blocks.get();
            let cache_tokens = fleet.engine.mode.cache_tokens();
            members.push(Member {
                engine: Engine::new(config),
                config,
                group: group_index,
                spec: spec(endpoint, &group.name),
                present: group.join_ms.value() <= 0.0,
                condition: Condition::default(),
                assigned: 0,
                in_flight: 0,
                cached: BTreeSet::new(),
                earlier: EngineTotals::default(),
                step_delay: Duration::ZERO,
                cache_blocks: cache_tokens.map_or(kv_blocks, blocks),
                starts: 1,
                plans: Vec::new(),
                wake: None,
                is_ready: false,
            });
        }
        Self {
            members,
            ready: Vec::new(),
            events: Vec::new(),
            reported: reports.then(BTreeMap::new),
        }
    }

    /// Discovery's whole set.
    pub(super) fn specs(&self) -> Vec<EndpointSpec> {
        let present = self.members.iter().filter(|member| member.present);
        present.map(|member| member.spec.clone()).collect()
    }

    /// The engine may have a step to begin at this moment.
    pub(super) fn wake(&mut self, endpoint: usize) {
        let member = &mut self.members[endpoint];
        if !member.is_ready {
            member.is_ready = true;
            self.ready.push(endpoint);
        }
    }
}

impl Member {
    /// Notes which request a job is.
    pub(super) fn accepted(&mut self, job: JobId, plan: usize) {
        debug_assert_eq!(job.0, self.plans.len() as u64, "jobs are numbered");
        self.plans.push(plan);
        self.assigned += 1;
        self.in_flight += 1;
    }

    /// What a scrape reads at this moment.
    pub(super) fn sample(&self) -> EngineSample {
        let stats = self.engine.stats();
        let totals = &stats.totals;
        let load = LoadSample {
            waiting: u32::try_from(stats.waiting).ok(),
            running: u32::try_from(stats.running).ok(),
            kv_usage: Some(stats.kv_usage),
            kv_block_tokens: u32::try_from(self.config.block_size.tokens().0).ok(),
            kv_blocks: Some(self.cache_blocks),
            process_start_seconds: Some(f64::from(self.starts) * SECONDS_BETWEEN_STARTS),
        };
        // The model counts no seconds of single requests.
        let counters = Counters {
            prompt_tokens: Some(totals.prompt_tokens as f64),
            cached_tokens: Some(totals.prefix_hit_tokens as f64),
            output_tokens: Some(totals.generation_tokens as f64),
            preemptions: Some(totals.preemptions as f64),
            finished: Some(totals.finished as f64),
            ..Counters::default()
        };
        EngineSample {
            load,
            adapters: None,
            counters,
        }
    }

    /// A new process: nothing is in it. Returns the requests that were.
    pub(super) fn restart(&mut self, open: impl Fn(usize) -> bool) -> Vec<usize> {
        let mut lost: Vec<usize> = core::mem::take(&mut self.plans);
        lost.retain(|&plan| open(plan));
        self.earlier = self.totals();
        self.engine = Engine::new(self.config);
        self.cached.clear();
        self.starts += 1;
        self.wake = None;
        self.step_delay = Duration::ZERO;
        lost
    }

    /// What all its processes counted.
    pub(super) fn totals(&self) -> EngineTotals {
        self.earlier.plus(&self.engine.stats().totals)
    }
}

impl World<'_> {
    /// A step of this engine ends.
    pub(super) fn step_ends(&mut self, endpoint: usize) {
        let member = &mut self.engines.members[endpoint];
        if member.wake != Some(self.now) || member.condition.stalls_since.is_some() {
            return;
        }
        member.wake = None;
        member.step_delay = Duration::ZERO;
        let mut events = core::mem::take(&mut self.engines.events);
        member.engine.end_due(self.now, &mut events);
        self.engine_events(endpoint, &events);
        events.clear();
        self.engines.events = events;
        self.engines.wake(endpoint);
    }

    /// The engine goes on after it stood still: what was left of its step is still to be done.
    pub(super) fn go_on(&mut self, endpoint: usize) {
        let member = &mut self.engines.members[endpoint];
        let Some(since) = member.condition.stalls_since.take() else {
            return;
        };
        let pause = self.now.since(since);
        if let Some(wake) = &mut member.wake {
            *wake = wake.plus(pause);
            member.step_delay += pause;
            self.moments.push(*wake, What::StepEnds(endpoint));
        }
        self.engines.wake(endpoint);
    }

    /// Every engine that may have a step to begin at this moment begins it.
    pub(super) fn begin_steps(&mut self) {
        let mut ready = core::mem::take(&mut self.engines.ready);
        ready.sort_unstable();
        for &endpoint in &ready {
            let member = &mut self.engines.members[endpoint];
            member.is_ready = false;
            if member.condition.stalls_since.is_some() {
                continue;
            }
            let mut events = core::mem::take(&mut self.engines.events);
            let next = member.engine.begin(self.now, &mut events);
            let next = next.map(|at| at.plus(member.step_delay));
            if let Some(at) = next
                && member.wake.is_none_or(|wake| at < wake)
            {
                member.wake = Some(at);
                self.moments.push(at, What::StepEnds(endpoint));
            }
            self.engine_events(endpoint, &events);
            events.clear();
            self.engines.events = events;
        }
        ready.clear();
        // Nothing that follows from a begin wakes an engine at the same moment.
        debug_assert!(self.engines.ready.is_empty());
        self.engines.ready = ready;
    }

    fn engine_events(&mut self, endpoint: usize, events: &[EngineEvent]) {
        for event in events {
            let plan = |id: JobId| self.engines.members[endpoint].plans[id.0 as usize];
            match *event {
                EngineEvent::Admitted {
                    id, cached_tokens, ..
                } => {
                    let plan = plan(id);
                    self.flights.admitted(plan, self.now, cached_tokens);
                }
                EngineEvent::Token { id, index: 0, .. } => self.first_token(plan(id)),
                EngineEvent::Finished { id, .. } => self.finished(plan(id)),
                EngineEvent::Cached { key, .. } => {
                    self.engines.members[endpoint].cached.insert(key);
                    self.cache_changed(endpoint, key, Change::Stored);
                }
                EngineEvent::Evicted { key, .. } => {
                    self.engines.members[endpoint].cached.remove(&key);
                    self.cache_changed(endpoint, key, Change::Removed);
                }
                EngineEvent::Token { .. }
                | EngineEvent::Resumed { .. }
                | EngineEvent::Preempted { .. }
                | EngineEvent::AdapterLoaded { .. } => {}
            }
        }
    }

    /// Tells a picker that has just met an endpoint what it holds, as a feed does when it connects.
    pub(super) fn introduce_cache(&mut self, picker: usize, endpoint: usize) {
        let Some(reported) = &self.engines.reported else {
            return;
        };
        for key in &self.engines.members[endpoint].cached {
            if let Some(keys) = reported.get(key) {
                self.pickers
                    .tell_cache(picker, self.now, endpoint, keys, Change::Stored);
            }
        }
    }

    fn cache_changed(&mut self, endpoint: usize, key: BlockKey, change: Change) {
        let reported = self.engines.reported.as_ref();
        if let Some(keys) = reported.and_then(|reported| reported.get(&key)) {
            self.pickers.cache_changed(self.now, endpoint, keys, change);
        }
    }
}

/// What an engine reports of its cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Stored,
    Removed,
}

fn spec(endpoint: usize, group: &str) -> EndpointSpec {
    let [.., high, low] = (endpoint as u32).to_be_bytes();
    let address = SocketAddr::from((Ipv4Addr::new(10, 0, high, low), PORT));
    // Pools list endpoints by name, so that the number comes first.
    EndpointSpec::new(format!("{endpoint:05}/{group}"), address)
}

const PORT: u16 = 8000;

/// Far more than what counts as jitter of a start time.
const SECONDS_BETWEEN_STARTS: f64 = 1000.0;
