//! `pointsman lab replay`: what is in a recording of the picker, and whether this program would have
//! answered the same.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use pointsman_lab::replay::summary::{Ending, Summary};
use pointsman_lab::replay::{Difference, Goal, Replay, Stop};
use pointsman_pipeline::record::{EndReason, LINE_BYTES_MAX};
use serde::Serialize;

use crate::progress::Progress;
use crate::table;

/// Which recording, and what for.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayArguments {
    /// What `pointsman-epp --record` has written.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Tell a new pool all that happened, and demand that it answers the same.
    #[arg(long)]
    verify: bool,
    /// Print JSON in the place of tables.
    #[arg(long)]
    json: bool,
}

/// Reads the recording and prints what is in it. It is an error if it cannot be read, or if the
/// answers differ or there are none to compare.
pub(crate) fn run(arguments: &ReplayArguments, output: &mut dyn Write) -> Result<()> {
    let goal = if arguments.verify {
        Goal::Verify
    } else {
        Goal::Summarize
    };
    let file = File::open(&arguments.file)
        .with_context(|| format!("cannot open {}", arguments.file.display()))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let bar = Progress::start(bytes, TEMPLATE);
    let (summary, stop) = read(BufReader::new(file), goal, &bar)
        .with_context(|| format!("cannot read {}", arguments.file.display()))?;
    drop(bar);

    let report = Report::new(&arguments.file, goal, &summary, stop.as_ref());
    let text = if arguments.json {
        serde_json::to_string_pretty(&report)?
    } else {
        report.tables()
    };
    writeln!(output, "{text}").context("cannot write to stdout")?;
    match stop {
        None if goal == Goal::Verify && summary.entries() == 0 => bail!(
            "{} has no entries: nothing was compared",
            arguments.file.display()
        ),
        None => Ok(()),
        Some(Stop::Different(difference)) => bail!("the answers are not the same: {difference}"),
        Some(stop) => bail!("{}: {stop}", arguments.file.display()),
    }
}

/// Reads to the end, or to what stops it.
fn read(mut file: impl BufRead, goal: Goal, bar: &Progress) -> io::Result<(Summary, Option<Stop>)> {
    let mut replay = Replay::new(goal);
    let mut line = Vec::new();
    let mut bytes = 0;
    while next_line(&mut file, &mut line)? {
        bytes += line.len() as u64;
        bar.reach(bytes);
        if let Err(stop) = replay.line(&line) {
            return Ok((replay.summary().clone(), Some(stop)));
        }
    }
    let summary = replay.summary().clone();
    Ok((summary, replay.finish().err()))
}

/// Reads a line, with its end; `false` if there is none. Of a line that is too long only as much is
/// read as shows that.
fn next_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let longest = LINE_BYTES_MAX as u64 + 2;
    file.take(longest).read_until(b'\n', line)?;
    Ok(!line.is_empty())
}

/// What was found.
#[derive(Debug, Serialize)]
struct Report<'a> {
    file: String,
    verdict: Verdict,
    /// What stopped the reading, if something did.
    problem: Option<String>,
    difference: Option<Found<'a>>,
    pool: Option<&'a str>,
    version: Option<&'a str>,
    /// As text: programs that read JSON numbers as floats would round it.
    seed: Option<String>,
    /// As 16 hexadecimal digits.
    configuration_hash: Option<String>,
    entries: u64,
    decisions: u64,
    seconds: f64,
    end: &'static str,
    steps: &'a BTreeMap<&'static str, u64>,
    picks: Vec<Picks<'a>>,
    refusals: &'a BTreeMap<&'static str, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Identical,
    /// Nothing differs in what there is. There are no entries, or the end is missing, so there may
    /// have been more.
    IdenticalAsFarAsItGoes,
    Different,
    Unreadable,
    NotVerified,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    line: u64,
    sequence: u64,
    step: &'static str,
    place: &'a str,
    expected: &'a str,
    got: &'a str,
}

#[derive(Debug, Serialize)]
struct Picks<'a> {
    endpoint: &'a str,
    address: String,
    picks: u64,
}

