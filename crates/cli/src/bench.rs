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
use report::Report;
use script::Script;
use subject::{Running, Site};

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
    let compared = tokio::select! {
        compared = compare(&comparison, &folder) => compared,
        interrupted = signals::interrupted() => {
            interrupted?;
            bail!("interrupted");
        }
    };
    let report = compared.with_context(|| {
        folder.disable_cleanup(true);
        let path = folder.path().display();
        format!("the comparison failed; configurations and logs are in {path}")
    })?;
    let text = if comparison.json {
        report.json()?
    } else {
        report.text()
    };
    writeln!(io::stdout(), "{}", text.trim_end()).context("cannot write to stdout")?;
    match report.problem() {
        Some(problem) => bail!(problem),
        None => Ok(()),
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

async fn compare(comparison: &Comparison, folder: &TempDir) -> Result<Report> {
    let mut report = Report::new(comparison);
    let pods = Pods::start(comparison.pods).await?;
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
    display.finish();
    Ok(report)
}

/// All rounds of all pickers in one cell.
async fn measure_cell(
    comparison: &Comparison,
    cell: &Cell,
    site: &Site<'_>,
    display: &mut Display,
) -> Result<Vec<(String, Vec<Measurement>)>> {
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
                seed: comparison.seed.wrapping_add(u64::from(round)),
            };
            measurements.push(measure(running, &script, &volume, display).await?);
            display.end_turn();
        }
    }
    let named = |(running, measurements): (Running, _)| (running.name, measurements);
    Ok(pickers.into_iter().map(named).collect())
}

async fn warm_up(comparison: &Comparison, running: &Running, script: &Arc<Script>) -> Result<()> {
    let volume = Volume {
        load: Load::Closed {
            streams: WARM_UP_STREAMS,
        },
        requests: comparison.warm_up,
        duration_max: Duration::from_secs(comparison.duration),
        first_number: 0,
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
