//! The pickers: a pool each, and what each knows.

use std::collections::VecDeque;

use pointsman_domain::block::BlockKey;
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::EngineSample;
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::config::RuntimeConfig;
use pointsman_pipeline::pool::{Input, Output, Pool};
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

use super::engines::{Change, Engines};
use crate::scenario::{Assignment, Setup};

/// All pickers.
#[derive(Debug)]
pub(super) struct Pickers {
    pub(super) members: Vec<Picker>,
    /// What pools have answered and nobody has looked at yet.
    pub(super) outputs: VecDeque<(usize, Output)>,
    runtime: RuntimeConfig,
    assignment: Assignment,
    next: usize,
    rng: Pcg64Mcg,
    /// Reused by every input.
    answered: Vec<Output>,
}

/// One picker.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) pool: Pool,
    /// What the pool calls each endpoint.
    pub(super) ids: Vec<Option<EndpointId>>,
    /// Reports that are on their way.
    pub(super) reports: Vec<Option<EngineSample>>,
    /// Requests that were offered and have not ended.
    pub(super) open: usize,
    /// The deadline that is scheduled.
    pub(super) deadline: Option<Timestamp>,
    /// Counts its lives, so that what was meant for an earlier one is not taken for this one's.
    pub(super) life: u32,
}

impl Pickers {
    pub(super) fn new(setup: &Setup, runtime: &RuntimeConfig, mut rng: Pcg64Mcg) -> Self {
        let endpoints = setup.fleet.endpoints();
        let mut member = || Picker {
            pool: Pool::new(runtime.clone(), rng.random()),
            ids: vec![None; endpoints],
            reports: vec![None; endpoints],
            open: 0,
            deadline: None,
            life: 0,
        };
        let count = setup.pickers.count.get() as usize;
        let members = core::iter::repeat_with(&mut member).take(count).collect();
        Self {
            members,
            outputs: VecDeque::new(),
            runtime: runtime.clone(),
            assignment: setup.pickers.assignment,
            next: 0,
            rng,
            answered: Vec::new(),
        }
    }

    /// Tells every picker who is there.
    pub(super) fn start(&mut self, engines: &Engines) {
        for picker in 0..self.members.len() {
            self.introduce(picker, Timestamp::ZERO, engines);
        }
    }

    /// The picker's process restarts: it knows nothing but what discovery tells.
    pub(super) fn restart(&mut self, picker: usize, now: Timestamp, engines: &Engines) {
        let pool = Pool::new(self.runtime.clone(), self.rng.random());
        let member = &mut self.members[picker];
        member.pool = pool;
        member.ids.fill(None);
        member.reports.fill(None);
        member.open = 0;
        member.deadline = None;
        member.life += 1;
        self.introduce(picker, now, engines);
    }

    /// Which picker gets the next request. `chance`, within 0 to 1, is the request's own, so that it
    /// meets the same picker under every policy.
    pub(super) fn assign(&mut self, chance: f64) -> usize {
        let count = self.members.len();
        match self.assignment {
            Assignment::Random => ((chance * count as f64) as usize).min(count - 1),
            Assignment::RoundRobin => {
                let picker = self.next;
                self.next = (picker + 1) % count;
                picker
            }
        }
    }

    pub(super) fn input(&mut self, picker: usize, now: Timestamp, input: Input) {
        let pool = &mut self.members[picker].pool;
        pool.input(now, input, &mut self.answered);
        let answered = self.answered.drain(..).map(|output| (picker, output));
        self.outputs.extend(answered);
    }

    pub(super) fn expire(&mut self, picker: usize, now: Timestamp) {
        self.members[picker].deadline = None;
        self.input(picker, now, Input::Expire);
    }

    /// Discovery's whole set, to every picker.
    pub(super) fn discover(&mut self, now: Timestamp, engines: &Engines) {
        for picker in 0..self.members.len() {
            self.input(picker, now, Input::Endpoints(engines.specs()));
        }
    }

    pub(super) fn cache_changed(
        &mut self,
        now: Timestamp,
        endpoint: usize,
        keys: &[BlockKey],
        change: Change,
    ) {
        for picker in 0..self.members.len() {
            self.tell_cache(picker, now, endpoint, keys, change);
        }
    }

    /// Tells one picker.
    pub(super) fn tell_cache(
        &mut self,
        picker: usize,
        now: Timestamp,
        endpoint: usize,
        keys: &[BlockKey],
        change: Change,
    ) {
        let Some(id) = self.members[picker].ids[endpoint] else {
            return;
        };
        let keys = keys.to_vec();
        let input = match change {
            Change::Stored => Input::CacheStored { endpoint: id, keys },
            Change::Removed => Input::CacheRemoved { endpoint: id, keys },
        };
        self.input(picker, now, input);
    }

    /// The engine's cache is empty.
    pub(super) fn cache_cleared(&mut self, now: Timestamp, endpoint: usize) {
        for picker in 0..self.members.len() {
            if let Some(id) = self.members[picker].ids[endpoint] {
                self.input(picker, now, Input::CacheCleared(id));
            }
        }
    }

    fn introduce(&mut self, picker: usize, now: Timestamp, engines: &Engines) {
        let pickers = u32::try_from(self.members.len()).unwrap_or(u32::MAX);
        if let Some(pickers) = core::num::NonZeroU32::new(pickers) {
            self.input(picker, now, Input::Pickers(pickers));
        }
        self.input(picker, now, Input::Endpoints(engines.specs()));
    }
}
