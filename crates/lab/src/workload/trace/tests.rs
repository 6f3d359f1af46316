use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::*;
use crate::workload::Workload;
use crate::workload::spec::WorkloadSpec;

fn loaded(spec: Value, text: &str) -> Result<TraceSpec, String> {
    let mut spec: TraceSpec = serde_json::from_value(spec).unwrap();
    spec.load(&|file| {
        assert_eq!(file, "a.trace");
        Ok(text.to_owned())
    })?;
    Ok(spec)
}

fn of_format(format: &str) -> Value {
    json!({"format": format, "file": "a.trace"})
}

fn planned(spec: TraceSpec) -> Workload {
    let spec = WorkloadSpec::Trace(spec);
    Workload::plan(&[spec], &mut Pcg64Mcg::seed_from_u64(4))
}

/// Time in microseconds, prompt and answer of each request.
fn requests(workload: &Workload) -> Vec<(u64, u32, u32)> {
    let arrivals = workload.arrivals.iter();
    arrivals
        .map(|arrival| {
            let plan = &workload.plans[arrival.plan];
            let micros = arrival.at.as_nanos() / 1000;
            (micros, plan.prompt_tokens.get(), plan.output_tokens.get())
        })
        .collect()
}

#[track_caller]
fn refused(format: &str, text: &str, expected: &str) {
    assert_eq!(loaded(of_format(format), text).unwrap_err(), expected);
}

#[test]
fn the_reference_trace_is_read_to_the_last_token() {
    let text = include_str!("../../../golden/lab1_trace.csv");
    let spec = loaded(of_format("prefix_groups"), text).unwrap();
    assert_eq!(spec.skipped(), 0);
    assert_eq!(spec.class_names(), ["short", "long"]);
    let workload = planned(spec);
    let plans = &workload.plans;
    let sum = |value: &dyn Fn(&crate::workload::Plan) -> u32| plans.iter().map(value).sum::<u32>();
    assert_eq!(plans.len(), 160);
    // A mean of 953.2 tokens.
    assert_eq!(sum(&|plan| plan.prompt_tokens.get()), 152_513);
    assert_eq!(sum(&|plan| plan.output_tokens.get()), 27_310);
    assert_eq!(sum(&|plan| plan.pieces[0].end_tokens), 125_799);
    assert_eq!(sum(&|plan| plan.class as u32), 32);
    let mut groups: Vec<_> = plans.iter().map(|plan| plan.pieces[0].key).collect();
    groups.sort_unstable();
    groups.dedup();
    assert_eq!(groups.len(), 12);
    let millis = |arrival: &crate::workload::Arrival| arrival.at.as_nanos() / 1_000_000;
    assert_eq!(workload.arrivals.iter().map(millis).sum::<u64>(), 62_637);
    assert_eq!(millis(&workload.arrivals[0]), 8);
}

#[test]
fn mooncake_blocks_are_pieces() {
    let text = concat!(
        r#"{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}"#,
        "\r\n\n",
        r#"{"timestamp": 3000, "input_length": 1024, "output_length": 7, "hash_ids": [0, 1], "x": 1}"#,
        "\n",
        // The number of a block beyond the prompt's end, and a prompt that shares nothing.
        r#"{"timestamp": 1500.5, "input_length": 512, "output_length": 1, "hash_ids": [4, 1]}"#,
        "\n",
        r#"{"timestamp": 3000, "input_length": 10, "output_length": 1}"#,
        "\n",
        r#"{"timestamp": 3000, "input_length": 10, "output_length": 0, "hash_ids": [0]}"#,
    );
    let spec = loaded(of_format("mooncake"), text).unwrap();
    assert_eq!(
        (spec.skipped(), spec.class_names()),
        (1, vec!["trace".to_owned()])
    );
    let workload = planned(spec);
    assert_eq!(
        requests(&workload),
        [
            (0, 1100, 5),
            (1_500_500, 512, 1),
            (3_000_000, 1024, 7),
            (3_000_000, 10, 1)
        ]
    );
    let [first, second, third, fourth] = &workload.plans[..] else {
        panic!("expected four plans");
    };
    let ends = |plan: &crate::workload::Plan| -> Vec<u32> {
        plan.pieces.iter().map(|piece| piece.end_tokens).collect()
    };
    assert_eq!(ends(first), [512, 1024, 1100]);
    assert_eq!(second.pieces, first.pieces[..2]);
    assert_eq!(ends(third), [512]);
    assert!(fourth.pieces.is_empty());
}

#[test]
fn azure_times_count_from_the_first_request() {
    let text = "TIMESTAMP,ContextTokens,GeneratedTokens\n\
        2023-11-16 23:59:59.9799600,4808,10\n\
        2023-11-17 00:00:00.0319600,3180,8\n\
        2023-11-17 00:00:01.0000000,0,8\n";
    let spec = loaded(of_format("azure"), text).unwrap();
    assert_eq!(spec.skipped(), 1);
    assert_eq!(requests(&planned(spec)), [(0, 4808, 10), (52_000, 3180, 8)]);
}

