//! `pointsman lab`: scenarios of the simulator, run on threads and shown as tables or JSON.
//!
//! What is simulated, measured and demanded is in the pure crate; here are its files, threads, clock
//! and output.

mod document;
mod estimate;
mod explain;
mod jobs;
mod judge;
mod list;
mod measure_table;
mod replay;
mod report;
mod run;
mod selection;

use std::io;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Run the picker in a simulator: no sockets, no clock, the same again from the same seed.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Clone, Debug)]
enum Command {
    /// List the built-in scenarios and policies.
    List(list::Arguments),
    /// Run scenarios, compare policies, and judge the scenarios' checks.
    ///
    /// Every policy meets the same requests under one seed. The exit code is 1 if a check does not
    /// hold or if something happened that must never happen.
    Run(run::Arguments),
    /// Show why one request of a run went where it went.
    Explain(explain::Arguments),
    /// Read a recording of the picker, and verify that the pool answers the same again.
    Replay(replay::ReplayArguments),
}

/// Does what was asked. It is an error if a check does not hold.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut output = io::stdout();
    match &arguments.command {
        Command::List(arguments) => list::run(arguments, &mut output),
        Command::Run(arguments) => run::run(arguments, &mut output),
        Command::Explain(arguments) => explain::run(arguments, &mut output),
        Command::Replay(arguments) => replay::run(arguments, &mut output),
    }
}

const EXAMPLES: &str = "Examples:
  pointsman lab list                       the built-in scenarios and policies
  pointsman lab run s01                    compare policies in one scenario
  pointsman lab explain s01 --request 17   why one request went where it went
  pointsman lab replay --verify run.jsonl  does the pool answer a recording the same again";

#[cfg(test)]
mod tests;
