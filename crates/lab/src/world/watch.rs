//! What is measured and checked while the world runs.

use core::time::Duration;
use std::collections::BTreeMap;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::Picked;
use pointsman_domain::time::Timestamp;
use pointsman_domain::units::Unit;

use super::World;
use super::moments::What;
use crate::outcome::{Ending, EndpointOutcome, Outcome, Seen, Spread, Violation};
use crate::prompt;

/// What has been seen so far.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The request whose pick is to be explained.
    pub(super) explained: Option<usize>,
    /// The explanation.
    pub(super) reasons: Option<Picked>,
    /// Moments so far.
    pub(super) moments: u64,
    next_check: u64,
    /// What pools have told of responses.
    pub(super) seen: Seen,
    /// Whether the spread of load is measured.
    pub(super) measures_spread: bool,
    /// Depends on every pick and every end, and on their order and times.
    digest: u64,
    spread: Spread,
    /// Endpoints that were picked since the last tick.
    picked_in_tick: Vec<usize>,
}

impl Watch {
    pub(super) fn picked(
        &mut self,
        now: Timestamp,
        plan: usize,
        destinations: &[(usize, EndpointId)],
    ) {
        self.note(now, plan as u64);
        for &(endpoint, _) in destinations {
            self.note(now, endpoint as u64);
        }
        let best = destinations.first();
        self.picked_in_tick
            .extend(best.map(|&(endpoint, _)| endpoint));
    }

    pub(super) fn ended(&mut self, now: Timestamp, plan: usize, ending: Ending) {
        self.note(now, plan as u64);
        self.note(now, ending as u64);
    }

    fn note(&mut self, now: Timestamp, what: u64) {
        let moment = prompt::mixed(now.as_nanos(), what);
        self.digest = prompt::mixed(self.digest ^ moment, 0);
    }
}

impl World<'_> {
    /// A millisecond is over.
    pub(super) fn tick(&mut self) {
        self.measure_spread();
        let next = self.now.plus(Duration::from_millis(1));
        let until = self.setup.spread_until_ms.unwrap_or_default();
        if next < until.moment() {
            self.moments.push(next, What::Tick);
        }
    }

    /// Differences between the busiest and the least busy endpoint, and picks that pile up.
    fn measure_spread(&mut self) {
        let present = self.engines.members.iter().filter(|member| member.present);
        let loads = present.map(|member| member.in_flight);
        let (least, most) = loads.fold((u32::MAX, 0), |(least, most), load| {
            (least.min(load), most.max(load))
        });
        let watch = &mut self.watch;
        watch.spread.by_tick.push(most.saturating_sub(least));
        if let Some((first, others)) = watch.picked_in_tick.split_first() {
            watch.spread.ticks_with_picks += 1;
            let piled = others.iter().all(|endpoint| endpoint == first);
            watch.spread.ticks_piled_up += u32::from(piled);
        }
        watch.picked_in_tick.clear();
    }

    /// What must hold after every moment.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        for (picker, member) in self.pickers.members.iter().enumerate() {
            let sizes = member.pool.sizes();
            let known = sizes.in_flight + sizes.held;
            if known != member.open {
                return Err(self.violation(format!(
                    "picker {picker} knows {known} requests, {} are open",
                    member.open
                )));
            }
            if sizes.held > 0 && sizes.endpoints > 0 {
                return Err(self.violation(format!(
                    "picker {picker} holds {} requests although there are endpoints",
                    sizes.held
                )));
            }
            if member.pool.next_deadline().is_some() && member.deadline.is_none() {
                return Err(self.violation(format!("picker {picker}'s deadline is not scheduled")));
            }
        }
        if self.moments.has_progress() || self.flights.are_done() {
            if self.watch.moments >= self.watch.next_check {
                self.check_loads()?;
                let requests = self.flights.flights.len() as u64;
                self.watch.next_check = self.watch.moments + requests.max(CHECK_ALL_EVERY_MIN);
            }
            return Ok(());
        }
        let left = self.flights.flights.len() - self.flights.ended;
        Err(self.violation(format!("{left} requests wait for nothing")))
    }

    /// What must hold when nothing is left to happen.
    pub(super) fn check_end(&self) -> Result<(), Violation> {
        self.check_loads()?;
        let decisions = self.flights.flights.iter().enumerate();
        for (plan, flight) in decisions {
            let once = u32::from(flight.record.picked.is_some())
                + u32::from(flight.record.ending == Ending::Refused);
            if flight.record.decisions != once {
                return Err(self.violation(format!(
                    "request {plan} has {} decisions",
                    flight.record.decisions
                )));
            }
        }
        Ok(())
    }

    /// Each ledger against the requests themselves, and each engine against its limits.
    pub(super) fn check_loads(&self) -> Result<(), Violation> {
        for picker in 0..self.pickers.members.len() {
            self.check_ledger(picker)?;
        }
        for (endpoint, member) in self.engines.members.iter().enumerate() {
            let stats = member.engine.stats();
            let slots = member.config.slots.get() as usize;
            if stats.kv_usage == Unit::ONE && stats.running == 0 {
                return Err(self.violation(format!("engine {endpoint} holds memory for nobody")));
            }
            if stats.running > slots {
                return Err(self.violation(format!(
                    "engine {endpoint} runs {} requests in {slots} slots",
                    stats.running
                )));
            }
        }
        Ok(())
    }

    fn check_ledger(&self, picker: usize) -> Result<(), Violation> {
        let mut open: BTreeMap<EndpointId, u32> = BTreeMap::new();
        let member = &self.pickers.members[picker];
        for flight in self.flights.flights.iter().filter(|flight| flight.is_open) {
            if let (Some((by, life)), Some(endpoint)) = (flight.picker, flight.life)
                && (by, life) == (picker, member.life)
            {
                *open.entry(endpoint).or_default() += 1;
            }
        }
        for state in member.pool.endpoints(self.now) {
            let there = open.get(&state.id).copied().unwrap_or_default();
            if state.own.requests != there {
                return Err(self.violation(format!(
                    "picker {picker} counts {} requests at endpoint {}, {there} are there",
                    state.own.requests, state.name
                )));
            }
        }
        Ok(())
    }

    fn violation(&self, what: String) -> Violation {
        Violation {
            at: self.now,
            moment: self.watch.moments,
            what,
        }
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let endpoints = self.engines.members.iter().map(|member| EndpointOutcome {
            group: member.group,
            assigned: member.assigned,
            totals: member.totals(),
        });
        let flights = self.flights.flights.into_iter();
        Outcome {
            endpoints: endpoints.collect(),
            records: flights.map(|flight| flight.record).collect(),
            workload: self.flights.workload,
            end: self.now,
            spread: self.watch.spread,
            seen: self.watch.seen,
            digest: self.watch.digest,
            moments: self.watch.moments,
            reasons: self.watch.reasons,
        }
    }
}

/// Looking at everything costs as much as some hundred moments, and more with more requests.
const CHECK_ALL_EVERY_MIN: u64 = 1024;
