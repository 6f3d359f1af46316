//! Counts the instructions of the hot functions, which are those of `crates/counts`.

mod comparison;
mod values;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tool::Tool;
use crate::workspace::{Workspace, output_of, run};
use comparison::Comparison;
use values::Values;

/// Compares the counts with the stored ones.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let now = count(workspace)?;
    let file = file(workspace);
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let stored =
        Values::parse(&text).with_context(|| format!("cannot understand {}", file.display()))?;
    let comparison = Comparison::of(&stored, &now);
    eprint!("{comparison}");
    let faults = comparison.faults();
    if !faults.is_empty() {
        bail!(
            "not all counts are as stored:\n  {}\nif that is meant, {REMEDY}",
            faults.join("\n  ")
        );
    }
    let hints = comparison.hints();
    if !hints.is_empty() {
        eprintln!("{}\nto keep that, {REMEDY}", hints.join("\n"));
    }
    Ok(())
}

/// Stores the counts.
pub(crate) fn store(workspace: &Workspace) -> Result<()> {
    let now = count(workspace)?;
    let file = file(workspace);
    fs::write(&file, now.to_string()).with_context(|| format!("cannot write {}", file.display()))
}

fn file(workspace: &Workspace) -> PathBuf {
    workspace.root().join("crates/counts/values.json")
}

fn count(workspace: &Workspace) -> Result<Values> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("counts can be compared on Linux on x86-64 only");
    }
    output_of(Command::new("valgrind").arg("--version"))
        .context("valgrind is missing; on Debian, `apt-get install valgrind` brings it")?;
    let version = gungraun_version(workspace)?;
    let runner = Tool {
        name: "gungraun-runner",
        version: &version,
        // It spends its time waiting for valgrind: to optimise it would only take longer.
        options: &["--debug", "--config", "profile.dev.debug=false"],
    };
    let runner = runner.program(workspace)?;
    let bench = |arguments: &[&str]| {
        let mut command = workspace.cargo();
        command
            .args(BENCH)
            .args(arguments)
            .env("GUNGRAUN_RUNNER", &runner)
            .env("CARGO_ENCODED_RUSTFLAGS", "-Ctarget-cpu=x86-64");
        command
    };
    run(&mut bench(&["--no-run"]))?;
    let summaries = output_of(&mut bench(&["--", "--output-format=json", "--parallel"]))?;
    Values::of_summaries(&summaries)
}

/// The version of the library, which the runner must have too.
fn gungraun_version(workspace: &Workspace) -> Result<String> {
    let id = output_of(workspace.cargo().args(["pkgid", "gungraun"]))?;
    let (_, version) = id
        .trim()
        .rsplit_once('@')
        .context("cargo does not tell the version of gungraun")?;
    Ok(version.to_owned())
}

/// The package is built alone: together with others, its dependencies would get the features that
/// those ask for.
const BENCH: [&str; 4] = [
    "bench",
    "--profile=counts",
    "--package=pointsman-counts",
    "--bench=counts",
];

const REMEDY: &str = "store the new counts with `cargo xtask counts --store`, in a commit of its \
    own that says why they changed";
