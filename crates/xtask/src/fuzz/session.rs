//! One target until its goal is reached, in rounds.

use std::fmt;
use std::fs::{self, File};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use nix::sys::resource::{UsageWho, getrusage};

use super::finding::{Finding, files};
use super::target::{LOG, Target};

/// What a target gets at least.
#[derive(Clone, Copy)]
pub(super) struct Goal {
    pub(super) seconds: u64,
    pub(super) executions: u64,
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} s of processor time and {} executions",
            self.seconds,
            Grouped(self.executions)
        )
    }
}

/// What came of a target.
#[derive(Default)]
pub(super) struct Session {
    executions: u64,
    processor_time: Duration,
    /// Edges of the code that the inputs reached, at the beginning and in the end.
    coverage: Option<(u64, u64)>,
    finding: Option<Finding>,
}

impl Session {
    /// Runs the target until the goal is reached, or something is found.
    pub(super) fn run(target: &Target, goal: Goal) -> Result<Self> {
        prepare(target)?;
        let mut session = Self::default();
        while session.finding.is_none()
            && let Some(limit) = session.next_limit(goal)
        {
            session.round(target, &limit)?;
        }
        Ok(session)
    }

    /// What broke the target.
    pub(super) const fn finding(&self) -> Option<&Finding> {
        self.finding.as_ref()
    }

    /// The limit of the next round. A round ends by the clock, which tells too much of the processor's
    /// time where others use it too, so that further rounds follow.
    fn next_limit(&self, goal: Goal) -> Option<String> {
        let seconds = goal.seconds.saturating_sub(self.processor_time.as_secs());
        let executions = goal.executions.saturating_sub(self.executions);
        match (seconds, executions) {
            (0, 0) => None,
            (0, _) => Some(format!("-runs={executions}")),
            _ => Some(format!("-max_total_time={seconds}")),
        }
    }

    fn round(&mut self, target: &Target, limit: &str) -> Result<()> {
        let log_file = target.work.join(LOG);
        let log = File::create(&log_file)
            .with_context(|| format!("cannot write {}", log_file.display()))?;
        let arguments = ARGUMENTS.iter().copied().chain([limit]);
        let mut command = target.command(&arguments.map(str::to_owned).collect::<Vec<_>>());
        command.stdout(log.try_clone()?).stderr(log);
        let before = processor_time_of_children()?;
        let status = command
            .status()
            .with_context(|| format!("cannot run {}", target.name()))?;
        self.processor_time += processor_time_of_children()?.saturating_sub(before);
        let text = String::from_utf8_lossy(&fs::read(&log_file)?).into_owned();
        self.note(&text);
        self.finding = Finding::collect(target, &text)?;
        if self.finding.is_none() && (!status.success() || self.executions == 0) {
            bail!(
                "{} ended with {status} and without an input: see {}",
                target.name(),
                log_file.display()
            );
        }
        Ok(())
    }

    /// Takes what libFuzzer wrote in a round.
    fn note(&mut self, log: &str) {
        let executions = log.lines().find_map(|line| {
            let (_, number) = line.split_once("stat::number_of_executed_units:")?;
            number.trim().parse::<u64>().ok()
        });
        self.executions += executions.unwrap_or(0);
        let mut reached = log.lines().filter_map(|line| {
            let (_, rest) = line.strip_prefix('#')?.split_once(" cov: ")?;
            rest.split(' ').next()?.parse::<u64>().ok()
        });
        if let Some(first) = reached.next() {
            let last = reached.next_back().unwrap_or(first);
            let first = self.coverage.map_or(first, |(first, _)| first);
            self.coverage = Some((first, last));
        }
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executions = Grouped(self.executions);
        let seconds = self.processor_time.as_secs_f64();
        write!(f, "{executions} executions, {seconds:.0} s")?;
        if let Some((first, last)) = self.coverage {
            let new = last.saturating_sub(first);
            write!(f, ", coverage {last} of which {new} new")?;
        }
        match self.finding {
            None => f.write_str(", no finding"),
            Some(_) => f.write_str(", A FINDING"),
        }
    }
}

/// Makes the folder that the target runs in, with the inputs to begin with.
fn prepare(target: &Target) -> Result<()> {
    let seeds = target.work.join(SEEDS);
    if seeds.exists() {
        fs::remove_dir_all(&seeds)?;
    }
    for folder in [&seeds, &target.work.join(LEARNT)] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // Those that an interrupted run left behind.
    for file in files(&target.work)? {
        fs::remove_file(file)?;
    }
    for folder in [target.corpus(), target.crashes()] {
        for file in files(&folder)? {
            if let Some(name) = file.file_name() {
                fs::copy(&file, seeds.join(name))?;
            }
        }
    }
    Ok(())
}

fn processor_time_of_children() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot read the processor's time")?;
    let time = usage.user_time() + usage.system_time();
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let rest = u64::try_from(time.tv_usec()).unwrap_or(0);
    Ok(Duration::from_secs(seconds) + Duration::from_micros(rest))
}

/// A number as one reads it.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let high @ 1.. = self.0 / 1000 {
            return write!(f, "{},{:03}", Self(high), self.0 % 1000);
        }
        write!(f, "{}", self.0)
    }
}

/// The folder of what earlier runs learnt, where libFuzzer puts what is new.
const LEARNT: &str = "learnt";

/// The folder with copies of the inputs that are kept in the checkout.
const SEEDS: &str = "seeds";

/// An input over 1 KiB shows nothing that a shorter one does not, and takes longer.
const ARGUMENTS: [&str; 8] = [
    LEARNT,
    SEEDS,
    "-artifact_prefix=found-",
    "-max_len=1024",
    "-timeout=10",
    "-rss_limit_mb=1024",
    "-reload=0",
    "-print_final_stats=1",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_tells_executions_and_coverage() {
        let mut session = Session::default();
        session.note(
            "INFO: seed corpus\n#2\tINITED cov: 18 ft: 19 corp: 1/1b\n#6\tNEW    cov: 19 ft: 20\n\
             #9\tDONE   cov: 25 ft: 30 corp: 4/5b\nstat::number_of_executed_units: 1234567\n",
        );
        assert_eq!(
            session.to_string(),
            "1,234,567 executions, 0 s, coverage 25 of which 7 new, no finding"
        );
        session.note("#2\tINITED cov: 26 ft: 19\nstat::number_of_executed_units: 3\n");
        assert_eq!(
            (session.executions, session.coverage),
            (1_234_570, Some((18, 26)))
        );
    }

    #[test]
    fn rounds_go_on_until_both_time_and_executions_are_reached() {
        let goal = Goal {
            seconds: 600,
            executions: 1000,
        };
        let limit = |executions, seconds| {
            let session = Session {
                executions,
                processor_time: Duration::from_secs(seconds),
                ..Session::default()
            };
            session.next_limit(goal)
        };
        assert_eq!(limit(0, 0).as_deref(), Some("-max_total_time=600"));
        assert_eq!(limit(5000, 580).as_deref(), Some("-max_total_time=20"));
        assert_eq!(limit(400, 601).as_deref(), Some("-runs=600"));
        assert_eq!(limit(1000, 600), None);
    }
}
