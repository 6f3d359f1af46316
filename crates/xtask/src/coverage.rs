//! Tells which lines of a crate its own unit tests reach: information, and no gate.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::tool::Tool;
use crate::workspace::{Workspace, cache_folder, output_of, run};

/// What to look at.
#[derive(Args)]
pub(crate) struct Options {
    /// The crates, one after the other.
    #[arg(default_values = ["request", "observe", "extproc", "ledger"])]
    crates: Vec<String>,
}

/// Runs the tests, and tells the lines of each file that they do not reach. Lines of tests do not count.
pub(crate) fn tell(workspace: &Workspace, options: &Options) -> Result<()> {
    let libraries = output_of(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let tools = Path::new(libraries.trim()).with_file_name("bin");
    if !tools.join("llvm-cov").exists() {
        bail!("llvm-cov is missing; `rustup component add llvm-tools` brings it");
    }
    let program = CARGO_LLVM_COV.program(workspace)?;
    let folder = cache_folder()?.join("coverage");
    // What is left there of older code would count too.
    run(workspace
        .cargo()
        .args(["clean", "--quiet", "--workspace", "--profile=ci"])
        .env("CARGO_TARGET_DIR", &folder))?;
    let report = tempfile::NamedTempFile::new().context("cannot make a file for the report")?;
    for name in &options.crates {
        run(Command::new(&program)
            .current_dir(workspace.root())
            .args(["llvm-cov", "test", "--profile=ci", "--lib", "--lcov"])
            .arg(r"--ignore-filename-regex=/(tests|fuzz)(/|\.rs$)")
            .arg(format!("--package=pointsman-{name}"))
            .arg(format!("--output-path={}", report.path().display()))
            .env("CARGO_LLVM_COV_TARGET_DIR", &folder)
            .env("INSTA_UPDATE", "no"))?;
        let sources = workspace.root().join("crates").join(name).join("src");
        let (mut lines, mut missed) = (0, 0);
        let text = fs::read_to_string(&report).context("cannot read the report")?;
        for file in text.split("end_of_record") {
            let mut parts = file.trim().lines();
            let path = parts.next().and_then(|path| path.strip_prefix("SF:"));
            let Some(path) = path.filter(|path| Path::new(path).starts_with(&sources)) else {
                continue;
            };
            let source = fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
            let end = source
                .lines()
                .take_while(|line| *line != "mod tests {")
                .count();
            let counts = parts.filter_map(|part| part.strip_prefix("DA:")?.split_once(','));
            let is_product = |line: &str| line.parse().is_ok_and(|line: usize| line <= end);
            let counts: Vec<_> = counts.filter(|(line, _)| is_product(line)).collect();
            let unreached = counts.iter().filter(|(_, times)| *times == "0");
            let unreached: Vec<_> = unreached.map(|(line, _)| *line).collect();
            if !unreached.is_empty() {
                eprintln!("{path}: not {}", unreached.join(", "));
            }
            lines += counts.len();
            missed += unreached.len();
        }
        eprintln!("{name}: {} of {lines} lines", lines - missed);
    }
    Ok(())
}

const CARGO_LLVM_COV: Tool<'_> = Tool {
    name: "cargo-llvm-cov",
    version: "0.9.1",
    options: &[],
};
