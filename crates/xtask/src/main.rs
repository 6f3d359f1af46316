//! Development commands of the workspace: `cargo xtask <command>`.

mod generate;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Development commands of the Pointsman workspace")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write all generated files.
    Generate,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Generate => generate::run(),
    }
}
