//! `pointsman bench`: what a picker costs over ext_proc, as a multiple of the floor or of another.
//!
//! Each picker of a comparison gets the same streams in the same cells, and they take turns in
//! rounds, so that what else happens on the machine hits all of them. Pickers that are started here
//! are started afresh for each cell.

mod arguments;
mod cell;
mod connection;
mod exchange;
mod expected;
mod figures;
mod load;
mod pods;
mod process;
mod progress;
mod prompt;
mod report;
mod script;
mod subject;
mod tally;

use core::time::Duration;
use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::signals;
pub(crate) use arguments::Arguments;
use arguments::{Command, Comparison, FloorArguments};
use cell::{Cell, Load, cells};
use connection::Security;
use figures::Measurement;
use load::Volume;
use pods::Pods;
use progress::Display;
use prompt::PromptSet;
use report::{Measured, Report};
use script::Script;
use subject::{NamedProcess, Running, Site};

/// The runtime for the command: the floor has its own, which is part of what is measured.
pub(crate) fn runtime(arguments: &Arguments) -> Result<Runtime> {
    let runtime = match arguments.command {
        Some(Command::Floor(_)) => pointsman_floor::runtime(),
        None => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build(),
    };
    runtime.context("cannot start the asynchronous runtime")
}

/// Serves the floor, or compares and prints the result. It is an error if a request failed.
pub(crate) async fn run(arguments: Arguments) -> Result<()> {
    let comparison = match arguments.command {
        Some(Command::Floor(floor)) => return serve_floor(floor).await,
        None => arguments.comparison,
    };
    comparison.check()?;
    let mut folder = tempfile::Builder::new()
        .prefix("pointsman-bench-")
        .tempdir()
        .context("cannot make a folder for configurations and logs")?;
    let mut report = Report::new(&comparison);
    let compared = tokio::select! {
        compared = compare(&comparison, &folder, &mut report) => {
            compared.with_context(|| failure(&mut folder))
        }
        interrupted = signals::interrupted() => {
            interrupted.and_then(|()| bail!("interrupted"))
        }
    };
    // What was measured before a failure took its time too.
    if report.has_cells() {
        let text = if comparison.json {
            report.json()?
        } else {
            report.text()
        };
        writeln!(io::stdout(), "{}", text.trim_end()).context("cannot write to stdout")?;
    }
    compared?;
    match report.problem() {
        Some(problem) => bail!(problem),
        None => Ok(()),
    }
}

/// Keeps the folder if there is something in it, and says so.
fn failure(folder: &mut TempDir) -> String {
    let is_used = fs::read_dir(folder.path()).is_ok_and(|mut files| files.next().is_some());
    folder.disable_cleanup(is_used);
    if is_used {
        let path = folder.path().display();
        format!("the comparison failed; configurations and logs are in {path}")
    } else {
        "the comparison failed".to_owned()
    }
}

async fn serve_floor(floor: FloorArguments) -> Result<()> {
    let listener = TcpListener::bind(floor.listen)
        .await
        .with_context(|| format!("cannot listen on {}", floor.listen))?;
    // Not until all streams have ended, as a gateway keeps its connection open.
    tokio::select! {
        served = pointsman_floor::serve(listener, floor.destinations, core::future::pending()) => {
            served.context("the floor ended")
        }
        interrupted = signals::interrupted() => interrupted,
    }
}

/// Measures all cells. Each is in the report as soon as it is over.
async fn compare(comparison: &Comparison, folder: &TempDir, report: &mut Report) -> Result<()> {
    let pods = Pods::start(comparison.pods().unwrap_or(0)).await?;
    let cells = cells(comparison);
    let measurements = cells.len() * comparison.subjects().len() * usize::from(comparison.rounds);
    let mut display = Display::start(u64::try_from(measurements)?, comparison.requests);
    for (index, cell) in cells.iter().enumerate() {
        display.cell(&cell.to_string());
        let folder = folder.path().join(format!("cell-{index}"));
        let site = Site {
            pods: &pods.entries,
            security: if comparison.tls {
                Security::UnverifiedTls
            } else {
                Security::Plain
            },
            connections: comparison.connections,
            folder: &folder,
        };
        let measured = measure_cell(comparison, cell, &site, &mut display).await?;
        report.add(cell, comparison.shared, measured);
    }
    report.complete();
    Ok(())
}

