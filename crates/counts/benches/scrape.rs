//! How long it takes to read a metrics page of real size, beside a full parse by a common crate.
//!
//! The last line is JSON. Times are medians of rounds in which all take turns.

#![allow(missing_docs, reason = "a program")]
#![allow(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use pointsman_counts::page;
use pointsman_telemetry::engines::Engine;
use pointsman_telemetry::mapping::Mapping;
use serde_json::json;

fn main() {
    let pages = [
        (Engine::Vllm, page::vllm(8)),
        (Engine::Sglang, page::sglang(2)),
        (Engine::TrtllmServe, page::trtllm_serve(11)),
    ];
    println!("| page | KB | us | GB/s | full parse, us |");
    println!("|---|---|---|---|---|");
    let mut first = None;
    for (engine, page) in &pages {
        let figures = measured(*engine, page);
        let Figures {
            kilobytes,
            us,
            gb_per_s,
            reference_us,
        } = figures;
        let name = engine.name();
        println!("| {name} | {kilobytes} | {us:.1} | {gb_per_s:.2} | {reference_us:.0} |");
        first.get_or_insert(figures);
    }
    if let Some(Figures {
        kilobytes,
        us,
        gb_per_s,
        reference_us,
    }) = first
    {
        let round = |value: f64| (value * 100.0).round() / 100.0;
        let line = json!({
            "page_kb": kilobytes,
            "us": round(us),
            "gb_per_s": round(gb_per_s),
            "reference_us": round(reference_us),
        });
        println!("{line}");
    }
}

#[derive(Clone, Copy)]
struct Figures {
    kilobytes: usize,
    us: f64,
    gb_per_s: f64,
    reference_us: f64,
}

fn measured(engine: Engine, page: &[u8]) -> Figures {
    let mapping = Mapping::new(&engine.names());
    let text = String::from_utf8_lossy(page);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(timed(CALLS, || {
            black_box(mapping.read(black_box(page), None));
        }));
        theirs.push(timed(1, || {
            let lines = text.lines().map(|line| Ok(line.to_owned()));
            let _ = black_box(prometheus_parse::Scrape::parse(lines));
        }));
    }
    let us = median(&mut ours);
    Figures {
        kilobytes: page.len() / 1000,
        us,
        gb_per_s: page.len() as f64 / us / 1000.0,
        reference_us: median(&mut theirs),
    }
}

/// Microseconds of one call.
fn timed(calls: u32, mut call: impl FnMut()) -> f64 {
    let begun = Instant::now();
    (0..calls).for_each(|_| call());
    Duration::as_secs_f64(&begun.elapsed()) * 1e6 / f64::from(calls)
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

const ROUNDS: usize = 41;

/// Calls of one round, so that one is long enough to be timed.
const CALLS: u32 = 20;
