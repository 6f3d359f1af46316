//! What no single field of a scenario can tell.

use super::Setup;
use super::fault::Fault;
use super::units::Millis;
use crate::workload::spec::class_names;

impl Setup {
    /// Says the first thing that is wrong.
    pub(super) fn check(&self) -> Result<(), String> {
        self.check_names()?;
        self.check_times()?;
        self.check_fleet()?;
        self.faults
            .iter()
            .try_for_each(|fault| self.check_fault(fault))?;
        self.check_overlaps()
    }

    /// Names stand in front of measures, so they must tell them apart.
    fn check_names(&self) -> Result<(), String> {
        let mut first = class_names(&self.workloads);
        first.extend(self.windows.iter().map(|window| window.name.clone()));
        let groups = self.fleet.groups.iter();
        let second = groups.map(|group| group.name.clone()).collect();
        for (mut names, whose) in [(first, "classes and windows"), (second, "groups")] {
            names.sort_unstable();
            if let Some(name) = repeated(&names) {
                return Err(format!("two {whose} have the name `{name}`"));
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), String> {
        let scrape = self.pickers.scrape_ms;
        if scrape > Millis::default() && scrape < SCRAPE_MS_MIN {
            return Err(format!(
                "pickers.scrape_ms is 0 or at least {}",
                SCRAPE_MS_MIN.value()
            ));
        }
        if scrape == Millis::default() && self.pickers.scrape_delay_ms > Millis::default() {
            return Err("pickers.scrape_delay_ms needs a scrape_ms above 0".to_owned());
        }
        if let Some(window) = self.windows.iter().find(|w| w.from_ms >= w.to_ms) {
            return Err(format!("window `{}` ends before it begins", window.name));
        }
        let spread = self.spread_until_ms.unwrap_or_default();
        if spread > SPREAD_MS_MAX {
            return Err(format!(
                "spread_until_ms is at most {}",
                SPREAD_MS_MAX.value()
            ));
        }
        Ok(())
    }

    fn check_fleet(&self) -> Result<(), String> {
        if self.fleet.endpoints() > ENDPOINTS_MAX {
            return Err(format!("a fleet has at most {ENDPOINTS_MAX} endpoints"));
        }
        if self.pickers.count.get() > PICKERS_MAX {
            return Err(format!("there are at most {PICKERS_MAX} pickers"));
        }
        let engine = &self.fleet.engine;
        if engine.adapter_slots.is_none() && engine.adapter_load_ms > Millis::default() {
            return Err("fleet.engine.adapter_load_ms needs adapter_slots".to_owned());
        }
        let leaves_early = |group: &&super::engine::Group| {
            group.leave_ms.is_some_and(|leave| leave <= group.join_ms)
        };
        match self.fleet.groups.iter().find(leaves_early) {
            Some(group) => Err(format!("group `{}` leaves before it joins", group.name)),
            None => Ok(()),
        }
    }

    fn check_fault(&self, fault: &Fault) -> Result<(), String> {
        let (from, to) = fault.times();
        if to.is_some_and(|to| to <= from) {
            return Err("a fault ends before it begins".to_owned());
        }
        let (what, named, there) = match fault.endpoint() {
            Some(endpoint) => ("endpoint", endpoint, self.fleet.endpoints()),
            None => ("picker", fault.picker(), self.pickers.count.get() as usize),
        };
        if named >= there {
            return Err(format!(
                "a fault names {what} {named}, there are {there}, counted from 0"
            ));
        }
        Ok(())
    }

    /// Of two faults of one kind at one endpoint the end of the first would end both.
    fn check_overlaps(&self) -> Result<(), String> {
        for (index, fault) in self.faults.iter().enumerate() {
            let (from, to) = fault.times();
            let overlapping = self.faults.iter().skip(index + 1).any(|other| {
                let (other_from, other_to) = other.times();
                fault.is_like(other)
                    && to.is_some_and(|to| other_from <= to)
                    && other_to.is_some_and(|other_to| from <= other_to)
            });
            if overlapping {
                return Err("two faults of one kind overlap at one endpoint".to_owned());
            }
        }
        Ok(())
    }
}

/// The first of the sorted `names` that is there twice.
pub(super) fn repeated<T: PartialEq>(names: &[T]) -> Option<&T> {
    let mut pairs = names.iter().zip(names.iter().skip(1));
    pairs.find_map(|(name, next)| (name == next).then_some(name))
}

/// Each has an address of its own.
const ENDPOINTS_MAX: usize = 65_536;

const PICKERS_MAX: u32 = 1024;

/// A run of seconds would scrape for hours.
const SCRAPE_MS_MIN: Millis = Millis::new(0.01);

/// Each millisecond is kept.
const SPREAD_MS_MAX: Millis = Millis::new(1e7);
