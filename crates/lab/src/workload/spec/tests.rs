use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Result<WorkloadSpec, String> {
    let error = |error: serde_path_to_error::Error<serde_json::Error>| {
        format!("{}: {}", error.path(), error.inner())
    };
    let mut spec: WorkloadSpec = serde_path_to_error::deserialize(value).map_err(error)?;
    spec.load(&|file| Err(format!("{file} is not there")))?;
    Ok(spec)
}

#[track_caller]
fn refused(value: Value, expected: &str) {
    let error = read(value).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

fn sessions(sessions: u32, steps: Value) -> Value {
    json!({"sessions": {
        "sessions": sessions,
        "arrivals": {"constant": {"gap_ms": 1}},
        "steps": steps,
        "step_tokens": 10,
        "output_tokens": 10,
        "think_ms": 0,
    }})
}

/// The block of YAML in the introduction of the module.
fn example() -> Vec<WorkloadSpec> {
    let text: String = include_str!("../spec.rs")
        .lines()
        .skip_while(|line| *line != "//! ```yaml")
        .skip(1)
        .take_while(|line| *line != "//! ```")
        .map(|line| {
            format!(
                "{}\n",
                line.trim_start_matches("//!").get(1..).unwrap_or("")
            )
        })
        .collect();
    let file: Value = serde_yaml::from_str(&text).unwrap();
    serde_json::from_value(file["workloads"].clone()).unwrap()
}

#[test]
fn the_example_in_the_introduction_is_valid() {
    let mut specs = example();
    for spec in &mut specs {
        spec.load(&|file| Err(file.to_owned())).unwrap();
    }
    assert_eq!(class_names(&specs), ["short", "sessions"]);
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    refused(
        json!({"mixed": {}}),
        "unknown variant `mixed`, expected one of `mix`",
    );
    refused(
        json!({"mix": {"requests": 0}}),
        "mix.requests: expected a whole number from 1",
    );
    refused(
        json!({"mix": {
            "requests": 1,
            "arrivals": {"poisson": {"mean_gap_ms": 0}},
            "classes": [],
        }}),
        "mix.arrivals.poisson.mean_gap_ms: expected a number above 0",
    );
    refused(
        json!({"mix": {
            "requests": 1,
            "arrivals": {"poisson": {"mean_gap_ms": 1}},
            "classes": [],
        }}),
        "mix.classes: expected at least one entry",
    );
    refused(
        json!({"mix": {"classes": [{"name": "a", "share": 1, "suffix_tokens": {"around": -1}}]}}),
        "mix.classes[0].suffix_tokens.around: expected a number above 0",
    );
    refused(
        json!({"mix": {"classes": [{"name": "a", "prefix": {"groups": 3, "tokns": 1}}]}}),
        "mix.classes[0].prefix.tokns: unknown field `tokns`",
    );
    refused(
        json!({"trace": {"format": "azure", "file": "a.csv"}}),
        "a.csv: a.csv is not there",
    );
}

#[test]
fn a_plan_that_is_too_large_is_refused_before_it_is_made() {
    assert!(read(sessions(1_000_000, json!(5))).is_ok());
    refused(sessions(3_000_000, json!(5)), "has about 15000000 requests");
    // Each step has the pieces of all steps before it.
    refused(
        sessions(1000, json!({"exponential": {"mean": 500}})),
        "has about 125750000 pieces of prompts",
    );
    let fan_out = |children: u32| {
        json!({"fan_out": {
            "parents": 10_000,
            "children": children,
            "arrivals": {"constant": {"gap_ms": 1}},
            "prefix_tokens": 10,
            "suffix_tokens": 10,
            "output_tokens": 10,
        }})
    };
    assert!(read(fan_out(1000)).is_ok());
    refused(fan_out(1001), "at most 10000000 are allowed");
    let request = json!({"at_ms": 0, "suffix_tokens": 1, "output_tokens": 1, "repeat": 10_000_000});
    refused(
        json!({"list": {"requests": [request, request]}}),
        "has about 20000000 requests",
    );
}
