//! Looks for inputs that break the fuzz targets, which are tests that call bolero.
//!
//! The engine is libFuzzer, which is guided by the code that an input reaches. It comes with bolero
//! as C++, and the compiler's part of it is in the pinned toolchain, so that neither clang nor a
//! nightly toolchain is needed.

mod finding;
mod session;
mod target;

use anyhow::{Result, bail};
use clap::Args;

use crate::workspace::Workspace;
use session::{Goal, Session};

/// What to run, and for how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Run only the targets whose name contains this.
    #[arg(long, default_value = "")]
    target: String,
    /// Seconds of processor time that each target gets at least.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Executions that each target gets at least.
    #[arg(long, default_value_t = 10_000_000)]
    executions: u64,
}

/// Runs the targets one after the other. A finding ends its target and fails the whole in the end.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let mut targets = target::all(workspace)?;
    targets.retain(|target| target.name().contains(&options.target));
    if targets.is_empty() {
        bail!("no fuzz target has `{}` in its name", options.target);
    }
    let goal = Goal {
        seconds: options.seconds,
        executions: options.executions,
    };
    eprintln!("{} fuzz targets, each for {goal}", targets.len());
    let mut findings = 0;
    for target in &targets {
        let session = Session::run(target, goal)?;
        eprintln!("{}: {session}", target.name());
        if let Some(finding) = session.finding() {
            eprintln!("{}", finding.told(target));
            findings += 1;
        }
    }
    if findings > 0 {
        bail!(
            "{findings} of {} fuzz targets have a finding",
            targets.len()
        );
    }
    Ok(())
}
