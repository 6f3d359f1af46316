//! `pointsman up`: a complete local setup under load, once with round robin and once as it is.
//!
//! Both runs get the same plan of chats, and each its own engines with empty caches, its own picker
//! and its own Envoy.

mod progress;
mod reasons;
mod report;
mod summary;

use core::cell::Cell;
use core::time::Duration;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use clap::builder::FalseyValueParser;

use crate::envoy_binary;
use crate::harness::envoy::EnvoyOptions;
use crate::harness::picker::PickerOptions;
use crate::harness::stack::{Stack, StackOptions};
use crate::load::{self, LoadOptions, Progress};
use crate::signals;
use crate::workload::{Workload, plan};
use progress::Display;
use reasons::Pick;
use report::Report;
use summary::Summary;

/// Run engines, picker and Envoy here, send them chats, and compare with round robin.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// How long each of the two runs lasts.
    #[arg(long, value_name = "SECONDS", env = "DEMO_SECONDS", default_value = "30",
          value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Leave the setup running after the runs, until ctrl-c.
    #[arg(long, env = "KEEP", value_parser = FalseyValueParser::new())]
    pub keep: bool,
    /// Another seed gives other chats.
    #[arg(long, default_value = "1")]
    pub seed: u64,
    /// How many times as fast as real time the engines and the chats run.
    #[arg(long, value_name = "FACTOR", default_value = "4", value_parser = factor)]
    pub time_scale: f64,
    /// How many engines.
    #[arg(long, default_value = "4", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub engines: u16,
    /// A workload file in the place of the built-in one.
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
}

/// Runs the comparison and prints it. It is an error if a request failed or round robin found as
/// much in the caches.
pub async fn run(arguments: Arguments) -> Result<()> {
    let folder = RunFolder::new();
    let demo = Demo::new(&arguments, &folder.path)?;
    let compared = tokio::select! {
        compared = demo.compare() => compared,
        interrupted = signals::interrupted() => {
            interrupted?;
            bail!("interrupted");
        }
    };
    let (report, reasons, stack) = compared.map_err(|error| folder.keep(error))?;
    let mut text = demo.account(&report, &reasons);
    if arguments.keep {
        text.push_str(&keep_notice(&stack));
    }
    writeln!(io::stdout(), "{text}{}", report.json()).context("cannot write to stdout")?;
    if arguments.keep {
        signals::interrupted().await?;
    }
    stack.stop().await?;
    match report.broken_promise() {
        Some(promise) => Err(folder.keep(anyhow!(promise))),
        None => Ok(()),
    }
}

/// Where the processes write. It is removed at the end unless something went wrong.
struct RunFolder {
    path: PathBuf,
    is_kept: Cell<bool>,
}

impl RunFolder {
    fn new() -> Self {
        Self {
            path: std::env::temp_dir().join(format!("pointsman-up-{}", std::process::id())),
            is_kept: Cell::new(false),
        }
    }

    fn keep(&self, error: anyhow::Error) -> anyhow::Error {
        self.is_kept.set(true);
        let path = self.path.display();
        error.context(format!(
            "the demo failed; configurations and logs are in {path}"
        ))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        if !self.is_kept.get() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

struct Demo<'a> {
    arguments: &'a Arguments,
    workload: Workload,
    folder: &'a Path,
}

impl<'a> Demo<'a> {
    fn new(arguments: &'a Arguments, folder: &'a Path) -> Result<Self> {
        let workload = match &arguments.workload {
            None => Workload::built_in()?,
            Some(path) => fs::read_to_string(path)
                .map_err(anyhow::Error::from)
                .and_then(|text| Workload::parse(&text))
                .with_context(|| format!("cannot use the workload {}", path.display()))?,
        };
        Ok(Self {
            arguments,
            workload,
            folder,
        })
    }

    /// Both runs, the reasons for some picks of the second one, and its setup, still running.
    async fn compare(&self) -> Result<(Report, Vec<String>, Stack)> {
        tokio::task::spawn_blocking(envoy_binary::ensure).await??;
        let (round_robin, stack) = self
            .run_with("round robin", PickerOptions::round_robin())
            .await?;
        stack.stop().await?;
        let (pointsman, stack) = self
            .run_with("pointsman", PickerOptions::default_profile())
            .await?;
        let report = Report {
            round_robin,
            pointsman,
        };
        let reasons = reasons(&stack).await?;
        Ok((report, reasons, stack))
    }

