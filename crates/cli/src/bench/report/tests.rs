use core::time::Duration;

use clap::Parser;
use serde_json::{Value, json};

use super::*;
use crate::bench::arguments::Arguments;
use crate::bench::cell::cells;
use crate::bench::exchange::{Failure, Timing};
use crate::bench::process::Usage;
use crate::bench::tally::Tally;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn measurement(cpu_ms: u64, failed: u64) -> Measurement {
    let mut tally = Tally::new().unwrap();
    for _ in 0..1000 {
        tally.record(Ok(Timing {
            pick: Duration::from_micros(500),
            whole: Duration::from_millis(1),
        }));
    }
    for _ in 0..failed {
        tally.record(Err(Failure::ClosedEarly));
    }
    let usage = |cpu_ms| Usage {
        cpu: Duration::from_millis(cpu_ms),
        peak_bytes: 12_500_000,
    };
    Measurement {
        tally,
        elapsed: Duration::from_millis(500),
        before: Some(usage(0)),
        after: Some(usage(cpu_ms)),
        client_cpu: None,
        load_average: Some(0.25),
    }
}

fn report(failed: u64) -> Report {
    let words = [
        "bench",
        "--against=floor",
        "--prompt-bytes=1k",
        "--rounds=1",
    ];
    let comparison = Line::parse_from(words).arguments.comparison;
    let mut report = Report::new(&comparison);
    let pickers = vec![
        measured("pointsman-epp", measurement(1200, failed)),
        measured("floor", measurement(1000, 0)),
    ];
    report.add(&cells(&comparison)[0], comparison.shared, pickers);
    report.complete();
    report
}

fn measured(name: &str, round: Measurement) -> Measured {
    Measured {
        name: name.to_owned(),
        process: None,
        rounds: vec![round],
    }
}

/// The figures of both pickers, which differ in their CPU only.
fn figures(cpu: f64) -> Value {
    let times = |ms: f64| json!({ "p50": ms, "p90": ms, "p99": ms, "p999": ms, "max": ms });
    json!({
        "picks_per_s": 2000.0,
        "pick_ms": times(0.5),
        "stream_ms": times(1.0),
        "cpu_s_per_10k": cpu,
        "client_cpu_s_per_10k": null,
        "peak_mb": 12.5,
        "load_average": 0.25,
    })
}

#[test]
fn the_json_has_every_figure_its_median_and_its_ratio() {
    let report = report(2);
    let document: Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    let expected = json!({
        "debug_assertions": cfg!(debug_assertions),
        // As it is where the test runs.
        "cores": document["cores"],
        "load_average": document["load_average"],
        "rounds": 1,
        "pods": 8,
        "connections": 1,
        "tls_to": [],
        "ratio_to": "floor",
        "is_complete": true,
        "cells": [{
            "body_mode": "duplex",
            "prompt_bytes": 1024,
            "shared_percent": 50,
            "events": 4,
            "gap_ms": 0,
            "streams": 32,
            "rate": null,
            "pickers": [
                {
                    "name": "pointsman-epp",
                    "process": null,
                    "requests": 1002,
                    "errors": { "closed early": 2 },
                    "median": figures(12.0),
                    "ratio": { "picks_per_s": 1.0, "pick_p50": 1.0, "cpu": 1.2 },
                    "rounds": [figures(12.0)],
                },
                {
                    "name": "floor",
                    "process": null,
                    "requests": 1000,
                    "errors": {},
                    "median": figures(10.0),
                    "ratio": { "picks_per_s": 1.0, "pick_p50": 1.0, "cpu": 1.0 },
                    "rounds": [figures(10.0)],
                },
            ],
        }],
    });
    assert_eq!(document, expected);
}

#[test]
fn each_cell_has_a_table_under_its_title_and_what_failed_stands_below() {
    let text = report(2).text();
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(
        text.contains("\nduplex, 1k, 4 events, 32 streams\n"),
        "{text}"
    );
    assert_eq!(
        row("pointsman-epp"),
        "pointsman-epp 2000 0.50 / 0.50 / 0.50 1.00 / 1.00 12.00 1.20 12.5 2 0.25"
    );
    assert!(row("floor").starts_with("floor 2000"));
    assert!(
        text.ends_with("duplex, 1k, 4 events, 32 streams: pointsman-epp: 2 failed: closed early\n"),
        "{text}"
    );
}

#[test]
fn the_table_of_a_cell_fits_into_its_width_with_figures_as_large_as_they_come() {
    let mut report = report(2);
    let figures = &mut report.cells[0].pickers[0].median;
    for times in [&mut figures.pick_ms, &mut figures.stream_ms] {
        (times.p50, times.p99, times.p999) = (1234.5, 12345.6, 30000.0);
    }
    let text = report.text();
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest.unwrap() <= 110, "{text}");
}

#[test]
fn circumstances_are_told_where_they_play_a_part() {
    let of = |words: &[&str]| {
        let words = ["bench"].iter().chain(words);
        let comparison = Line::parse_from(words).arguments.comparison;
        let mut report = Report::new(&comparison);
        let process = Some(NamedProcess {
            pid: 7,
            program: "peer-epp".to_owned(),
        });
        let peer = Measured {
            process,
            ..measured("peer", measurement(1000, 0))
        };
        report.add(&cells(&comparison)[0], comparison.shared, vec![peer]);
        report.text()
    };
    let elsewhere = of(&["--target=peer=127.0.0.1:9002@7"]);
    assert!(
        !elsewhere.contains("pods") && !elsewhere.contains("TLS"),
        "{elsewhere}"
    );
    assert!(
        elsewhere.contains("peer is the process 7 (peer-epp)\n"),
        "{elsewhere}"
    );
    let here = of(&["--tls", "--against=floor"]);
    assert!(
        here.contains("; 8 pods; 1 connection; TLS to pointsman-epp\n"),
        "{here}"
    );
}

#[test]
fn a_report_that_lacks_cells_says_so() {
    let mut report = report(0);
    assert!(report.has_cells() && !report.text().contains("NOT COMPLETE"));
    report.is_complete = false;
    assert!(report.text().contains("NOT COMPLETE"));
}

#[test]
fn a_failed_request_or_a_measurement_without_any_is_a_problem() {
    assert_eq!(report(0).problem(), None);
    assert_eq!(report(2).problem(), Some("2 requests failed".to_owned()));
    let mut empty = report(0);
    empty.cells[0].pickers[1].requests = 0;
    assert!(empty.problem().unwrap().contains("too short"));
}

#[test]
fn figures_of_a_build_with_debug_assertions_are_marked() {
    let text = report(0).text();
    assert_eq!(
        text.starts_with("BUILT WITH DEBUG ASSERTIONS"),
        cfg!(debug_assertions)
    );
}
