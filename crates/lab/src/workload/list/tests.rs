use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::*;
use crate::workload::Workload;
use crate::workload::spec::WorkloadSpec;

fn planned(requests: Value) -> Workload {
    let list = json!({"requests": requests});
    let spec = WorkloadSpec::List(serde_json::from_value(list).unwrap());
    Workload::plan(&[spec], &mut Pcg64Mcg::seed_from_u64(4))
}

#[test]
fn requests_come_as_they_are_written() {
    let workload = planned(json!([
        {"at_ms": 2.5, "prefix": {"key": 1, "tokens": 4000}, "suffix_tokens": 180, "output_tokens": 9},
        {"at_ms": 0, "prefix": {"key": 1, "tokens": 4000}, "suffix_tokens": 10, "output_tokens": 7},
        {"at_ms": 1, "prefix": {"key": 2, "tokens": 4000}, "suffix_tokens": 1, "output_tokens": 1},
        {"at_ms": 3, "suffix_tokens": 100, "output_tokens": 1, "adapter": 3},
    ]));
    let times: Vec<u64> = workload
        .arrivals
        .iter()
        .map(|arrival| arrival.at.as_nanos())
        .collect();
    assert_eq!(times, [0, 1_000_000, 2_500_000, 3_000_000]);
    let order: Vec<usize> = workload
        .arrivals
        .iter()
        .map(|arrival| arrival.plan)
        .collect();
    assert_eq!(order, [1, 2, 0, 3]);
    let [first, second, third, fourth] = &workload.plans[..] else {
        panic!("expected four plans");
    };
    assert_eq!(first.prompt_tokens.get(), 4180);
    assert_eq!(first.output_tokens.get(), 9);
    assert_eq!(first.pieces, second.pieces);
    assert_ne!(first.pieces[0].key, third.pieces[0].key);
    assert!(fourth.pieces.is_empty());
    assert_eq!(fourth.adapter, Some(AdapterId(3)));
}

#[test]
fn a_prefix_of_another_length_is_another_prefix() {
    let workload = planned(json!([
        {"at_ms": 0, "prefix": {"key": 1, "tokens": 10}, "suffix_tokens": 1, "output_tokens": 1},
        {"at_ms": 0, "prefix": {"key": 1, "tokens": 11}, "suffix_tokens": 1, "output_tokens": 1},
    ]));
    assert_ne!(
        workload.plans[0].pieces[0].key,
        workload.plans[1].pieces[0].key
    );
}

#[test]
fn a_request_can_be_repeated() {
    let workload = planned(json!([
        {"at_ms": 1, "suffix_tokens": 5, "output_tokens": 1, "repeat": 3, "repeat_every_ms": 0.5},
        {"at_ms": 1, "suffix_tokens": 6, "output_tokens": 1, "repeat": 2},
    ]));
    let times: Vec<u64> = workload
        .arrivals
        .iter()
        .map(|arrival| arrival.at.as_nanos())
        .collect();
    assert_eq!(
        times,
        [1_000_000, 1_000_000, 1_000_000, 1_500_000, 2_000_000]
    );
}
