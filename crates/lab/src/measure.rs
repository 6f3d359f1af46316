//! Numbers of a run.
//!
//! Times are in milliseconds, which are the founding article's ticks. Measures of a window or of a
//! group of endpoints have its name in front: `join.ttft_p95_ms`, `join.new.share`.

use std::collections::{BTreeMap, BTreeSet};

use pointsman_domain::time::Timestamp;

use crate::outcome::{Ending, Outcome, Record};
use crate::scenario::Setup;
use crate::workload::Plan;
use crate::workload::spec::class_names;

/// The measures of one run, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures(BTreeMap<String, f64>);

impl Measures {
    /// All measures of a run.
    pub fn of(setup: &Setup, outcome: &Outcome) -> Self {
        let mut measures = Self::default();
        let all = Requests::all(outcome);
        measures.requests("", setup, &all);
        measures.fleet(setup, outcome, &all);
        measures.spread(outcome);
        measures.sessions(outcome);
        measures.moves("", &all, &all);
        for window in &setup.windows {
            let within = window.from_ms.moment()..window.to_ms.moment();
            let part =
                all.filter(|_, record| record.arrived.is_some_and(|at| within.contains(&at)));
            let prefix = format!("{}.", window.name);
            measures.requests(&prefix, setup, &part);
            measures.moves(&prefix, &all, &part);
            for (index, group) in setup.fleet.groups.iter().enumerate() {
                let endpoints = &outcome.endpoints;
                let here = part.filter(|_, record| {
                    let endpoint = record.endpoint.and_then(|e| endpoints.get(e));
                    endpoint.is_some_and(|endpoint| endpoint.group == index)
                });
                let prefix = format!("{prefix}{}.", group.name);
                measures.requests(&prefix, setup, &here);
                measures.set(&prefix, "share", ratio(here.len(), part.len()));
            }
        }
        let classes = class_names(&setup.workloads);
        if classes.len() > 1 {
            for (index, class) in classes.iter().enumerate() {
                let part = all.filter(|plan, _| plan.class == index);
                measures.requests(&format!("{class}."), setup, &part);
            }
        }
        measures
    }

    /// The measure of this name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(name, &value)| (name.as_str(), value))
    }
}

impl Measures {
    fn requests(&mut self, prefix: &str, setup: &Setup, part: &Requests<'_>) {
        let ttft = part.millis(|record| (record.arrived, record.first_token));
        let e2e = part.millis(|record| (record.arrived, record.ended_well()));
        self.set(prefix, "requests", part.len() as f64);
        for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            self.set_some(prefix, &format!("ttft_{name}_ms"), quantile(&ttft, share));
            self.set_some(prefix, &format!("e2e_{name}_ms"), quantile(&e2e, share));
        }
        let tpot = part.time_per_output_token();
        self.set_some(prefix, "tpot_p50_ms", quantile(&tpot, 0.5));
        self.set_some(prefix, "tpot_p95_ms", quantile(&tpot, 0.95));
        let slo = setup.slo_ttft_ms.value();
        let good = ttft.iter().filter(|&&millis| millis <= slo).count();
        self.set(prefix, "slo_share", ratio(good, part.len()));
        for (name, ending) in [
            ("complete_share", Ending::Complete),
            ("open_share", Ending::Open),
            ("fail_share", Ending::Failed),
            ("refused_share", Ending::Refused),
        ] {
            let count = part.filter(|_, record| record.ending == ending).len();
            self.set(prefix, name, ratio(count, part.len()));
        }
        let prompt: u64 = part.sum(|plan, _| plan.prompt_tokens.get());
        let cached: u64 = part.sum(|_, record| record.cached_tokens);
        self.set(prefix, "cached_share", cached as f64 / prompt as f64);
        self.set(prefix, "prefill_tokens", (prompt - cached) as f64);
        let hits = part.filter(|_, record| record.cached_tokens > 0).len();
        self.set(prefix, "hits", hits as f64);
        let wait = part.millis(|record| (record.arrived, record.admitted));
        let service = part.millis(|record| (record.admitted, record.ended_well()));
        self.set(prefix, "wait_per_service", mean(&wait) / mean(&service));
    }

    fn fleet(&mut self, setup: &Setup, outcome: &Outcome, all: &Requests<'_>) {
        let assigned = || outcome.endpoints.iter().map(|endpoint| endpoint.assigned);
        let (most, least) = (assigned().max().unwrap_or(0), assigned().min().unwrap_or(0));
        self.set("", "assignment_gap", f64::from(most - least));
        self.set("", "assigned_most", f64::from(most));
        self.set("", "share_most", f64::from(most) / all.len() as f64);
        let end = millis(outcome.end);
        self.set("", "end_ms", end);
        let total = |count: fn(&pointsman_engine::stats::EngineTotals) -> u64| {
            let counts = outcome.endpoints.iter().map(|e| count(&e.totals));
            counts.sum::<u64>() as f64
        };
        self.set(
            "",
            "output_tokens_per_ms",
            total(|t| t.generation_tokens) / end,
        );
        let retries: u64 = all.sum(|_, record| record.retries);
        self.set("", "retries", retries as f64);
        self.set("", "preemptions", total(|t| t.preemptions));
        self.set(
            "",
            "adapter_loads_per_request",
            total(|t| t.adapter_loads) / all.len() as f64,
        );
        let steps = total(|t| t.steps);
        self.set("", "steps", steps);
        self.set(
            "",
            "steps_without_decode",
            total(|t| t.steps_without_decode),
        );
        let slots = f64::from(setup.fleet.engine.slots.get());
        self.set("", "slot_share", total(|t| t.slot_steps) / (slots * steps));
    }

    fn spread(&mut self, outcome: &Outcome) {
        let spread = &outcome.spread;
        let Some(&most) = spread.by_tick.iter().max() else {
            return;
        };
        let values: Vec<f64> = spread.by_tick.iter().map(|&v| f64::from(v)).collect();
        let pairs = values.iter().zip(values.iter().skip(1));
        let changes: Vec<f64> = pairs
            .map(|(before, after)| (before - after).abs())
            .collect();
        self.set("", "spread_most", f64::from(most));
        self.set("", "spread_mean", mean(&values));
        self.set("", "spread_change_mean", mean(&changes));
        let piled_up = ratio(
            spread.ticks_piled_up as usize,
            spread.ticks_with_picks as usize,
        );
        self.set("", "pile_up_share", piled_up);
    }

    /// From the first question of a session to its last answer.
    fn sessions(&mut self, outcome: &Outcome) {
        let mut sessions: BTreeMap<u32, Option<(Timestamp, Timestamp)>> = BTreeMap::new();
        for (plan, record) in outcome.workload.plans.iter().zip(&outcome.records) {
            let Some(session) = plan.session else {
                continue;
            };
            let times = record.arrived.zip(record.ended_well());
            sessions
                .entry(session)
                .and_modify(|known| {
                    // One question without an answer leaves the session without an end.
                    *known = known.zip(times).map(|((first, last), (arrived, ended))| {
                        (first.min(arrived), last.max(ended))
                    });
                })
                .or_insert(times);
        }
        let lengths = sessions.values().flatten();
        let mut lengths: Vec<f64> = lengths.map(|&(first, last)| span(first, last)).collect();
        lengths.sort_by(f64::total_cmp);
        for (name, share) in [("session_p50_ms", 0.5), ("session_p95_ms", 0.95)] {
            self.set_some("", name, quantile(&lengths, share));
        }
    }

    /// Of the requests of `part` whose prefix was sent somewhere before, the share that went to
    /// another endpoint than the last one with it.
    fn moves(&mut self, prefix: &str, all: &Requests<'_>, part: &Requests<'_>) {
        let counted: BTreeSet<_> = part
            .0
            .iter()
            .map(|(plan, _)| core::ptr::from_ref(*plan))
            .collect();
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        let (mut again, mut moved) = (0, 0);
        let mut in_order: Vec<_> = all.0.iter().filter(|(_, r)| r.picked.is_some()).collect();
        in_order.sort_by_key(|(_, record)| record.picked);
        for (plan, record) in in_order {
            let (Some(piece), Some(endpoint)) = (plan.pieces.first(), record.endpoint) else {
                continue;
            };
            let before = last.insert(piece.key.0, endpoint);
            if let Some(before) = before
                && counted.contains(&core::ptr::from_ref(*plan))
            {
                again += 1;
                moved += usize::from(before != endpoint);
            }
        }
        if again > 0 {
            self.set(prefix, "moved_share", ratio(moved, again));
        }
    }

    fn set(&mut self, prefix: &str, name: &str, value: f64) {
        self.0.insert(format!("{prefix}{name}"), value);
    }

    fn set_some(&mut self, prefix: &str, name: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.set(prefix, name, value);
        }
    }
}