#[test]
fn burst_gpt_is_read_with_old_and_new_columns_and_without_failures() {
    let expected = [(0, 472, 18), (40_000_000, 1087, 230)];
    let old = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n\
        5,ChatGPT,472,18,490,Conversation log\n\
        45,GPT-4,1087,230,1317,Conversation log\n\
        118,GPT-4,417,0,417,Conversation log\n";
    let spec = loaded(of_format("burst_gpt"), old).unwrap();
    assert_eq!(spec.skipped(), 1);
    assert_eq!(requests(&planned(spec)), expected);
    let new = "\u{feff}Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,\
        Total tokens,Log Type\n\
        45.0,,3.1,GPT-4,1087,230,1317,API log\n\
        5.0,17,1.5,ChatGPT,472,18,490,Conversation log\n";
    let spec = loaded(of_format("burst_gpt"), new).unwrap();
    assert_eq!(requests(&planned(spec)), expected);
}

#[test]
fn times_can_be_stretched_and_moved_and_requests_cut_off() {
    let spec = json!({
        "format": "prefix_groups",
        "file": "a.trace",
        "name": "unused",
        "requests_max": 2,
        "time_scale": 2.5,
        "start_ms": 100,
    });
    let text = "arrival_tick,prompt,prefix,group,output,long\n\
        8,512,443,4,93,0\n9,0,0,4,93,0\n10,512,0,4,93,1\nthis is never read\n";
    let spec = loaded(spec, text).unwrap();
    assert_eq!(spec.skipped(), 1);
    let workload = planned(spec);
    assert_eq!(
        requests(&workload),
        [(120_000, 512, 93), (125_000, 512, 93)]
    );
    assert!(workload.plans[1].pieces.is_empty());
}

#[test]
fn a_line_that_is_not_in_the_format_is_named() {
    let header = "arrival_tick,prompt,prefix,group,output,long";
    for (row, what) in [
        ("8,512", "expected 3 values, `prefix` is missing"),
        (
            "8.5,512,443,4,93,0",
            "arrival_tick: expected whole milliseconds, got `8.5`",
        ),
        (
            "8,-512,443,4,93,0",
            "prompt: expected a whole number of tokens, got `-512`",
        ),
        (
            "8,10000001,443,4,93,0",
            "prompt: expected at most 10000000 tokens, got 10000001",
        ),
        (
            "8,512,513,4,93,0",
            "prefix: expected at most the tokens of the prompt",
        ),
        ("8,512,443,4,93,2", "long: expected 0 or 1, got `2`"),
    ] {
        let text = format!("{header}\n8,512,443,4,93,0\n\n{row}\n");
        refused("prefix_groups", &text, &format!("a.trace: line 4: {what}"));
    }
    refused(
        "azure",
        "TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,1",
        "a.trace: line 2: TIMESTAMP: expected a time like `2023-11-16 18:17:03.9799600`, \
         got `yesterday`",
    );
    refused(
        "burst_gpt",
        "Timestamp,Request tokens,Response tokens\nNaN,1,1",
        "a.trace: line 2: Timestamp: expected seconds that are not negative, got `NaN`",
    );
    for (line, what) in [
        ("{", "EOF while parsing an object"),
        (
            r#"{"timestamp": 1, "input_length": 1}"#,
            "missing field `output_length`",
        ),
        (
            r#"{"timestamp": -1, "input_length": 1, "output_length": 1}"#,
            "timestamp: expected milliseconds that are not negative, got -1",
        ),
        (
            r#"{"timestamp": 1, "input_length": 1.5, "output_length": 1}"#,
            "invalid type: floating point `1.5`, expected u32",
        ),
    ] {
        refused("mooncake", line, &format!("a.trace: line 1: {what}"));
    }
}

#[test]
fn a_file_without_requests_is_refused() {
    refused(
        "azure",
        "",
        "a.trace: line 1: expected a header with the column `TIMESTAMP`",
    );
    refused(
        "azure",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 23:59:59,1,0",
        "a.trace: it has no requests",
    );
    refused("mooncake", "\n\n", "a.trace: it has no requests");
}

#[test]
fn a_message_quotes_only_the_beginning_of_a_value() {
    let text = format!(
        "arrival_tick,prompt,prefix,group,output,long\n{},1,1,1,1,0",
        "é".repeat(1000)
    );
    let error = loaded(of_format("prefix_groups"), &text).unwrap_err();
    assert!(error.len() < 150 && error.contains("`éééé"), "{error}");
    let text = format!("arrival_tick,{}", "x".repeat(LINE_BYTES_MAX));
    let error = loaded(of_format("mooncake"), &text).unwrap_err();
    assert_eq!(error, "a.trace: line 1: expected at most 65536 bytes");
}
