//! `pointsman lab run`: cases, policies and seeds, all with all.

use core::num::NonZeroUsize;
use core::time::Duration;
use std::io::Write;
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Error, Result, anyhow, bail};
use clap::Args;
use pointsman_lab::measure::Measures;
use pointsman_lab::policy::Policy;
use pointsman_lab::scenario::Case;
use serde::Serialize;

use super::document::{Document, ScenarioPart, Work};
use super::jobs::{self, Failure, Job, Run};
use super::judge::{Judged, Measurement, Outcome, judge};
use super::report;
use super::selection::{Chosen, check_cases, quoted};
use crate::progress::Progress;

/// What to run.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A built-in scenario, `all` of them, or a scenario file.
    #[arg(required = true, value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// A built-in policy, or an EndpointPickerConfig file, in the place of each case's own; can be
    /// repeated. The first one is what others are compared with.
    #[arg(long = "policy", value_name = "POLICY")]
    policies: Vec<String>,
    /// Run this case only; can be repeated.
    #[arg(long = "case", value_name = "CASE")]
    cases: Vec<String>,
    /// How many seeds, in the place of the scenario's own number.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(SEEDS_MAX)))]
    seeds: Option<u32>,
    /// The first seed; the others follow it.
    #[arg(long, value_name = "SEED", default_value_t = FIRST_SEED)]
    first_seed: u64,
    /// How many threads; never more than there are cores.
    #[arg(long, value_name = "COUNT")]
    threads: Option<NonZeroUsize>,
    /// Print JSON in the place of tables.
    #[arg(long)]
    json: bool,
}

/// Which seeds were run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Seeds {
    pub(super) first: u64,
    pub(super) count: u32,
}

/// What came out of one scenario.
#[derive(Debug)]
pub(super) struct Results<'a> {
    pub(super) chosen: &'a Chosen,
    pub(super) seeds: Seeds,
    /// In the order of the cases, then of their policies.
    measured: Vec<Measured<'a>>,
}

/// One case under one policy.
#[derive(Debug)]
pub(super) struct Measured<'a> {
    pub(super) case: &'a Case,
    pub(super) policy: &'a Policy,
    /// In the order of the seeds.
    pub(super) runs: Vec<Run>,
}

/// Runs what was asked for and prints what was found. It is an error if a check does not hold.
pub(super) fn run(arguments: &Arguments, output: &mut dyn Write) -> Result<()> {
    let chosen = Chosen::all(&arguments.scenarios)?;
    check_cases(&chosen, &arguments.cases)?;
    let is_run = |chosen: &&Chosen| !chosen.cases(&arguments.cases).is_empty();
    let plans = chosen
        .iter()
        .filter(is_run)
        .map(|chosen| Plan::new(chosen, arguments))
        .collect::<Result<Vec<_>>>()?;
    let begin = Instant::now();
    let mut effort = Effort::default();
    let (mut parts, mut judged) = (Vec::new(), Vec::new());
    for plan in &plans {
        let results = plan.run(arguments.threads(), &mut effort)?;
        let checks = results.judge();
        judged.extend(checks.iter().cloned());
        if arguments.json {
            parts.push(ScenarioPart::new(&results, checks));
        } else {
            write(output, &report::scenario(&results, &checks))?;
        }
    }
    let work = effort.work(begin.elapsed(), arguments.threads());
    let repeat = arguments.repeat();
    if arguments.json {
        let document = Document {
            scenarios: parts,
            work,
            repeat,
        };
        let text = serde_json::to_string_pretty(&document)?;
        write(output, &format!("{text}\n"))?;
    } else {
        write(output, &report::end(&judged, &work, &repeat))?;
    }
    match judged
        .iter()
        .filter(|judged| judged.outcome == Outcome::Fails)
        .count()
    {
        0 => Ok(()),
        1 => bail!("a check does not hold"),
        count => bail!("{count} checks do not hold"),
    }
}

impl Arguments {
    fn threads(&self) -> NonZeroUsize {
        let cores = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.map_or(cores, |threads| threads.min(cores))
    }

    /// The command that does the same again.
    fn repeat(&self) -> String {
        let mut words = vec![COMMAND.to_owned()];
        words.extend(self.scenarios.iter().map(|word| quoted(word)));
        words.extend(
            self.policies
                .iter()
                .map(|word| format!("--policy {}", quoted(word))),
        );
        words.extend(
            self.cases
                .iter()
                .map(|word| format!("--case {}", quoted(word))),
        );
        words.extend(self.seeds.map(|count| format!("--seeds {count}")));
        if self.first_seed != FIRST_SEED {
            words.push(format!("--first-seed {}", self.first_seed));
        }
        words.join(" ")
    }
}

/// What is to be run of one scenario.
struct Plan<'a> {
    chosen: &'a Chosen,
    cases: Vec<(&'a Case, Vec<Policy>)>,
    /// The policies that the command line names.
    policies: &'a [String],
    seeds: Seeds,
}

impl<'a> Plan<'a> {
    fn new(chosen: &'a Chosen, arguments: &'a Arguments) -> Result<Self> {
        let cases = chosen.cases(&arguments.cases).into_iter();
        let cases = cases.map(|case| Ok((case, chosen.policies(case, &arguments.policies)?)));
        Ok(Self {
            chosen,
            cases: cases.collect::<Result<_>>()?,
            policies: &arguments.policies,
            seeds: Seeds {
                first: arguments.first_seed,
                count: arguments.seeds.unwrap_or(chosen.scenario.seeds),
            },
        })
    }

