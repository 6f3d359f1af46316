//! Every request of the run, from its plan to its end.

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::observation::ObservationMode;
use pointsman_domain::time::Timestamp;
use pointsman_engine::job::JobId;
use smallvec::SmallVec;

use super::World;
use super::moments::What;
use crate::outcome::{Ending, Record};
use crate::prompt;
use crate::scenario::{Observation, Setup};
use crate::workload::{Plan, Workload};

/// All requests, by their place in the plan.
#[derive(Debug)]
pub(super) struct Flights {
    pub(super) workload: Workload,
    pub(super) flights: Vec<Flight>,
    /// How many have come to an end.
    pub(super) ended: usize,
    /// Where each request must go; empty if pickers are free.
    pub(super) followed: Vec<usize>,
    next_arrival: usize,
    /// Decides, from a request's place alone, who leaves and who is sampled.
    seed: u64,
    observation: Observation,
    leaving_share: f64,
}

/// One request.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    pub(super) record: Record,
    /// Who picked, and in which of its lives.
    pub(super) picker: Option<(usize, u32)>,
    /// Where it may go, best first.
    pub(super) destinations: SmallVec<[(usize, EndpointId); 3]>,
    /// Which of those the gateway tries.
    pub(super) tries: usize,
    /// The life of an endpoint at which the picker counts it.
    pub(super) life: Option<EndpointId>,
    pub(super) job: Option<JobId>,
    pub(super) is_open: bool,
}

impl Flights {
    pub(super) fn new(setup: &Setup, workload: Workload, seed: u64) -> Self {
        Self {
            flights: vec![Flight::default(); workload.plans.len()],
            workload,
            ended: 0,
            followed: Vec::new(),
            next_arrival: 0,
            seed,
            observation: setup.observation,
            leaving_share: setup.leavers.map_or(0.0, |leavers| leavers.percent.share()),
        }
    }

    pub(super) fn are_done(&self) -> bool {
        self.ended == self.flights.len()
    }

    pub(super) fn plan(&self, plan: usize) -> &Plan {
        &self.workload.plans[plan]
    }

    /// How much the picker sees of the response to this request.
    pub(super) fn mode(&self, plan: usize) -> ObservationMode {
        match self.observation {
            Observation::Full => ObservationMode::Full,
            Observation::Sampled { percent } if self.chance(plan, 0) < percent.share() => {
                ObservationMode::Sampled
            }
            Observation::Sampled { .. } | Observation::HeadersOnly | Observation::EndOnly => {
                ObservationMode::HeadersOnly
            }
        }
    }

    /// Whether the picker sees the body of this request's response.
    pub(super) fn is_observed(&self, plan: usize) -> bool {
        self.mode(plan) != ObservationMode::HeadersOnly
    }

    /// Whether this request's client leaves.
    pub(super) fn is_leaving(&self, plan: usize) -> bool {
        self.chance(plan, 1) < self.leaving_share
    }

    /// The engine has begun with it.
    pub(super) fn admitted(&mut self, plan: usize, now: Timestamp, cached_tokens: u32) {
        let record = &mut self.flights[plan].record;
        record.admitted.get_or_insert(now);
        record.cached_tokens = cached_tokens;
    }

    /// Notes the end; what follows it in its session is returned.
    pub(super) fn end(&mut self, plan: usize, now: Timestamp, ending: Ending) -> Option<Following> {
        let flight = &mut self.flights[plan];
        flight.is_open = false;
        flight.record.ended = Some(now);
        flight.record.ending = ending;
        self.ended += 1;
        let next = self.workload.plans[plan].next?;
        if ending == Ending::Complete {
            let at = now.plus(next.think);
            return Some(Following {
                at,
                plan: next.plan,
            });
        }
        // Nobody asks the next question of an answer that never came.
        let mut unasked = Some(next);
        while let Some(next) = unasked {
            self.flights[next.plan].record.ending = Ending::Unasked;
            self.ended += 1;
            unasked = self.workload.plans[next.plan].next;
        }
        None
    }

    /// A number within 0 to 1 that only the seed and the request decide.
    pub(super) fn chance(&self, plan: usize, purpose: u64) -> f64 {
        let bits = prompt::mixed(self.seed ^ purpose, plan as u64);
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// The next request of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Following {
    pub(super) at: Timestamp,
    pub(super) plan: usize,
}

impl World<'_> {
    /// Only the next arrival is in the heap, as most runs have thousands.
    pub(super) fn schedule_arrival(&mut self) {
        let flights = &self.flights;
        if let Some(arrival) = flights.workload.arrivals.get(flights.next_arrival) {
            self.moments.push(arrival.at, What::NextArrives);
        }
    }

    pub(super) fn next_arrives(&mut self) {
        let plan = self.flights.workload.arrivals[self.flights.next_arrival].plan;
        self.flights.next_arrival += 1;
        self.schedule_arrival();
        self.arrives(plan);
    }
}
