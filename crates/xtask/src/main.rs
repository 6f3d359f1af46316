//! Development commands of the workspace: `cargo xtask <command>`.

mod check;
mod counts;
mod coverage;
mod deny;
mod fuzz;
mod generate;
mod layers;
mod references;
mod tool;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

#[derive(Parser)]
#[command(about = "Development commands of the Pointsman workspace")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check that crates use only what their layer may use, and that pure crates are pure.
    Layers,
    /// Check licences, sources, banned and repeated crates with cargo-deny, without network.
    Deny,
    /// Check that what the documents point at is there: files, headings and tests.
    References,
    /// Write all generated files.
    Generate {
        /// Write nothing; fail if a generated file is not as this command would write it.
        #[arg(long)]
        check: bool,
    },
    /// Count the instructions of the hot functions; fail if one takes 5 % more than is stored.
    Counts {
        /// Store the counts instead.
        #[arg(long)]
        store: bool,
    },
    /// Tell which lines of a crate its unit tests do not reach. Nothing depends on it.
    Coverage(coverage::Options),
    /// Look for inputs that break the fuzz targets. What is found is kept beside the target's source.
    Fuzz(fuzz::Options),
    /// Run every check but the end-to-end tests: what a change must pass before review.
    Check,
    /// Run `check`, then the end-to-end tests: Envoy, the picker and engines.
    Test,
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let workspace = Workspace::find()?;
    match command {
        Command::Layers => layers::run(&workspace),
        Command::Deny => deny::run_checks(&workspace),
        Command::References => references::run(&workspace),
        Command::Generate { check: false } => generate::write(&workspace),
        Command::Generate { check: true } => generate::check(&workspace),
        Command::Counts { store: false } => counts::check(&workspace),
        Command::Counts { store: true } => counts::store(&workspace),
        Command::Coverage(options) => coverage::tell(&workspace, &options),
        Command::Fuzz(options) => fuzz::run(&workspace, &options),
        Command::Check => check::check(&workspace),
        Command::Test => check::test(&workspace),
    }
}
