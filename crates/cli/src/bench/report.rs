//! The result, as a table for people and as JSON for programs.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use super::arguments::Comparison;
use super::cell::{Cell, Load};
use super::figures::{Figures, Measurement, Ratios};
use super::process;
use super::subject::NamedProcess;
use crate::table;

/// All that a run of `bench` tells.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// Whether this program was built with debug assertions, as its neighbours then are too.
    debug_assertions: bool,
    cores: Option<usize>,
    /// Before the first measurement.
    load_average: Option<f64>,
    rounds: u16,
    /// `None` where no picker was started here.
    pods: Option<usize>,
    connections: usize,
    /// The pickers that were spoken to over TLS.
    tls_to: Vec<String>,
    /// The picker of which the ratios are multiples.
    ratio_to: Option<String>,
    /// Whether all cells are there.
    is_complete: bool,
    cells: Vec<CellReport>,
}

/// What was seen of one picker in one cell.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) name: String,
    /// The process that was named for it on the command line.
    pub(super) process: Option<NamedProcess>,
    pub(super) rounds: Vec<Measurement>,
}

#[derive(Debug, Serialize)]
struct CellReport {
    #[serde(skip)]
    title: String,
    body_mode: &'static str,
    prompt_bytes: usize,
    shared_percent: u8,
    events: usize,
    gap_ms: u64,
    /// In a closed loop.
    streams: Option<u32>,
    /// Starts in a second, in an open loop.
    rate: Option<f64>,
    pickers: Vec<PickerReport>,
}

#[derive(Debug, Serialize)]
struct PickerReport {
    name: String,
    /// The process that was measured, if it was not started here.
    process: Option<NamedProcess>,
    /// In all rounds.
    requests: u64,
    /// In all rounds, by kind.
    errors: BTreeMap<String, u64>,
    median: Figures,
    ratio: Option<Ratios>,
    rounds: Vec<Figures>,
}

impl Report {
    /// A report without a cell, made before anything runs.
    pub(super) fn new(comparison: &Comparison) -> Self {
        Self {
            debug_assertions: cfg!(debug_assertions),
            cores: std::thread::available_parallelism().ok().map(usize::from),
            load_average: process::load_average(),
            rounds: comparison.rounds,
            pods: comparison.pods(),
            connections: comparison.connections,
            tls_to: comparison.tls_to(),
            ratio_to: comparison.against.first().map(|base| base.name.clone()),
            is_complete: false,
            cells: Vec::new(),
        }
    }

    /// Adds a cell with the measurements of each picker.
    pub(super) fn add(&mut self, cell: &Cell, shared_percent: u8, pickers: Vec<Measured>) {
        let mut pickers: Vec<PickerReport> = pickers.into_iter().map(PickerReport::new).collect();
        let base = pickers
            .iter()
            .find(|picker| self.ratio_to.as_ref() == Some(&picker.name));
        if let Some(base) = base.map(|base| base.median.clone()) {
            for picker in &mut pickers {
                picker.ratio = Some(picker.median.ratios(&base));
            }
        }
        let (streams, rate) = match cell.load {
            Load::Closed { streams } => (Some(streams), None),
            Load::Open { rate } => (None, Some(rate)),
        };
        self.cells.push(CellReport {
            title: cell.to_string(),
            body_mode: cell.mode.name(),
            prompt_bytes: cell.prompt_bytes,
            shared_percent,
            events: cell.events,
            gap_ms: u64::try_from(cell.gap.as_millis()).unwrap_or(u64::MAX),
            streams,
            rate,
            pickers,
        });
    }