/// All rounds of all pickers in one cell.
async fn measure_cell(
    comparison: &Comparison,
    cell: &Cell,
    site: &Site<'_>,
    display: &mut Display,
) -> Result<Vec<Measured>> {
    let prompts = PromptSet {
        bytes: cell.prompt_bytes,
        count: comparison.prompts,
        shared_percent: comparison.shared,
        seed: comparison.seed,
    };
    let script = Arc::new(Script::new(cell, prompts.bodies()));
    let mut pickers = Vec::new();
    for subject in comparison.subjects() {
        let running = subject.start(site).await?;
        display.warm_up(&running.name);
        warm_up(comparison, &running, &script).await?;
        pickers.push((running, Vec::new()));
    }
    for round in 1..=comparison.rounds {
        for (running, measurements) in &mut pickers {
            display.turn(&running.name, round);
            let volume = Volume {
                load: cell.load,
                requests: comparison.requests,
                duration_max: Duration::from_secs(comparison.duration),
                first_number: comparison.warm_up + comparison.requests * u64::from(round),
                streams_max: OPEN_STREAMS_MAX,
                seed: comparison.seed.wrapping_add(u64::from(round)),
            };
            let measurement = measure(running, &script, &volume, display).await?;
            if measurement.is_of_another_process() {
                bail!(another_process(running));
            }
            measurements.push(measurement);
            display.end_turn();
        }
    }
    let measured = |(running, rounds): (Running, _)| Measured {
        name: running.name,
        process: running.named,
        rounds,
    };
    Ok(pickers.into_iter().map(measured).collect())
}

fn another_process(running: &Running) -> String {
    let name = &running.name;
    let mut text = format!("{name} answered, but its process used no CPU time");
    if let Some(NamedProcess { pid, program }) = &running.named {
        text.push_str(&format!(": {pid} ({program}) is not the one that answers"));
    }
    text
}

async fn warm_up(comparison: &Comparison, running: &Running, script: &Arc<Script>) -> Result<()> {
    let volume = Volume {
        load: Load::Closed {
            streams: WARM_UP_STREAMS,
        },
        requests: comparison.warm_up,
        duration_max: Duration::from_secs(comparison.duration),
        first_number: 0,
        streams_max: OPEN_STREAMS_MAX,
        seed: comparison.seed,
    };
    // What fails here fails when it is measured too.
    load::run(&running.clients, script, &volume, |_| {}).await?;
    Ok(())
}

async fn measure(
    running: &Running,
    script: &Arc<Script>,
    volume: &Volume,
    display: &Display,
) -> Result<Measurement> {
    let (before, own_before) = (running.usage()?, process::own_usage());
    let begin = Instant::now();
    let tally = load::run(&running.clients, script, volume, |ended| {
        display.update(ended);
    })
    .await?;
    let elapsed = begin.elapsed();
    let (after, own_after) = (running.usage()?, process::own_usage());
    Ok(Measurement {
        tally,
        elapsed,
        before,
        after,
        client_cpu: own_before
            .zip(own_after)
            .map(|(before, after)| after.cpu.saturating_sub(before.cpu)),
        load_average: process::load_average(),
    })
}

/// Few enough for every picker, and enough to open all its connections.
const WARM_UP_STREAMS: u32 = 8;

/// More than a picker that keeps up has, and few enough for the memory of this program.
const OPEN_STREAMS_MAX: usize = 10_000;
