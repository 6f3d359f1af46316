use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::*;
use crate::workload::spec::WorkloadSpec;
use crate::workload::{Plan, Workload};

/// The agents of the reference simulation.
fn agents() -> Value {
    json!({
        "name": "agents",
        "sessions": 60,
        "arrivals": {"poisson": {"mean_gap_ms": 14}},
        "whole_ms": true,
        "steps": 12,
        "system": {"tokens": 1200},
        "step_tokens": 350,
        "output_tokens": {"uniform": [20, 80]},
        "think_ms": {"exponential": {"mean": 30}},
    })
}

fn planned(sessions: Value) -> Workload {
    let spec = WorkloadSpec::Sessions(serde_json::from_value(sessions).unwrap());
    Workload::plan(&[spec], &mut Pcg64Mcg::seed_from_u64(4))
}

/// The requests of each session, in order.
fn chains(workload: &Workload) -> Vec<Vec<&Plan>> {
    let chain = |first: usize| {
        let first = &workload.plans[first];
        core::iter::successors(Some(first), |plan| {
            plan.next.map(|next| &workload.plans[next.plan])
        })
        .collect()
    };
    let arrivals = workload.arrivals.iter();
    arrivals.map(|arrival| chain(arrival.plan)).collect()
}

#[test]
fn each_step_repeats_the_prompt_before_it_and_adds_to_it() {
    let workload = planned(agents());
    assert_eq!(workload.plans.len(), 720);
    let chains = chains(&workload);
    assert_eq!(chains.len(), 60);
    for (session, chain) in chains.iter().enumerate() {
        assert_eq!(chain.len(), 12);
        for (step, plan) in chain.iter().enumerate() {
            let end = 1200 + 350 * (step as u32 + 1);
            assert_eq!(plan.session, Some(session as u32));
            assert_eq!(plan.prompt_tokens.get(), end);
            assert_eq!(plan.pieces.last().unwrap().end_tokens, end);
            assert!((20..80).contains(&plan.output_tokens.get()));
        }
        for pair in chain.windows(2) {
            assert!(pair[1].pieces.starts_with(&pair[0].pieces));
            assert_eq!(pair[1].pieces.len(), pair[0].pieces.len() + 1);
        }
    }
}

#[test]
fn sessions_share_the_system_prompt_and_nothing_else() {
    let workload = planned(agents());
    let chains = chains(&workload);
    let last = |chain: &Vec<&Plan>| chain.last().unwrap().pieces.clone();
    let first = last(&chains[0]);
    for chain in &chains[1..] {
        let pieces = last(chain);
        assert_eq!(pieces[0], first[0]);
        assert!(pieces[1..].iter().all(|piece| !first.contains(piece)));
    }
}

#[test]
fn think_times_are_whole_milliseconds_with_the_mean() {
    let workload = planned(agents());
    let thinks: Vec<u128> = workload
        .plans
        .iter()
        .filter_map(|plan| Some(plan.next?.think.as_nanos()))
        .collect();
    assert_eq!(thinks.len(), 660);
    assert!(thinks.iter().all(|think| think % 1_000_000 == 0));
    let mean = thinks.iter().sum::<u128>() / 660 / 1_000_000;
    assert!((27..33).contains(&mean), "{mean}");
}

#[test]
fn steps_groups_and_adapters_belong_to_the_session() {
    let mut sessions = agents();
    sessions["sessions"] = json!(2000);
    sessions["steps"] = json!({"uniform": [1, 6]});
    sessions["system"] = json!({"groups": 3, "tokens": {"uniform": [1000, 2000]}});
    sessions["adapters"] = json!({"count": 4});
    let workload = planned(sessions);
    let chains = chains(&workload);
    let steps: usize = chains.iter().map(Vec::len).sum();
    assert!((5800..6200).contains(&steps), "{steps}");
    let mut systems = Vec::new();
    for chain in &chains {
        let (system, adapter) = (chain[0].pieces[0], chain[0].adapter);
        assert!(adapter.is_some());
        assert!(
            chain
                .iter()
                .all(|plan| plan.pieces[0] == system && plan.adapter == adapter)
        );
        if !systems.contains(&system) {
            systems.push(system);
        }
    }
    assert_eq!(systems.len(), 3);
}

#[test]
fn compaction_replaces_all_but_the_system_prompt() {
    let mut sessions = agents();
    sessions["sessions"] = json!(1);
    sessions["steps"] = json!(300);
    sessions["compaction"] = json!({"prompt_tokens_max": 5000, "summary_tokens": 400});
    let workload = planned(sessions);
    assert_eq!(workload.plans.len(), 300);
    let prompts: Vec<u32> = workload
        .plans
        .iter()
        .map(|plan| plan.prompt_tokens.get())
        .collect();
    // Ten steps fit at first, later a summary and nine.
    assert_eq!(prompts[9..12], [4700, 1950, 2300]);
    assert_eq!(prompts[18..20], [4750, 1950]);
    let (before, after) = (&workload.plans[9].pieces, &workload.plans[10].pieces);
    assert_eq!(after.len(), 3);
    assert_eq!(after[0], before[0]);
    assert!(!before.contains(&after[1]) && !before.contains(&after[2]));
}

#[test]
fn a_session_ends_before_its_prompt_is_too_long() {
    let mut sessions = agents();
    sessions["sessions"] = json!(1);
    sessions["steps"] = json!(1000);
    sessions["system"] = Value::Null;
    sessions["step_tokens"] = json!(30_000_000);
    let workload = planned(sessions);
    assert_eq!(workload.plans.len(), 10);
    assert_eq!(workload.plans[9].prompt_tokens.get(), PROMPT_TOKENS_MAX);
    assert_eq!(workload.plans[9].next, None);
}