    fn run(&self, threads: NonZeroUsize, effort: &mut Effort) -> Result<Results<'_>> {
        let jobs: Vec<Job<'_>> = self.rows().flat_map(|row| self.jobs(row)).collect();
        let progress = Progress::start(jobs.len() as u64, PROGRESS);
        progress.name(&self.chosen.word);
        let done = jobs::run_all(&jobs, threads, &jobs::simulate, &|| progress.step());
        drop(progress);
        let done = done.map_err(|failure| self.error(&jobs, &failure))?;
        effort.busy += done.busy;
        effort.requests += done.runs.iter().map(|run| run.requests).sum::<u64>();
        let mut runs = done.runs.into_iter();
        let measured = self.rows().map(|(case, policy)| Measured {
            case,
            policy,
            runs: runs.by_ref().take(self.seeds.count as usize).collect(),
        });
        Ok(Results {
            chosen: self.chosen,
            seeds: self.seeds,
            measured: measured.collect(),
        })
    }

    fn rows(&self) -> impl Iterator<Item = (&Case, &Policy)> {
        let cases = self.cases.iter();
        cases.flat_map(|(case, policies)| policies.iter().map(|policy| (*case, policy)))
    }

    fn jobs<'b>(&self, (case, policy): (&'b Case, &'b Policy)) -> impl Iterator<Item = Job<'b>> {
        let Seeds { first, count } = self.seeds;
        let seeds = (0..u64::from(count)).map(move |place| first.wrapping_add(place));
        seeds.map(move |seed| Job { case, policy, seed })
    }

    /// What happened, where, and the command that makes it happen again.
    fn error(&self, jobs: &[Job<'_>], Failure { job, what }: &Failure) -> Error {
        let Some(Job { case, policy, seed }) = jobs.get(*job) else {
            return anyhow!("{what}");
        };
        let scenario = &self.chosen.word;
        let word = self.chosen.policy_word(&policy.name, self.policies);
        anyhow!(
            "scenario {scenario}, case {}, policy {}, seed {seed}: {what}\n  \
             again: {COMMAND} {} --case {} --policy {} --seeds 1 --first-seed {seed}",
            case.name,
            policy.name,
            quoted(scenario),
            quoted(&case.name),
            quoted(&word),
        )
    }
}

/// What was done so far.
#[derive(Default)]
struct Effort {
    requests: u64,
    busy: Duration,
}

impl Effort {
    fn work(&self, elapsed: Duration, threads: NonZeroUsize) -> Work {
        let minutes = self.busy.as_secs_f64() / 60.0;
        Work {
            requests: self.requests,
            seconds: elapsed.as_secs_f64(),
            threads: threads.get(),
            requests_per_minute_per_thread: self.requests as f64 / minutes,
        }
    }
}

impl<'a> Results<'a> {
    /// The policies of each case.
    pub(super) fn by_case(&self) -> impl Iterator<Item = &[Measured<'a>]> {
        let same = |one: &Measured<'_>, other: &Measured<'_>| core::ptr::eq(one.case, other.case);
        self.measured.chunk_by(same)
    }

    fn judge(&self) -> Vec<Judged> {
        let measurements = self.measured.iter().map(|measured| Measurement {
            case: &measured.case.name,
            policy: &measured.policy.name,
            seeds: measured.measures(),
        });
        judge(&self.chosen.scenario, &measurements.collect::<Vec<_>>())
    }
}

impl Measured<'_> {
    /// A measure, seed by seed; `None` if one lacks it.
    pub(super) fn values(&self, name: &str) -> Option<Vec<f64>> {
        self.runs.iter().map(|run| run.measures.get(name)).collect()
    }

    /// All measures, seed by seed.
    pub(super) fn measures(&self) -> Vec<Measures> {
        self.runs.iter().map(|run| run.measures.clone()).collect()
    }

    /// The names of its measures.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let first = self.runs.first().into_iter();
        first.flat_map(|run| run.measures.iter().map(|(name, _)| name))
    }
}

fn write(output: &mut dyn Write, text: &str) -> Result<()> {
    output
        .write_all(text.as_bytes())
        .context("cannot write to stdout")
}

/// Where seeds begin if nothing is said.
pub(super) const FIRST_SEED: u64 = 1;

/// Their measures are some kilobytes each, and are kept.
const SEEDS_MAX: u32 = 100_000;

const COMMAND: &str = "pointsman lab run";

const PROGRESS: &str = "{prefix:8} {wide_bar} {pos}/{len} runs, {eta} left";

const EXAMPLES: &str = "Examples:
  pointsman lab run s01                                   one scenario as it stands
  pointsman lab run all                                   every built-in scenario
  pointsman lab run s04 --policy two-choices --policy default --seeds 40
  pointsman lab run s01 --case traces --policy my-config.yaml --policy default
  pointsman lab run my-scenario.yaml --json | jq '.scenarios[0].checks'
  pointsman lab run s01 --policy default --seeds 1 --first-seed 17";

#[cfg(test)]
pub(super) mod tests;