impl FromIterator<(String, f64)> for Measures {
    fn from_iter<T: IntoIterator<Item = (String, f64)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

/// Requests that came, with what became of them.
struct Requests<'a>(Vec<(&'a Plan, &'a Record)>);

impl<'a> Requests<'a> {
    fn all(outcome: &'a Outcome) -> Self {
        let all = outcome.workload.plans.iter().zip(&outcome.records);
        Self(all.filter(|(_, record)| record.arrived.is_some()).collect())
    }

    fn filter(&self, keep: impl Fn(&Plan, &Record) -> bool) -> Self {
        let kept = self.0.iter().filter(|(plan, record)| keep(plan, record));
        Self(kept.copied().collect())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn sum(&self, value: impl Fn(&Plan, &Record) -> u32) -> u64 {
        let values = self.0.iter().map(|(plan, record)| value(plan, record));
        values.map(u64::from).sum()
    }

    /// Sorted times from one moment of a request to another, of those that had both.
    fn millis(&self, of: impl Fn(&Record) -> (Option<Timestamp>, Option<Timestamp>)) -> Vec<f64> {
        let times = self.0.iter().filter_map(|(_, record)| {
            let (from, to) = of(record);
            Some(span(from?, to?))
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        times
    }

    fn time_per_output_token(&self) -> Vec<f64> {
        let times = self.0.iter().filter_map(|(plan, record)| {
            let later_tokens = plan.output_tokens.get() - 1;
            let decoding = span(record.first_token?, record.ended_well()?);
            (later_tokens > 0).then(|| decoding / f64::from(later_tokens))
        });
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

impl Record {
    /// When the whole answer had come.
    fn ended_well(&self) -> Option<Timestamp> {
        self.ended.filter(|_| self.ending == Ending::Complete)
    }
}

/// The value below which this share of the sorted `values` lies, interpolated between the two nearest
/// ones; `None` of no values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let place = share * values.len().checked_sub(1)? as f64;
    let below = place as usize;
    let low = *values.get(below)?;
    let high = values.get(below + 1).copied().unwrap_or(low);
    Some(low + (place - below as f64) * (high - low))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

fn span(from: Timestamp, to: Timestamp) -> f64 {
    millis(to) - millis(from)
}

/// Milliseconds since the begin of the run. Whole ones come out exact.
fn millis(at: Timestamp) -> f64 {
    at.as_nanos() as f64 / 1e6
}

#[cfg(test)]
mod tests;
