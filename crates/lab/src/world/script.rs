//! What the scenario demands at its times: endpoints that come and go, and faults.

use pointsman_domain::time::Timestamp;

use super::World;
use super::moments::What;
use crate::scenario::fault::Fault;

/// One thing that the scenario demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Joins(usize),
    Leaves(usize),
    Begins(usize),
    Ends(usize),
}

impl World<'_> {
    pub(super) fn schedule_script(&mut self) {
        for (endpoint, (_, group)) in self.setup.fleet.members().enumerate() {
            if group.join_ms.value() > 0.0 {
                self.demand(group.join_ms.moment(), Step::Joins(endpoint));
            }
            if let Some(leave) = group.leave_ms {
                self.demand(leave.moment(), Step::Leaves(endpoint));
            }
        }
        for (index, fault) in self.setup.faults.iter().enumerate() {
            let (from, to) = fault.times();
            self.demand(from, Step::Begins(index));
            if let Some(to) = to {
                self.demand(to, Step::Ends(index));
            }
        }
    }

    pub(super) fn play(&mut self, step: Step) {
        match step {
            Step::Joins(endpoint) | Step::Leaves(endpoint) => {
                self.engines.members[endpoint].present = matches!(step, Step::Joins(_));
                self.pickers.discover(self.now, &self.engines);
            }
            Step::Begins(index) => self.begins(self.setup.faults[index]),
            Step::Ends(index) => self.ends_fault(self.setup.faults[index]),
        }
    }

    fn begins(&mut self, fault: Fault) {
        let members = &mut self.engines.members;
        match fault {
            Fault::Errors {
                endpoint, after_ms, ..
            } => members[endpoint].condition.errors_after = Some(after_ms.duration()),
            Fault::Refuses { endpoint, .. } => members[endpoint].condition.refuses = true,
            Fault::Stalls { endpoint, .. } => {
                members[endpoint].condition.stalls_since = Some(self.now)
            }
            Fault::Unreadable { endpoint, .. } => members[endpoint].condition.unreadable = true,
            Fault::Restarts { endpoint, .. } => {
                let flights = &self.flights.flights;
                let lost = members[endpoint].restart(|plan| flights[plan].is_open);
                self.pickers.cache_cleared(self.now, endpoint);
                for plan in lost {
                    self.cut(plan);
                }
            }
            Fault::PickerRestarts { picker, .. } => self.picker_restarts(picker),
        }
    }

    /// Requests that are picked go on without it; those that wait for it are lost with it.
    fn picker_restarts(&mut self, picker: usize) {
        self.settle();
        self.pickers.restart(picker, self.now, &self.engines);
        for plan in 0..self.flights.flights.len() {
            let flight = &self.flights.flights[plan];
            let is_its = flight.picker.is_some_and(|(by, _)| by == picker);
            if flight.is_open && is_its && flight.record.picked.is_none() {
                self.cut(plan);
            }
        }
    }

    fn ends_fault(&mut self, fault: Fault) {
        let members = &mut self.engines.members;
        match fault {
            Fault::Errors { endpoint, .. } => members[endpoint].condition.errors_after = None,
            Fault::Refuses { endpoint, .. } => members[endpoint].condition.refuses = false,
            Fault::Unreadable { endpoint, .. } => members[endpoint].condition.unreadable = false,
            Fault::Stalls { endpoint, .. } => self.go_on(endpoint),
            Fault::Restarts { .. } | Fault::PickerRestarts { .. } => {}
        }
    }

    fn demand(&mut self, at: Timestamp, step: Step) {
        self.moments.push(at, What::Script(step));
    }
}
