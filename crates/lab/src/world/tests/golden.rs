//! The founding article's routing lab on its fitted trace: the rows of the reference simulation, bit
//! for bit, through the picker's own pool.

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::builtin;
use crate::measure::{Measures, quantile};
use crate::outcome::Outcome;
use crate::policy::{self, Policy};
use crate::world::World;

#[derive(Deserialize)]
struct Golden {
    rows: BTreeMap<String, Row>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Row {
    p50: f64,
    p95: f64,
    p99: f64,
    /// The 95th percentile of the time to the end.
    e95: f64,
    slo: f64,
    hit: f64,
    gap: f64,
    thr: f64,
    #[serde(rename = "T")]
    ticks: f64,
    util: Vec<f64>,
    /// Share of ticks with prefill.
    pf: Vec<f64>,
    /// Requests by endpoint.
    a: Vec<u32>,
}

#[test]
fn the_rows_of_rules_without_chance_are_those_of_the_reference_to_the_last_bit() {
    for (row, policy) in [
        ("rr", "round-robin"),
        ("lor", "least-outstanding-first"),
        ("lkv", "least-kv-first"),
        ("pa", "prefix-affinity-first"),
    ] {
        assert_eq!(simulated(policy, None), golden(row), "{policy}");
    }
}

#[test]
fn the_rows_of_rules_with_chance_are_exact_when_the_references_picks_are_replayed() {
    let picks = include_str!("../../../golden/lab1_picks.csv");
    for (column, row) in ["random", "p2c"].into_iter().enumerate() {
        let lines = picks.lines().skip(1);
        let of_line = |line: &str| line.split(',').nth(column).unwrap().parse().unwrap();
        let picks: Vec<usize> = lines.map(of_line).collect();
        assert_eq!(simulated("random", Some(picks)), golden(row), "{row}");
    }
}

fn golden(row: &str) -> Row {
    let text = include_str!("../../../golden/lab1_rows.json");
    let mut golden: Golden = serde_json::from_str(text).unwrap();
    golden.rows.remove(row).unwrap()
}

fn simulated(policy: &str, picks: Option<Vec<usize>>) -> Row {
    let scenario = builtin::find("s01").unwrap().scenario().unwrap();
    let setup = &scenario.case("golden").unwrap().setup;
    let policy = Policy::parse(policy, policy::find(policy).unwrap().text).unwrap();
    let mut world = World::new(setup, &policy, 1);
    if let Some(picks) = picks {
        world.follow(picks);
    }
    let outcome = world.run().unwrap();
    let measures = Measures::of(setup, &outcome);
    let get = |name: &str| measures.get(name).unwrap();
    let ticks = get("end_ms");
    let share_of_steps = |count: fn(&crate::outcome::EndpointOutcome) -> u64, digits: usize| {
        let of = |endpoint| rounded(count(endpoint) as f64 / ticks, digits);
        outcome.endpoints.iter().map(of).collect()
    };
    Row {
        p50: get("ttft_p50_ms"),
        p95: get("ttft_p95_ms"),
        p99: get("ttft_p99_ms"),
        e95: end_to_end(&outcome),
        slo: get("slo_share"),
        hit: get("cached_share"),
        gap: get("assignment_gap"),
        thr: get("output_tokens_per_ms"),
        ticks,
        util: share_of_steps(|endpoint| endpoint.totals.steps, 2),
        pf: share_of_steps(|endpoint| endpoint.totals.steps_with_prefill, 3),
        a: outcome.endpoints.iter().map(|e| e.assigned).collect(),
    }
}

fn end_to_end(outcome: &Outcome) -> f64 {
    let times = outcome.records.iter().map(|record| {
        let (arrived, ended) = (record.arrived.unwrap(), record.ended.unwrap());
        ended.since(arrived).as_millis() as f64
    });
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    quantile(&times, 0.95).unwrap()
}

fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.digits$}").parse().unwrap()
}
