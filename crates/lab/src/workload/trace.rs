//! Requests of a trace file.
//!
//! A row that is not in the format is an error, with the file's name and the line. A row that is, but
//! asks for nothing (no prompt, or no answer because the request failed) is left out and counted.

mod azure;
mod burst_gpt;
mod moment;
mod mooncake;
mod prefix_groups;
mod table;

use pointsman_domain::block::BlockKey;
use pointsman_domain::time::Timestamp;
use serde::Deserialize;

use super::Piece;
use super::number::{Count, Positive};
use super::planner::{Draft, Planner, beneath};
use crate::scenario::units::Millis;

/// Requests of a trace file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceSpec {
    /// The name of the class in measures. The format `prefix_groups` has two classes, `short` and
    /// `long`, and does not need it.
    #[serde(default = "name")]
    pub name: String,
    /// How the file is written.
    pub format: Format,
    /// The file's name.
    pub file: String,
    /// Requests beyond these are left out.
    #[serde(default = "unlimited")]
    pub requests_max: Count,
    /// Times are multiplied by this: 2 halves the rate.
    #[serde(default = "unscaled")]
    pub time_scale: Positive,
    /// When the trace starts.
    #[serde(default)]
    pub start_ms: Millis,
    /// What was read.
    #[serde(skip)]
    rows: Option<Rows>,
}

/// How a trace file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON lines of the Mooncake project: `timestamp` in milliseconds, `input_length`,
    /// `output_length`, and in `hash_ids` a number for each block of 512 tokens of the prompt, which
    /// stands for the block and all before it. Fields that other tools have added are ignored.
    Mooncake,
    /// CSV of Azure's LLM inference traces: `TIMESTAMP` as date and time of day, `ContextTokens`,
    /// `GeneratedTokens`. No prompts are shared. Times count from the first request.
    Azure,
    /// CSV of BurstGPT: `Timestamp` in seconds, `Request tokens`, `Response tokens`; other columns
    /// are ignored. No prompts are shared. Times count from the first request.
    BurstGpt,
    /// CSV of our own: `arrival_tick` in milliseconds, `prompt`, `prefix` and `output` in tokens,
    /// `group`, which names the prefix, and `long`, 1 or 0.
    PrefixGroups,
}

impl TraceSpec {
    /// Reads the file. `read` gives the text of a file.
    pub fn load(&mut self, read: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let file = &self.file;
        let text = read(file).map_err(|error| format!("{file}: {error}"))?;
        let rows = Rows::parse(self.format, &text, self.requests_max)
            .map_err(|BadLine { line, what }| format!("{file}: line {line}: {what}"))?;
        if rows.requests.is_empty() {
            return Err(format!("{file}: it has no requests"));
        }
        self.rows = Some(rows);
        Ok(())
    }

    /// How many rows asked for nothing.
    pub fn skipped(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.skipped)
    }

    pub(crate) fn class_names(&self) -> Vec<String> {
        match self.format {
            Format::PrefixGroups => vec!["short".to_owned(), "long".to_owned()],
            Format::Mooncake | Format::Azure | Format::BurstGpt => vec![self.name.clone()],
        }
    }

    pub(crate) fn plan(&self, planner: &mut Planner<'_>) {
        debug_assert!(
            self.rows.is_some(),
            "a trace is loaded before it is planned"
        );
        let start = self.start_ms.moment().as_nanos();
        let root = planner.root();
        for request in self.rows.iter().flat_map(|rows| &rows.requests) {
            let after = (request.at_nanos as f64 * self.time_scale.value()).round() as u64;
            let at = Timestamp::from_nanos(start.saturating_add(after));
            planner.arrive(at, request.draft(root));
        }
    }
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rows {
    requests: Vec<Request>,
    skipped: u64,
}

/// One request of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Request {
    at_nanos: u64,
    /// With keys that are unique in this trace only.
    pieces: Vec<Piece>,
    prompt_tokens: u32,
    output_tokens: u32,
    class: usize,
}

/// A line that is not in the format.
#[derive(Debug, PartialEq, Eq)]
struct BadLine {
    line: usize,
    what: String,
}

impl Rows {
    fn parse(format: Format, text: &str, requests_max: Count) -> Result<Self, BadLine> {
        // Some tools write a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate();
        let mut lines = lines.map(|(index, text)| (index + 1, text));
        match format {
            Format::Mooncake => Self::read(lines, requests_max, mooncake::request),
            Format::Azure => {
                let row = table::row(lines.next(), azure::COLUMNS, azure::request)?;
                Self::read(lines, requests_max, row).map(Self::counted_from_first)
            }
            Format::BurstGpt => {
                let row = table::row(lines.next(), burst_gpt::COLUMNS, burst_gpt::request)?;
                Self::read(lines, requests_max, row).map(Self::counted_from_first)
            }
            Format::PrefixGroups => {
                let row = table::row(lines.next(), prefix_groups::COLUMNS, prefix_groups::request)?;
                Self::read(lines, requests_max, row)
            }
        }
    }

    fn read<'a>(
        lines: impl Iterator<Item = (usize, &'a str)>,
        requests_max: Count,
        request: impl Fn(&str) -> Result<Request, String>,
    ) -> Result<Self, BadLine> {
        let mut rows = Self::default();
        for (line, text) in lines {
            if rows.requests.len() >= requests_max.get() as usize {
                break;
            }
            if text.trim().is_empty() {
                continue;
            }
            let request = within_limit(text)
                .and_then(&request)
                .map_err(|what| BadLine { line, what })?;
            if request.prompt_tokens == 0 || request.output_tokens == 0 {
                rows.skipped += 1;
            } else {
                rows.requests.push(request);
            }
        }
        Ok(rows)
    }

    /// Counts times from the first request.
    fn counted_from_first(mut self) -> Self {
        let times = self.requests.iter().map(|request| request.at_nanos);
        let first = times.min().unwrap_or(0);
        for request in &mut self.requests {
            request.at_nanos -= first;
        }
        self
    }
}

impl Request {
    /// A request that shares nothing.
    const fn alone(at_nanos: u64, prompt_tokens: u32, output_tokens: u32) -> Self {
        Self {
            at_nanos,
            pieces: Vec::new(),
            prompt_tokens,
            output_tokens,
            class: 0,
        }
    }

    fn draft(&self, root: BlockKey) -> Draft {
        let pieces = self.pieces.iter().map(|piece| Piece {
            key: beneath(root, piece.key.0),
            end_tokens: piece.end_tokens,
        });
        Draft {
            pieces: pieces.collect(),
            prompt_tokens: self.prompt_tokens,
            output_tokens: self.output_tokens,
            class: self.class,
            ..Draft::default()
        }
    }
}

fn within_limit(line: &str) -> Result<&str, String> {
    if line.len() <= LINE_BYTES_MAX {
        Ok(line)
    } else {
        Err(format!("expected at most {LINE_BYTES_MAX} bytes"))
    }
}

fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

fn name() -> String {
    "trace".to_owned()
}

const fn unlimited() -> Count {
    Count::MAX
}

const fn unscaled() -> Positive {
    Positive::ONE
}

/// Tokens of a prompt or an answer.
const TOKENS_MAX: u32 = 10_000_000;

/// Room for the block numbers of a prompt of four million tokens.
const LINE_BYTES_MAX: usize = 65_536;

#[cfg(test)]
mod tests;
