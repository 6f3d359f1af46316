use proptest::prelude::*;
use rand::SeedableRng as _;
use serde_json::{Value, json};

use super::*;

fn specs(values: Value) -> Vec<WorkloadSpec> {
    let mut specs: Vec<WorkloadSpec> = serde_json::from_value(values).unwrap();
    for spec in &mut specs {
        spec.load(&|_| Ok(TRACE.to_owned())).unwrap();
    }
    specs
}

fn planned(specs: &[WorkloadSpec], seed: u64) -> Workload {
    Workload::plan(specs, &mut Pcg64Mcg::seed_from_u64(seed))
}

fn mix() -> Value {
    json!({"mix": {
        "requests": 30,
        "arrivals": {"poisson": {"mean_gap_ms": 5}},
        "classes": [
            {
                "name": "short",
                "share": 0.8,
                "prefix": {"groups": 3, "tokens": 400},
                "suffix_tokens": 60,
                "output_tokens": {"around": 80},
            },
            {"name": "long", "share": 0.2, "suffix_tokens": 900, "output_tokens": 300},
        ],
    }})
}

fn sessions() -> Value {
    json!({"sessions": {
        "sessions": 5,
        "arrivals": {"poisson": {"mean_gap_ms": 20}},
        "steps": 4,
        "step_tokens": 100,
        "output_tokens": 50,
        "think_ms": 10,
    }})
}

#[test]
fn a_seed_gives_one_plan_and_another_seed_another() {
    let specs = specs(json!([mix(), sessions()]));
    assert_eq!(planned(&specs, 7), planned(&specs, 7));
    assert_ne!(planned(&specs, 7), planned(&specs, 8));
}

#[test]
fn specifications_are_planned_side_by_side() {
    let specs = specs(json!([sessions(), mix(), sessions(), mix()]));
    let workload = planned(&specs, 7);
    assert_eq!(workload.plans.len(), 2 * (20 + 30));
    assert_eq!(workload.arrivals.len(), 2 * (5 + 30));
    let names = spec::class_names(&specs);
    assert_eq!(
        names,
        ["sessions", "short", "long", "sessions", "short", "long"]
    );
    let of_class = |class: usize| {
        let plans = workload
            .plans
            .iter()
            .filter(move |plan| plan.class == class);
        plans.collect::<Vec<_>>()
    };
    for (first, second) in [(0, 3), (1, 4)] {
        let (first, second) = (of_class(first), of_class(second));
        let keys = |plans: &[&Plan]| -> Vec<BlockKey> {
            let pieces = plans.iter().flat_map(|plan| &plan.pieces);
            pieces.map(|piece| piece.key).collect()
        };
        let (keys_of_first, keys_of_second) = (keys(&first), keys(&second));
        assert!(!keys_of_first.is_empty());
        assert!(
            keys_of_second
                .iter()
                .all(|key| !keys_of_first.contains(key))
        );
        assert!(first.iter().all(|one| {
            let others = second.iter();
            one.session.is_none() || others.clone().all(|other| one.session != other.session)
        }));
    }
}

#[test]
fn requests_of_one_moment_stay_in_the_order_of_the_specifications() {
    let at_once = |name: &str| {
        json!({"list": {"name": name, "requests": [
            {"at_ms": 1, "suffix_tokens": 1, "output_tokens": 1, "repeat": 2},
        ]}})
    };
    let workload = planned(&specs(json!([at_once("a"), at_once("b")])), 7);
    let order: Vec<usize> = workload
        .arrivals
        .iter()
        .map(|arrival| arrival.plan)
        .collect();
    assert_eq!(order, [0, 1, 2, 3]);
}

#[test]
fn a_later_specification_leaves_the_earlier_ones_as_they_are() {
    let alone = planned(&specs(json!([mix()])), 7);
    let together = planned(&specs(json!([mix(), sessions()])), 7);
    assert_eq!(together.plans[..30], alone.plans);
}

proptest! {
    #[test]
    fn every_plan_is_sound(values in proptest::collection::vec(any_spec(), 1..5), seed: u64) {
        let specs = specs(Value::Array(values));
        let workload = planned(&specs, seed);
        prop_assert!(workload.arrivals.is_sorted_by_key(|arrival| arrival.at));
        let classes = spec::class_names(&specs).len();
        let mut reached = vec![0; workload.plans.len()];
        for arrival in &workload.arrivals {
            reached[arrival.plan] += 1;
        }
        for (place, plan) in workload.plans.iter().enumerate() {
            prop_assert!(plan.class < classes);
            let ends = plan.pieces.iter().map(|piece| piece.end_tokens);
            let ends: Vec<u32> = core::iter::once(0).chain(ends).collect();
            prop_assert!(ends.is_sorted_by(|a, b| a < b), "{:?}", ends);
            prop_assert!(ends.last().is_some_and(|&end| end <= plan.prompt_tokens.get()));
            prop_assert!(plan.pieces.iter().all(|piece| piece.key.0 != 0));
            if let Some(next) = plan.next {
                prop_assert!(next.plan > place, "a chain has no circle");
                reached[next.plan] += 1;
                prop_assert_eq!(workload.plans[next.plan].session, plan.session);
            }
        }
        prop_assert!(reached.iter().all(|&times| times == 1));
    }

    #[test]
    fn no_trace_text_is_too_strange(text in any_trace()) {
        for format in ["mooncake", "azure", "burst_gpt", "prefix_groups"] {
            let spec = json!({"trace": {"format": format, "file": "a"}});
            let mut spec: WorkloadSpec = serde_json::from_value(spec).unwrap();
            let loaded = spec.load(&|_| Ok(text.clone()));
            prop_assert!(loaded.is_ok() || loaded.is_err_and(|error| error.starts_with("a: ")));
        }
    }
}

