//! Writes every generated file of the tree, or tells which of them is not as it would be written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, run};

/// Generates all and brings the tree to that state.
pub(crate) fn write(workspace: &Workspace) -> Result<()> {
    let files = generate(workspace)?;
    for difference in differences(workspace.root(), &files)? {
        let path = workspace.root().join(difference.path());
        match difference {
            Difference::Left(_) => fs::remove_file(&path),
            Difference::Changed(_, text) => fs::create_dir_all(path.parent().unwrap_or(&path))
                .and_then(|()| fs::write(&path, text)),
        }
        .with_context(|| format!("cannot bring {} up to date", path.display()))?;
    }
    Ok(())
}

/// Generates all and compares it with the tree, which it leaves as it is.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let files = generate(workspace)?;
    let differences = differences(workspace.root(), &files)?;
    if differences.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = differences
        .iter()
        .map(|difference| format!("  {}", difference.path().display()))
        .collect();
    bail!(
        "generated files are out of date; run `make generate` and commit:\n{}",
        paths.join("\n")
    )
}

/// The text of each generated file, by its path from the root.
type Files = BTreeMap<PathBuf, String>;

/// How the tree differs from what is generated.
#[derive(Debug, PartialEq)]
enum Difference<'a> {
    /// The file is missing or holds another text than this.
    Changed(&'a Path, &'a str),
    /// The file is in a generated folder but no longer generated.
    Left(PathBuf),
}

impl Difference<'_> {
    fn path(&self) -> &Path {
        match self {
            Self::Changed(path, _) => path,
            Self::Left(path) => path,
        }
    }
}

fn generate(workspace: &Workspace) -> Result<Files> {
    let mut files = Files::new();
    messages(workspace, &mut files)?;
    files.insert(
        PathBuf::from("docs/configuration.md"),
        pointsman_policy::reference::markdown(),
    );
    Ok(files)
}

/// `proto/*.proto` to Rust, formatted as `cargo fmt` formats the rest of the tree.
fn messages(workspace: &Workspace, files: &mut Files) -> Result<()> {
    let protos = workspace.root().join("proto");
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let descriptors = protox::compile(MESSAGES.map(|name| protos.join(name)), [&protos])
        .context("compile the messages")?;
    tonic_prost_build::configure()
        .build_transport(false)
        // Pure crates use the messages, and do without types of tonic.
        .client_mod_attribute(".", SERVICES)
        .server_mod_attribute(".", SERVICES)
        .bytes(".")
        // The same report is the same bytes.
        .btree_map(".xds.data.orca.v3")
        .out_dir(scratch.path())
        .compile_fds(descriptors)
        .context("generate Rust for the messages")?;
    let generated = names_in(scratch.path())?;
    run(Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(workspace.root().join("rustfmt.toml"))
        .args(generated.iter().map(|name| scratch.path().join(name))))?;
    for name in generated {
        let text = read(&scratch.path().join(&name))?;
        files.insert(Path::new(MESSAGES_FOLDER).join(name), text);
    }
    Ok(())
}

fn differences<'a>(root: &Path, files: &'a Files) -> Result<Vec<Difference<'a>>> {
    let mut differences = Vec::new();
    for (path, text) in files {
        let full = root.join(path);
        if !full.exists() || read(&full)? != *text {
            differences.push(Difference::Changed(path, text));
        }
    }
    let folder = root.join(MESSAGES_FOLDER);
    if folder.exists() {
        let left = names_in(&folder)?
            .into_iter()
            .map(|name| Path::new(MESSAGES_FOLDER).join(name))
            .filter(|path| !files.contains_key(path));
        differences.extend(left.map(Difference::Left));
    }
    Ok(differences)
}

/// The names in a folder, in order.
fn names_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        names.push(PathBuf::from(entry?.file_name()));
    }
    names.sort();
    Ok(names)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The files in `proto/` that Rust is generated for.
const MESSAGES: [&str; 4] = [
    "ext_proc.proto",
    "health.proto",
    "orca.proto",
    "vllm_engine.proto",
];

/// Stands before each module of a service.
const SERVICES: &str = "#[cfg(feature = \"services\")]";

/// Holds generated files only.
const MESSAGES_FOLDER: &str = "crates/proto/src/generated";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_a_missing_and_a_left_file_are_found_and_an_equal_one_is_not() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(MESSAGES_FOLDER);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [("equal.rs", "a"), ("changed.rs", "b"), ("left.rs", "c")] {
            fs::write(folder.join(name), text).unwrap();
        }
        let files: Files = [("equal.rs", "a"), ("changed.rs", "B"), ("missing.rs", "d")]
            .map(|(name, text)| (Path::new(MESSAGES_FOLDER).join(name), text.to_owned()))
            .into();
        let found = differences(root.path(), &files).unwrap();
        let within = |name: &str| Path::new(MESSAGES_FOLDER).join(name);
        assert_eq!(
            found,
            [
                Difference::Changed(&within("changed.rs"), "B"),
                Difference::Changed(&within("missing.rs"), "d"),
                Difference::Left(within("left.rs")),
            ]
        );
    }
}