    async fn run_with(
        &self,
        name: &'static str,
        mut picker: PickerOptions,
    ) -> Result<(Summary, Stack)> {
        let time_scale = self.arguments.time_scale;
        picker.metrics_interval = METRICS_INTERVAL.div_f64(time_scale);
        picker.arguments = vec!["--explain-every=4".to_owned()];
        let options = StackOptions {
            engines: usize::from(self.arguments.engines),
            engine_arguments: engine_arguments(time_scale),
            picker,
            envoy: EnvoyOptions::default(),
        };
        let stack = Stack::start(options, &self.folder.join(name.replace(' ', "-"))).await?;
        let duration = Duration::from_secs(self.arguments.seconds);
        let sessions = plan(
            &self.workload,
            self.arguments.seed,
            duration.mul_f64(time_scale),
        );
        let load = LoadOptions {
            address: stack.address(),
            model: MODEL.to_owned(),
            time_scale,
            duration,
        };
        let display = Display::start(name, duration);
        let mut last = Progress::default();
        let outcomes = load::run(&sessions, &load, |progress| {
            last = progress;
            display.update(progress);
        })
        .await?;
        display.finish(last);
        let engines: Vec<String> = stack.engines.iter().map(|e| e.name.clone()).collect();
        Ok((Summary::new(&outcomes, &engines, time_scale), stack))
    }

    fn account(&self, report: &Report, reasons: &[String]) -> String {
        let arguments = self.arguments;
        let mut text = format!(
            "\n{} engines, one picker, one Envoy; seed {}; {} s each at {} times real time\n\
             (model ms = measured ms times {})\n{}\n",
            arguments.engines,
            arguments.seed,
            arguments.seconds,
            arguments.time_scale,
            arguments.time_scale,
            report.table(),
        );
        for failure in report.failures() {
            text.push_str(&format!("{failure}\n"));
        }
        text.push_str("\nWhy pointsman chose as it did, in some requests:\n");
        for reason in reasons {
            text.push_str(&format!("  {reason}\n"));
        }
        text.push('\n');
        text
    }
}

/// What the picker says of some of its picks.
async fn reasons(stack: &Stack) -> Result<Vec<String>> {
    let picks = stack.picker.picks(PICKS_READ_MAX).await?;
    let picks: Vec<Pick> = serde_json::from_value(picks)
        .context("the picker's debug page is not in the expected form")?;
    let name = |address: &str| {
        stack
            .engine_name(address)
            .map_or_else(|| address.to_owned(), str::to_owned)
    };
    Ok(reasons::samples(picks)
        .iter()
        .map(|pick| pick.explain(name))
        .collect())
}

fn keep_notice(stack: &Stack) -> String {
    format!(
        "Running at http://{}, the picker's pages at http://{}; end it with ctrl-c. Try:\n  \
         curl -N http://{}/v1/chat/completions -H 'content-type: application/json' -d \
         '{{\"model\":\"{MODEL}\",\"stream\":true,\"messages\":[{{\"role\":\"user\",\
         \"content\":\"Hello\"}}]}}'\n\n",
        stack.address(),
        stack.picker.addresses.admin,
        stack.address(),
    )
}

/// An engine whose prefill is the bottleneck and whose cache holds a share of all conversations.
fn engine_arguments(time_scale: f64) -> Vec<String> {
    let scale = time_scale.to_string();
    [
        ("--model", MODEL),
        ("--time-scale", &scale),
        ("--slots", "16"),
        ("--blocks", "1600"),
        ("--prefill-tokens-per-second", "6000"),
        ("--decode-step-ms", "20"),
    ]
    .into_iter()
    .flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()])
    .collect()
}

fn factor(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|factor| (0.1..=100.0).contains(factor))
        .ok_or_else(|| "expected a number from 0.1 to 100".to_owned())
}

const MODEL: &str = "demo";

/// How often the picker reads an engine's metrics, in model time.
const METRICS_INTERVAL: Duration = Duration::from_millis(50);

const PICKS_READ_MAX: usize = 200;
