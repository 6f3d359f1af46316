use core::num::NonZeroU32;

use rand::SeedableRng as _;
use serde_json::{Value, json};

use crate::workload::spec::WorkloadSpec;
use crate::workload::{Plan, Workload};

use super::*;

/// The routing lab of the founding article.
fn article() -> Value {
    json!({
        "requests": 20_000,
        "arrivals": {"poisson": {"mean_gap_ms": 5}},
        "whole_ms": true,
        "classes": [
            {
                "name": "short",
                "share": 0.8,
                "prefix": {"groups": 6, "zipf": 0.8, "tokens": {"uniform": [400, 480]}},
                "suffix_tokens": {"uniform": [36, 260]},
                "output_tokens": {"around": 80},
            },
            {
                "name": "long",
                "share": 0.2,
                "prefix": {"groups": 6, "zipf": 0.8, "tokens": {"uniform": [1800, 2500]}},
                "suffix_tokens": {"uniform": [200, 300]},
                "output_tokens": {"around": 600},
                "output_tokens_max": 700,
            },
        ],
    })
}

fn spec(mix: Value) -> WorkloadSpec {
    let mut spec = WorkloadSpec::Mix(serde_json::from_value(mix).unwrap());
    spec.load(&|file| Err(file.to_owned())).unwrap();
    spec
}

fn planned(mix: Value, seed: u64) -> Workload {
    Workload::plan(&[spec(mix)], &mut Pcg64Mcg::seed_from_u64(seed))
}

#[track_caller]
fn near(got: f64, expected: f64, tolerance: f64) {
    assert!(
        (got / expected - 1.0).abs() < tolerance,
        "{got}, not {expected}"
    );
}

fn mean(plans: &[&Plan], value: impl Fn(&Plan) -> u32) -> f64 {
    plans.iter().map(|plan| f64::from(value(plan))).sum::<f64>() / plans.len() as f64
}

#[test]
fn the_articles_mix_has_its_shares_lengths_and_popularity() {
    let workload = planned(article(), 1);
    assert_eq!(workload.plans.len(), 20_000);
    let (long, short): (Vec<_>, Vec<_>) = workload.plans.iter().partition(|plan| plan.class == 1);
    near(long.len() as f64, 4000.0, 0.05);
    let suffix = |plan: &Plan| plan.prompt_tokens.get() - plan.pieces[0].end_tokens;
    near(mean(&short, suffix), 147.5, 0.02);
    near(mean(&long, suffix), 249.5, 0.02);
    near(mean(&short, |plan| plan.output_tokens.get()), 79.5, 0.02);
    // A third of the answers would be longer than the limit: (2/3 * 500) + (1/3 * 700).
    near(mean(&long, |plan| plan.output_tokens.get()), 566.5, 0.02);
    assert!(long.iter().all(|plan| plan.output_tokens.get() <= 700));

    let mut groups: Vec<Piece> = Vec::new();
    let mut times: Vec<f64> = Vec::new();
    for piece in short.iter().map(|plan| plan.pieces[0]) {
        match groups.iter().position(|group| *group == piece) {
            Some(group) => times[group] += 1.0,
            None => {
                groups.push(piece);
                times.push(1.0);
            }
        }
    }
    assert_eq!(groups.len(), 6);
    assert!(
        groups
            .iter()
            .all(|group| (400..480).contains(&group.end_tokens))
    );
    times.sort_by(|a, b| b.total_cmp(a));
    let weights: Vec<f64> = (1..=6).map(|n| f64::from(n).powf(-0.8)).collect();
    let total: f64 = weights.iter().sum();
    for (times, weight) in times.iter().zip(weights) {
        near(*times, short.len() as f64 * weight / total, 0.07);
    }
}

#[test]
fn arrivals_have_the_rate_and_whole_milliseconds() {
    let mut mix = article();
    mix["start_ms"] = json!(1000);
    let arrivals = planned(mix, 1).arrivals;
    let last = arrivals.last().unwrap().at.as_nanos() as f64 / 1e6;
    near(last, 1000.0 + 100_000.0, 0.03);
    assert!(arrivals[0].at.as_nanos() >= 1_000_000_000);
    assert!(
        arrivals
            .iter()
            .all(|arrival| arrival.at.as_nanos() % 1_000_000 == 0)
    );
}

#[test]
fn another_rate_leaves_the_requests_as_they_are() {
    let slow = planned(article(), 1);
    let mut mix = article();
    mix["arrivals"] = json!({"gamma": {"mean_gap_ms": 1, "variation": 3}});
    let fast = planned(mix, 1);
    assert_eq!(slow.plans, fast.plans);
    assert_ne!(slow.arrivals, fast.arrivals);
}

#[test]
fn without_groups_nothing_is_shared() {
    let mix = json!({
        "requests": 10,
        "arrivals": {"constant": {"gap_ms": 1, "at_once": 2}},
        "classes": [{"name": "all", "share": 1, "suffix_tokens": 0, "output_tokens": 0}],
    });
    let workload = planned(mix, 1);
    let one = NonZeroU32::MIN;
    assert!(workload.plans.iter().all(|plan| {
        // A request of no tokens has one, so that an engine has something to do.
        plan.pieces.is_empty() && (plan.prompt_tokens, plan.output_tokens) == (one, one)
    }));
}

#[test]
fn a_short_answer_becomes_as_long_as_the_minimum() {
    let mix = json!({
        "requests": 1000,
        "arrivals": {"constant": {"gap_ms": 1}},
        "classes": [{
            "name": "all",
            "share": 1,
            "suffix_tokens": 1,
            "output_tokens": {"exponential": {"mean": 4}},
            "output_tokens_min": 4,
        }],
    });
    let outputs: Vec<u32> = planned(mix, 1)
        .plans
        .iter()
        .map(|plan| plan.output_tokens.get())
        .collect();
    let shortest = outputs.iter().filter(|&&output| output == 4).count();
    assert!(outputs.iter().all(|&output| output >= 4));
    // Those that were below 5 before they were rounded down.
    near(shortest as f64, 1000.0 * (1.0 - (-1.25_f64).exp()), 0.05);
}

#[test]
fn adapters_are_drawn_by_their_popularity() {
    let mut mix = article();
    mix["adapters"] = json!({"count": 12, "zipf": 1});
    let workload = planned(mix, 1);
    let mut times = [0.0; 12];
    for plan in &workload.plans {
        times[plan.adapter.unwrap().0 as usize] += 1.0;
    }
    let total: f64 = (1..=12).map(|n| 1.0 / f64::from(n)).sum();
    for (index, times) in times.iter().enumerate() {
        near(*times, 20_000.0 / (index as f64 + 1.0) / total, 0.12);
    }
}

#[test]
fn an_output_limit_below_the_other_is_refused() {
    let mut mix = article();
    mix["classes"][1]["output_tokens_min"] = json!(701);
    let mut spec = WorkloadSpec::Mix(serde_json::from_value(mix).unwrap());
    let error = spec.load(&|file| Err(file.to_owned())).unwrap_err();
    assert_eq!(
        error,
        "class `long`: output_tokens_min is above output_tokens_max"
    );
}
