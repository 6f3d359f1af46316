//! The command line of `pointsman bench`.

use core::net::SocketAddr;

use clap::builder::RangedU64ValueParser;
use clap::error::ErrorKind;
use clap::{Args, Subcommand};

use super::cell::BodyMode;
use super::subject::{Place, Subject};

/// Measure an endpoint picker over ext_proc, driven as Envoy drives it.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    #[command(flatten)]
    pub(super) comparison: Comparison,
}

/// What `bench` does instead of measuring.
#[derive(Subcommand, Clone, Debug)]
pub(super) enum Command {
    /// Serve the floor: a trivial picker that shows what the protocol itself costs.
    ///
    /// It waits for the end of the body, names the next destination in turn and gives every byte
    /// back. It speaks duplex mode only. Its source is frozen.
    Floor(FloorArguments),
}

/// How the floor is served.
#[derive(Args, Clone, Debug)]
#[command(after_help = FLOOR_EXAMPLES)]
pub(super) struct FloorArguments {
    /// Where it listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9902")]
    pub(super) listen: SocketAddr,
    /// The destinations that it names in turn.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "127.0.0.1:8000"
    )]
    pub(super) destinations: Vec<String>,
}

/// What is measured, against what, and under which load.
#[derive(Args, Clone, Debug)]
pub(super) struct Comparison {
    /// The picker: `pointsman-epp` or `floor`, which are started here, or [NAME=]HOST:PORT[@PID].
    #[arg(long, value_name = "PICKER", default_value = "pointsman-epp", value_parser = Subject::parse)]
    pub(super) target: Subject,
    /// The process of a target that runs already on this machine, to measure its CPU and memory.
    #[arg(long)]
    pub(super) pid: Option<u32>,
    /// Measure this picker too, written as for --target, in rounds that take turns. Ratios are told
    /// against the first one.
    #[arg(long, value_name = "PICKER", value_parser = Subject::parse)]
    pub(super) against: Vec<Subject>,
    /// How often each picker is measured in each cell; medians are told.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(super) rounds: u16,

    /// Closed loop: so many streams at once, each followed by the next.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "32",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(super) streams: Vec<u32>,
    /// Open loop instead: so many streams a second, at random times that do not depend on the
    /// answers. Times count from when a stream was due.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "streams",
          value_parser = rate)]
    pub(super) rate: Vec<f64>,
    /// Requests in each measurement.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub(super) requests: u64,
    /// Seconds after which a measurement starts no more requests.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(super) duration: u64,
    /// Requests before the first measurement of a cell, which are not measured.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(0..=1_000_000))]
    pub(super) warm_up: u64,

    /// Bytes of a prompt, such as 1k, 16k or 1M.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1k,16k,128k",
          value_parser = bytes)]
    pub(super) prompt_bytes: Vec<usize>,
    /// How many different prompts there are.
    #[arg(long, default_value_t = 64, value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub(super) prompts: usize,
    /// Share of each prompt that it has in common with all others, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(super) shared: u8,
    /// Events of a response.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4",
          value_parser = RangedU64ValueParser::<usize>::new().range(0..=100_000))]
    pub(super) events: Vec<usize>,
    /// Milliseconds between two events, as tokens come; 0 sends them in a burst.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub(super) gap_ms: u64,
    /// What the gateway sends of bodies. `headers-only` is a duplex request whose response body is
    /// not sent: the stream stays open to the end of the response.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_enum,
        default_value = "duplex"
    )]
    pub(super) body_mode: Vec<BodyMode>,

    /// HTTP/2 connections that the streams share.
    #[arg(long, default_value_t = 1, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(super) connections: usize,
    /// Speak TLS to every picker but the floor, without verifying who serves it.
    #[arg(long)]
    pub(super) tls: bool,
    /// Engines whose metrics the pickers that are started here read. They are served here.
    /// [default: 8]
    #[arg(long, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000))]
    pub(super) pods: Option<usize>,
    /// Another seed gives other prompts and arrivals.
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Print JSON in the place of the table.
    #[arg(long)]
    pub(super) json: bool,
}

impl Comparison {
    /// All pickers, the target first.
    pub(super) fn subjects(&self) -> Vec<Subject> {
        let mut target = self.target.clone();
        if let Place::Elsewhere { pid, .. } = &mut target.place {
            *pid = pid.or(self.pid);
        }
        let mut subjects = vec![target];
        subjects.extend(self.against.iter().cloned());
        subjects
    }

    /// How many pods are served: none if no picker is started here.
    pub(super) fn pods(&self) -> Option<usize> {
        let any_here = self.subjects().iter().any(|s| s.place.is_here());
        any_here.then(|| self.pods.unwrap_or(PODS_DEFAULT))
    }