impl<'a> Report<'a> {
    fn new(file: &Path, goal: Goal, summary: &'a Summary, stop: Option<&'a Stop>) -> Self {
        let header = summary.header();
        let picks = summary.picks().iter();
        let hash = header.map(|header| header.configuration.hash());
        Self {
            file: file.display().to_string(),
            verdict: Verdict::of(goal, summary, stop),
            problem: stop.map(ToString::to_string),
            difference: stop.and_then(Found::of),
            pool: header.map(|header| &*header.pool),
            version: header.map(|header| &*header.version),
            seed: header.map(|header| header.seed.to_string()),
            configuration_hash: hash.map(|hash| format!("{hash:016x}")),
            entries: summary.entries(),
            decisions: summary.decisions(),
            seconds: summary.duration().as_secs_f64(),
            end: end(summary.ending()),
            steps: summary.steps(),
            picks: picks
                .map(|((endpoint, address), &picks)| Picks {
                    endpoint,
                    address: address.to_string(),
                    picks,
                })
                .collect(),
            refusals: summary.refusals(),
        }
    }

    fn tables(&self) -> String {
        let known = |value: Option<String>| value.unwrap_or_else(|| "unknown".to_owned());
        let facts = [
            ("pool", known(self.pool.map(str::to_owned))),
            ("version", known(self.version.map(str::to_owned))),
            ("seed", known(self.seed.clone())),
            ("configuration", known(self.configuration_hash.clone())),
            ("seconds", table::figure(self.seconds)),
            ("entries", self.entries.to_string()),
            ("decisions", self.decisions.to_string()),
            ("end", self.end.replace('_', " ")),
            ("verdict", self.verdict.words().to_owned()),
        ];
        let facts = facts.map(|(name, value)| vec![name.to_owned(), value]);
        let mut tables = vec![table::words(&["recording", &self.file], facts.into())];
        if !self.steps.is_empty() {
            tables.push(table::figures(&["step", "entries"], counts(self.steps)));
        }
        if !self.picks.is_empty() {
            let rows = self.picks.iter().map(Picks::row).collect();
            tables.push(table::figures(&["endpoint", "address", "picks"], rows));
        }
        if !self.refusals.is_empty() {
            tables.push(table::figures(
                &["refusal", "requests"],
                counts(self.refusals),
            ));
        }
        tables.join("\n\n")
    }
}

impl Verdict {
    fn of(goal: Goal, summary: &Summary, stop: Option<&Stop>) -> Self {
        let is_whole = summary.entries() > 0 && summary.ending() != Ending::Missing;
        match (goal, stop) {
            (_, Some(Stop::Different(_))) => Self::Different,
            (_, Some(Stop::Unreadable(_) | Stop::Unusable { .. })) => Self::Unreadable,
            (Goal::Verify, None) if is_whole => Self::Identical,
            (Goal::Verify, None) => Self::IdenticalAsFarAsItGoes,
            (Goal::Summarize, None) => Self::NotVerified,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Identical => "identical",
            Self::IdenticalAsFarAsItGoes => "identical as far as it goes",
            Self::Different => "different",
            Self::Unreadable => "unreadable",
            Self::NotVerified => "not verified",
        }
    }
}

impl<'a> Found<'a> {
    fn of(stop: &'a Stop) -> Option<Self> {
        let Stop::Different(Difference {
            line,
            sequence,
            kind,
            place,
            expected,
            got,
        }) = stop
        else {
            return None;
        };
        Some(Self {
            line: *line,
            sequence: *sequence,
            step: kind,
            place,
            expected,
            got,
        })
    }
}

impl Picks<'_> {
    fn row(&self) -> Vec<String> {
        let picks = self.picks.to_string();
        vec![self.endpoint.to_owned(), self.address.clone(), picks]
    }
}

fn counts(counted: &BTreeMap<&'static str, u64>) -> Vec<Vec<String>> {
    let row = |(&name, count): (&&str, &u64)| vec![name.to_owned(), count.to_string()];
    counted.iter().map(row).collect()
}

/// How the recording ends, as in the recording itself.
const fn end(ending: Ending) -> &'static str {
    match ending {
        Ending::Missing => "missing",
        Ending::Told(EndReason::Complete) => "complete",
        Ending::Told(EndReason::QueueFull) => "queue_full",
        Ending::Told(EndReason::BytesMax) => "bytes_max",
        Ending::Told(EndReason::Unwritable) => "unwritable",
    }
}

const TEMPLATE: &str = "{wide_bar} {bytes}/{total_bytes}, {eta} left";

const EXAMPLES: &str = "Examples:
  pointsman-epp --config-file picker.yaml --record run.jsonl
  pointsman lab replay run.jsonl                what happened
  pointsman lab replay --verify run.jsonl       and whether this program answers the same
  pointsman lab replay --verify --json run.jsonl";

#[cfg(test)]
mod tests;