    /// All cells are there.
    pub(super) const fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Whether there is anything to tell.
    pub(super) const fn has_cells(&self) -> bool {
        !self.cells.is_empty()
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)?)
    }

    /// The report as tables between what it was measured on and what went wrong.
    pub(super) fn text(&self) -> String {
        let mut text = self.circumstances();
        for cell in &self.cells {
            text.push_str(&format!("\n{}\n{}\n", cell.title, self.table(cell)));
        }
        text.push('\n');
        if !self.is_complete {
            text.push_str("NOT COMPLETE: only the cells that were over are told.\n");
        }
        for cell in &self.cells {
            for picker in &cell.pickers {
                for (kind, count) in &picker.errors {
                    let (title, name) = (&cell.title, &picker.name);
                    text.push_str(&format!("{title}: {name}: {count} failed: {kind}\n"));
                }
            }
        }
        text
    }

    /// Why the figures are not to be trusted, if so.
    pub(super) fn problem(&self) -> Option<String> {
        let pickers = || self.cells.iter().flat_map(|cell| &cell.pickers);
        let failed: u64 = pickers().flat_map(|picker| picker.errors.values()).sum();
        if failed > 0 {
            Some(format!("{failed} requests failed"))
        } else if pickers().any(|picker| picker.requests == 0) {
            Some("a measurement was too short for any request".to_owned())
        } else {
            None
        }
    }

    fn circumstances(&self) -> String {
        let mut text = String::new();
        if self.debug_assertions {
            text.push_str(
                "BUILT WITH DEBUG ASSERTIONS: the figures are only good to see that it works.\n",
            );
        }
        text.push_str(&format!(
            "{} cores, load average {} at the start; medians of {} rounds{}; {} connection{}{}\n",
            self.cores.map_or_else(unknown, |cores| cores.to_string()),
            number(self.load_average, 2),
            self.rounds,
            self.pods
                .map_or_else(String::new, |pods| format!("; {pods} pods")),
            self.connections,
            if self.connections == 1 { "" } else { "s" },
            if self.tls_to.is_empty() {
                String::new()
            } else {
                format!("; TLS to {}", self.tls_to.join(", "))
            },
        ));
        for picker in self.cells.first().iter().flat_map(|cell| &cell.pickers) {
            if let Some(NamedProcess { pid, program }) = &picker.process {
                text.push_str(&format!(
                    "{} is the process {pid} ({program})\n",
                    picker.name
                ));
            }
        }
        text
    }

    /// The table of one cell.
    fn table(&self, cell: &CellReport) -> String {
        let ratio_title = self
            .ratio_to
            .as_ref()
            .map(|name| format!("CPU\ntimes\n{}", table::broken(name)));
        let mut titles = vec![
            "picker",
            "picks/s",
            "pick ms\np50 / p99 / p99.9",
            "stream ms\np50 / p99",
            "CPU s\nper 10k",
        ];
        titles.extend(ratio_title.as_deref());
        titles.extend(["peak MB", "failed", "load\naverage"]);
        let rows = cell.pickers.iter().map(PickerReport::columns);
        table::figures(&titles, rows.collect())
    }
}

impl PickerReport {
    fn new(measured: Measured) -> Self {
        let Measured {
            name,
            process,
            rounds,
        } = measured;
        let mut requests = 0;
        let mut errors: BTreeMap<String, u64> = BTreeMap::new();
        for round in &rounds {
            let (count, failures) = round.counts();
            requests += count;
            for (kind, count) in failures {
                *errors.entry(kind.clone()).or_default() += count;
            }
        }
        let rounds: Vec<Figures> = rounds.iter().map(Measurement::figures).collect();
        Self {
            name,
            process,
            requests,
            errors,
            median: Figures::medians(&rounds),
            ratio: None,
            rounds,
        }
    }

    fn columns(&self) -> Vec<String> {
        let figures = &self.median;
        let (pick, stream) = (&figures.pick_ms, &figures.stream_ms);
        let mut columns = vec![
            self.name.clone(),
            format!("{:.0}", figures.picks_per_s),
            format!("{:.2} / {:.2} / {:.2}", pick.p50, pick.p99, pick.p999),
            format!("{:.2} / {:.2}", stream.p50, stream.p99),
            number(figures.cpu_s_per_10k, 2),
        ];
        columns.extend(self.ratio.as_ref().map(|ratio| number(ratio.cpu, 2)));
        columns.extend([
            number(figures.peak_mb, 1),
            self.errors.values().sum::<u64>().to_string(),
            number(figures.load_average, 2),
        ]);
        columns
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(unknown, |value| format!("{value:.digits$}"))
}

fn unknown() -> String {
    "?".to_owned()
}

#[cfg(test)]
mod tests;