    /// The pickers that are spoken to over TLS.
    pub(super) fn tls_to(&self) -> Vec<String> {
        let subjects = self.subjects().into_iter();
        subjects
            .filter(|subject| self.tls && subject.place != Place::Floor)
            .map(|subject| subject.name)
            .collect()
    }

    /// Refuses what cannot be measured, before anything starts.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        let conflict = |text: String| Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
        let subjects = self.subjects();
        for (index, subject) in subjects.iter().enumerate() {
            let name = &subject.name;
            if subjects.iter().skip(index + 1).any(|s| s.name == *name) {
                return conflict(format!("two pickers have the name `{name}`\n"));
            }
            if subject.place == Place::Floor && self.body_mode.iter().any(|mode| !mode.is_duplex())
            {
                return conflict(
                    "the floor waits for the end of the body, so it is measured in the body modes \
                     duplex and headers-only\n"
                        .to_owned(),
                );
            }
        }
        self.check_reach(&subjects)?;
        if self.pid.is_some() && !matches!(self.target.place, Place::Elsewhere { .. }) {
            return conflict("--pid needs a --target HOST:PORT\n".to_owned());
        }
        let prompt_bytes = self.prompt_bytes.iter().max().copied().unwrap_or(0);
        if prompt_bytes.saturating_mul(self.prompts) > ALL_PROMPTS_BYTES_MAX {
            return conflict(
                "all --prompts together have more than 1 GiB: take fewer or shorter ones\n"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Refuses what would touch none of the pickers, or the wrong process.
    fn check_reach(&self, subjects: &[Subject]) -> Result<(), clap::Error> {
        let conflict = |text: String| Err(clap::Error::raw(ErrorKind::ArgumentConflict, text));
        for Subject { name, place } in subjects {
            if matches!(place, Place::Elsewhere { pid: Some(_), .. }) && !place.is_loopback() {
                return conflict(format!(
                    "the process id of `{name}` is of this machine, its address is not: only a \
                     picker on localhost or a loopback address has one\n"
                ));
            }
        }
        if self.tls && self.tls_to().is_empty() {
            return conflict("--tls needs a picker other than the floor\n".to_owned());
        }
        if self.pods.is_some() && self.pods().is_none() {
            return conflict("--pods needs a picker that is started here\n".to_owned());
        }
        Ok(())
    }
}

fn bytes(text: &str) -> Result<usize, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (text.get(..text.len() - 1), 1 << 10),
        Some(b'm' | b'M') => (text.get(..text.len() - 1), 1 << 20),
        _ => (Some(text), 1),
    };
    digits
        .and_then(|digits| digits.parse::<usize>().ok())
        .and_then(|count| count.checked_mul(unit))
        .filter(|bytes| (PROMPT_BYTES_MIN..=PROMPT_BYTES_MAX).contains(bytes))
        .ok_or_else(|| "expected a number of bytes from 256 to 32M, such as 16k".to_owned())
}

fn rate(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|rate| (0.01..=1_000_000.0).contains(rate))
        .ok_or_else(|| "expected a number from 0.01 to 1000000".to_owned())
}

/// As many as a small pool has.
const PODS_DEFAULT: usize = 8;

/// The least that a chat around a few words takes.
const PROMPT_BYTES_MIN: usize = 256;

/// What pickers accept.
const PROMPT_BYTES_MAX: usize = 32 << 20;

/// Prompts are made before the load begins, and kept.
const ALL_PROMPTS_BYTES_MAX: usize = 1 << 30;

const EXAMPLES: &str = "Examples:
  pointsman bench --against floor                      our picker as a multiple of the floor
  pointsman bench --against floor --events 4,1000 --body-mode duplex,headers-only
  pointsman bench --rate 500,1000 --prompt-bytes 16k   open loop: latencies at a given load
  pointsman bench --events 200 --gap-ms 2 --streams 40 --requests 2000
  pointsman bench --target 10.0.0.5:9002 --tls         a picker that runs elsewhere
  pointsman bench --target peer=127.0.0.1:9002@4711 --against floor --json
  pointsman bench floor --listen 127.0.0.1:9902        the floor alone, for other load generators

Every combination of the listed values is a cell of the table. Pickers that are started here are
started afresh for each cell. The exit code is 1 if a request failed.";

const FLOOR_EXAMPLES: &str = "Examples:
  pointsman bench floor
  pointsman bench floor --listen 0.0.0.0:9902 --destinations 10.0.0.5:8000,10.0.0.6:8000";

#[cfg(test)]
mod tests;
