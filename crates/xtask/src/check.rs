//! The steps that a change must pass. Each prints its seconds; the first that fails ends the run
//! and names the command that repeats it.

use std::time::Instant;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, run};
use crate::{deny, generate, layers, references};

/// Everything but the end-to-end tests. The quick steps come first.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    cargo(workspace, "format", &["fmt", "--all", "--check"])?;
    step("layers", "cargo xtask layers", || layers::run(workspace))?;
    step("references", "cargo xtask references", || {
        references::run(workspace)
    })?;
    step("generated files", "cargo xtask generate --check", || {
        generate::check(workspace)
    })?;
    step("deny", "cargo xtask deny", || deny::run_checks(workspace))?;
    cargo(workspace, "clippy", &CLIPPY)?;
    cargo(workspace, "tests", &TESTS)?;
    cargo(workspace, "doc tests", &DOC_TESTS)?;
    cargo(workspace, "documentation", &DOCUMENTATION)
}

/// `check`, then the tests that start a real Envoy, the picker and engines.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    check(workspace)?;
    cargo(workspace, "binaries", &BINARIES)?;
    cargo(workspace, "tests with Envoy", &TESTS_WITH_ENVOY)
}

/// A step that is one call of cargo.
fn cargo(workspace: &Workspace, name: &str, arguments: &[&str]) -> Result<()> {
    let repeat = format!("cargo {}", arguments.join(" "));
    step(name, &repeat, || {
        run(workspace
            .cargo()
            .args(arguments)
            // A snapshot that differs is a failure, not a file to look at later.
            .env("INSTA_UPDATE", "no")
            .env("RUSTDOCFLAGS", "-D warnings"))
    })
}

fn step(name: &str, repeat: &str, action: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {name}: {repeat}");
    let started = Instant::now();
    action().with_context(|| format!("{name} failed; repeat it with `{repeat}`"))?;
    eprintln!("== {name}: {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

const CLIPPY: [&str; 8] = [
    "clippy",
    "--profile=ci",
    "--workspace",
    "--all-targets",
    "--quiet",
    "--",
    "-D",
    "warnings",
];

// All calls select the whole workspace and some tests, so that they agree on the features of each
// dependency: a call for one package, or without tests, would compile many of them once more.
const TESTS: [&str; 5] = ["test", "--profile=ci", "--workspace", "--lib", "--bins"];

const DOC_TESTS: [&str; 4] = ["test", "--profile=ci", "--workspace", "--doc"];

const DOCUMENTATION: [&str; 4] = ["doc", "--profile=ci", "--workspace", "--no-deps"];

const BINARIES: [&str; 5] = ["build", "--profile=ci", "--workspace", "--bins", "--test=*"];

const TESTS_WITH_ENVOY: [&str; 4] = ["test", "--profile=ci", "--workspace", "--test=*"];
