//! The fuzz targets of the workspace, built for libFuzzer.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand};
use serde_json::Value;

use crate::workspace::{Workspace, output_of, run};

/// A test that gives an input to what it tests.
#[derive(Debug, PartialEq)]
pub(super) struct Target {
    /// The package that it is a test of.
    pub(super) package: String,
    /// Its path in that.
    pub(super) test: String,
    program: PathBuf,
    /// Where its inputs are kept, beside its source.
    kept: PathBuf,
    /// Where it runs, and what it learnt is kept between runs; may be removed at any time.
    pub(super) work: PathBuf,
}

impl Target {
    /// The name that it is called by here.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.package, self.test)
    }

    /// The folder of inputs that are worth to begin with.
    pub(super) fn corpus(&self) -> PathBuf {
        self.kept.join("corpus")
    }

    /// The folder of inputs that broke it.
    pub(super) fn crashes(&self) -> PathBuf {
        self.kept.join("crashes")
    }

    /// The command that runs it with these arguments of libFuzzer, none of which may have a blank.
    pub(super) fn command(&self, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.work)
            .args([&self.test, "--exact", "--nocapture", "--test-threads=1"])
            .env("BOLERO_LIBFUZZER_ARGS", arguments.join(" "));
        command
    }

    /// The target that a line of output tells of, if it does.
    fn of_line(line: &str, folder: &Path) -> Option<Self> {
        let told: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| told.get(name)?.as_str();
        text("__bolero_target")?;
        let (package, test) = (text("package_name")?, text("test_name")?);
        Some(Self {
            package: package.to_owned(),
            test: test.to_owned(),
            program: text("exe")?.into(),
            kept: text("work_dir")?.into(),
            work: folder.join(package).join(test.replace("::", "-")),
        })
    }
}

/// Builds all targets.
pub(super) fn all(workspace: &Workspace) -> Result<Vec<Target>> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .exec()
        .context("cannot read the workspace")?;
    let folder = metadata.target_directory.join("fuzz").into_std_path_buf();
    let packages = packages_with_bolero(&metadata);
    run(cargo_test(workspace, &folder, &packages)?.arg("--no-run"))?;
    let told = output_of(
        cargo_test(workspace, &folder, &packages)?
            .args(["--", "fuzz::", "--nocapture", "--test-threads=1"])
            .env("CARGO_BOLERO_SELECT", "all"),
    )?;
    let mut targets: Vec<Target> = told
        .lines()
        .filter_map(|line| Target::of_line(line, &folder))
        .collect();
    targets.sort_by_key(Target::name);
    Ok(targets)
}

fn packages_with_bolero(metadata: &Metadata) -> Vec<String> {
    metadata
        .packages
        .iter()
        .filter(|package| package.dependencies.iter().any(|it| it.name == "bolero"))
        .map(|package| format!("--package={}", package.name))
        .collect()
}

/// The call of cargo that builds the tests for libFuzzer. The flags need a target that is named, as
/// they would else be for build scripts and macros too.
fn cargo_test(workspace: &Workspace, folder: &Path, packages: &[String]) -> Result<Command> {
    let version = output_of(workspace.cargo().arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("cargo does not tell what it runs on")?;
    let mut command = workspace.cargo();
    command
        .args(["test", "--profile=ci", "--lib", "--quiet"])
        .arg(format!("--target={host}"))
        .arg("--target-dir")
        .arg(folder.join("build"))
        .args(packages)
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        .env("CARGO_INCREMENTAL", "0");
    Ok(command)
}

/// What a target writes while it runs, in its work folder.
pub(super) const LOG: &str = "log.txt";

/// Those of cargo-bolero: what libFuzzer asks of the compiler. One unit per crate, as the pass that
/// counts can go wrong across several.
const FLAGS: [&str; 8] = [
    "--cfg=fuzzing",
    "--cfg=fuzzing_libfuzzer",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_bolero_tells_of_a_target_and_no_other_does() {
        let line = r#"{"__bolero_target":"v0.5.0","exe":"/b/deps/x","work_dir":"/x/src/__fuzz__/fuzz__y","package_name":"x","is_harnessed":true,"test_name":"fuzz::y"}"#;
        let target = Target::of_line(line, Path::new("/b/fuzz")).unwrap();
        assert_eq!(target.name(), "x fuzz::y");
        assert_eq!(target.work, Path::new("/b/fuzz/x/fuzz-y"));
        assert_eq!(target.corpus(), Path::new("/x/src/__fuzz__/fuzz__y/corpus"));
        for other in ["", "test fuzz::y ... ok", "{}", r#"{"__bolero_target":7}"#] {
            assert_eq!(Target::of_line(other, Path::new("/")), None, "{other}");
        }
    }
}