fn any_distribution() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..3000_u32).prop_map(|value| json!(value)),
        (0..500_u32, 0..500_u32).prop_map(|(low, more)| json!({"uniform": [low, low + more]})),
        (0.1..500.0).prop_map(|mean| json!({"around": mean})),
        (0.1..500.0).prop_map(|mean| json!({"exponential": {"mean": mean}})),
        (0.1..500.0, 0.0..9.0)
            .prop_map(|(mean, sigma)| { json!({"lognormal": {"mean": mean, "sigma": sigma}}) }),
        (0.1..500.0, 0.0..9.0).prop_map(|(mean, variation)| {
            json!({"gamma": {"mean": mean, "variation": variation}})
        }),
        (0.1..500.0, 1.0..90.0).prop_map(|(mean, squared)| {
            json!({"two_phase": {"mean": mean, "variation_squared": squared}})
        }),
    ]
}

fn any_arrivals() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0.01..50.0).prop_map(|gap| json!({"poisson": {"mean_gap_ms": gap}})),
        (0.01..50.0, 0.0..9.0).prop_map(|(gap, variation)| {
            json!({"gamma": {"mean_gap_ms": gap, "variation": variation}})
        }),
        (0.01..50.0, 1..5_u32).prop_map(|(gap, at_once)| {
            json!({"constant": {"gap_ms": gap, "at_once": at_once}})
        }),
    ]
}

fn any_prefix() -> impl Strategy<Value = Value> {
    let prefix = (1..5_u32, 0.0..3.0, any_distribution()).prop_map(
        |(groups, zipf, tokens)| json!({"groups": groups, "zipf": zipf, "tokens": tokens}),
    );
    prop_oneof![Just(Value::Null), prefix]
}

/// A specification of any kind.
fn any_spec() -> impl Strategy<Value = Value> {
    let numbers = (0..6_u32, 1..20_u32, 0..500_u32, any::<bool>());
    let lengths = (any_distribution(), any_distribution(), any_distribution());
    (numbers, any_arrivals(), any_prefix(), lengths).prop_map(
        |((kind, count, start_ms, whole_ms), arrivals, prefix, (first, second, third))| {
            let (kind, mut spec) = match kind {
                0 => (
                    "mix",
                    json!({"requests": count, "classes": [
                        {
                            "name": "a",
                            "share": 1,
                            "prefix": prefix,
                            "suffix_tokens": first,
                            "output_tokens": second,
                        },
                        {"name": "b", "share": 2, "suffix_tokens": third, "output_tokens": 1},
                    ]}),
                ),
                1 => (
                    "sessions",
                    json!({
                        "sessions": count,
                        "steps": {"uniform": [0, 9]},
                        "system": prefix,
                        "step_tokens": first,
                        "output_tokens": second,
                        "think_ms": third,
                        "compaction": {"prompt_tokens_max": 2000, "summary_tokens": third},
                    }),
                ),
                2 => (
                    "rag",
                    json!({
                        "questions": count,
                        "system": prefix,
                        "question_tokens": first,
                        "query_tokens": second,
                        "retrieval_ms": third,
                        "documents": {"count": count, "tokens": second, "found": 5},
                        "output_tokens": first,
                    }),
                ),
                3 => (
                    "fan_out",
                    json!({
                        "parents": count,
                        "children": 3,
                        "prefix_tokens": first,
                        "suffix_tokens": second,
                        "output_tokens": third,
                    }),
                ),
                4 => return listed(count, start_ms),
                _ => return json!({"trace": {"format": "mooncake", "file": "a"}}),
            };
            spec["arrivals"] = arrivals;
            spec["start_ms"] = json!(start_ms);
            spec["whole_ms"] = json!(whole_ms);
            spec["adapters"] = json!({"count": count});
            json!({kind: spec})
        },
    )
}

fn listed(count: u32, at_ms: u32) -> Value {
    let request = json!({
        "at_ms": at_ms,
        "prefix": {"key": 0, "tokens": count},
        "suffix_tokens": count,
        "output_tokens": 1,
        "repeat": count,
    });
    json!({"list": {"requests": [request, request]}})
}

/// Lines that are nearly right, in any order, and others.
fn any_trace() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("arrival_tick,prompt,prefix,group,output,long".to_owned()),
        Just("TIMESTAMP,ContextTokens,GeneratedTokens".to_owned()),
        Just("Timestamp,Request tokens,Response tokens".to_owned()),
        "[0-9]{1,12}(,[0-9]{0,9}){2,6}",
        "20[0-9]{2}-1[0-9]-[0-3][0-9] [0-2][0-9]:[0-9]{2}:59\\.[0-9]{1,10},[0-9]{1,4},[0-9]{1,4}",
        (any::<f64>(), any::<u32>(), any::<u32>(), any::<Vec<u64>>()).prop_map(
            |(timestamp, input_length, output_length, hash_ids)| {
                json!({
                    "timestamp": timestamp,
                    "input_length": input_length,
                    "output_length": output_length,
                    "hash_ids": hash_ids,
                })
                .to_string()
            }
        ),
        any::<String>(),
    ];
    proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
}

const TRACE: &str = concat!(
    r#"{"timestamp": 9, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}"#,
    "\n",
    r#"{"timestamp": 3, "input_length": 1024, "output_length": 7, "hash_ids": [0, 1]}"#,
);
