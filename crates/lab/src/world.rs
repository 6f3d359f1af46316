//! The loop: one heap of moments, and everyone who lives by it.
//!
//! At one moment, things happen in a fixed order: steps of engines end, endpoints come and go, the
//! pickers scrape, requests arrive, the spread of load is measured, and engines begin their next
//! steps. This is the order of the founding article's ticks, so its tables can be reproduced to the
//! last bit; for continuous times it does not matter.

#![allow(
    clippy::indexing_slicing,
    reason = "places of requests, endpoints and pickers come from the scenario that made the tables"
)]

mod engines;
mod flights;
mod moments;
mod pickers;
mod requests;
mod scrapes;
mod script;
mod watch;

use pointsman_domain::load::PrefillRate;
use pointsman_domain::time::Timestamp;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use self::engines::Engines;
use self::flights::Flights;
use self::moments::{Moments, What};
use self::pickers::Pickers;
use self::watch::Watch;
use crate::outcome::{Outcome, Violation};
use crate::policy::Policy;
use crate::scenario::Setup;
use crate::workload::Workload;

/// One run of one case under one policy and one seed.
#[derive(Debug)]
pub struct World<'a> {
    setup: &'a Setup,
    now: Timestamp,
    moments: Moments,
    engines: Engines,
    pickers: Pickers,
    flights: Flights,
    watch: Watch,
}

impl<'a> World<'a> {
    /// The world before anything has happened.
    pub fn new(setup: &'a Setup, policy: &Policy, seed: u64) -> Self {
        let mut root = Pcg64Mcg::seed_from_u64(seed);
        // Each user has randomness of its own, so that none changes what another one draws.
        let mut stream = || Pcg64Mcg::seed_from_u64(root.random());
        let workload = Workload::plan(&setup.workloads, &mut stream());
        let mut runtime = policy.compiled.runtime.clone();
        if let Some(destinations) = setup.pickers.destinations {
            runtime.destinations_max = destinations.get() as usize;
        }
        if let Some(tokens) = setup.pickers.prefill_tokens_per_second {
            runtime.prefill_rate = PrefillRate::new(tokens);
        }
        let runtime = &runtime;
        let mut world = Self {
            setup,
            now: Timestamp::ZERO,
            moments: Moments::default(),
            engines: Engines::new(&setup.fleet, runtime),
            pickers: Pickers::new(setup, runtime, stream()),
            flights: Flights::new(setup, workload, root.random()),
            watch: Watch::default(),
        };
        world.schedule();
        world
    }

    /// Asks for the reasons of the pick of the request at this place of the plan.
    pub fn explain(&mut self, plan: usize) {
        self.watch.explained = Some(plan);
    }

    /// Sends each request, by its place in the plan, where another simulator sent it: the gateway's
    /// subset hint then names that endpoint only.
    pub fn follow(&mut self, picks: Vec<usize>) {
        self.flights.followed = picks;
    }

    /// Runs to the end: until nothing is left to happen, or to the scenario's end.
    pub fn run(mut self) -> Result<Outcome, Violation> {
        let end = self.setup.end_ms.moment();
        self.settle();
        while !self.flights.are_done() {
            let Some((at, what)) = self.moments.next() else {
                break;
            };
            if at > end {
                self.now = end;
                break;
            }
            self.now = at;
            self.happen(what);
            self.settle();
            if !self.moments.has_at(at) {
                self.begin_steps();
                self.settle();
                self.check()?;
            }
        }
        self.check_end()?;
        Ok(self.into_outcome())
    }

    fn happen(&mut self, what: What) {
        self.watch.moments += 1;
        match what {
            What::StepEnds(engine) => self.step_ends(engine),
            What::Script(step) => self.play(step),
            What::Scrape { picker } => self.scrape_all(picker),
            What::Report { picker, endpoint } => self.report(picker, endpoint),
            What::NextArrives => self.next_arrives(),
            What::Arrives(plan) => self.arrives(plan),
            What::Reaches(plan) => self.reaches(plan),
            What::Fails(plan) => self.fails(plan),
            What::Leaves(plan) => self.leaves(plan),
            What::Expires { picker } => self.pickers.expire(picker, self.now),
            What::Tick => self.tick(),
        }
    }

    /// What happens for reasons of its own, or first.
    fn schedule(&mut self) {
        self.pickers.start(&self.engines);
        self.schedule_script();
        self.schedule_scrapes();
        self.schedule_arrival();
        if self.setup.spread_until_ms.is_some() {
            self.watch.measures_spread = true;
            self.moments.push(Timestamp::ZERO, What::Tick);
        }
    }
}

#[cfg(test)]
mod tests;
