//! The crates of the workspace as the rules see them.
//!
//! Edges between our crates are the declared ones, optional ones too, so that no choice of features
//! hides one. The foreign tree of a pure crate is resolved for that crate alone, since in the whole
//! workspace another crate's features would add edges that it does not have.

use std::fs;

use anyhow::{Context as _, Result};
use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

use super::table::{self, Kind};
use crate::workspace::{Workspace, output_of};

/// One crate of the workspace.
pub(super) struct Member {
    /// The package name without `pointsman-`.
    pub(super) name: String,
    /// The crates of the workspace that it declares.
    pub(super) uses: Vec<Use>,
    /// What a pure crate brings into a program; empty for others.
    pub(super) tree: Vec<Node>,
    /// The text of its own `clippy.toml`.
    pub(super) lints: Option<String>,
    /// Whether its manifest takes the lints of the workspace.
    pub(super) inherits_lints: bool,
}

/// An edge to another crate of the workspace.
pub(super) struct Use {
    pub(super) name: String,
    pub(super) purpose: Purpose,
}

/// What a declared dependency is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Code or build script.
    Product,
    /// Tests, examples and benches only.
    Tests,
}

/// A package in a dependency tree.
#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) features: Vec<String>,
    /// The packages that lead to it, the root first, itself last.
    pub(super) path: Vec<String>,
}

/// All crates of the workspace.
pub(super) fn read(workspace: &Workspace) -> Result<Vec<Member>> {
    let metadata = MetadataCommand::new()
        .current_dir(workspace.root())
        .no_deps()
        .exec()
        .context("cannot read the workspace")?;
    let mut members = Vec::new();
    for package in metadata.packages {
        members.push(member(workspace, &package)?);
    }
    Ok(members)
}

fn member(workspace: &Workspace, package: &Package) -> Result<Member> {
    let name = short(&package.name);
    let is_pure = table::row(&name).is_some_and(|row| row.kind == Kind::Pure);
    let manifest = fs::read_to_string(&package.manifest_path)
        .with_context(|| format!("cannot read {}", package.manifest_path))?;
    Ok(Member {
        uses: package.dependencies.iter().filter_map(use_of).collect(),
        tree: if is_pure {
            tree(workspace, &package.name)?
        } else {
            Vec::new()
        },
        lints: fs::read_to_string(package.manifest_path.with_file_name("clippy.toml")).ok(),
        inherits_lints: inherits_lints(&manifest),
        name,
    })
}

/// The edge that a declared dependency is, when it is one to a crate of ours.
pub(super) fn use_of(dependency: &Dependency) -> Option<Use> {
    dependency.path.as_ref()?;
    Some(Use {
        name: short(&dependency.name),
        purpose: match dependency.kind {
            DependencyKind::Development => Purpose::Tests,
            _ => Purpose::Product,
        },
    })
}

fn short(package: &str) -> String {
    package
        .strip_prefix("pointsman-")
        .unwrap_or(package)
        .to_owned()
}

/// What the package brings in on this platform, without macros, which run in the compiler only.
fn tree(workspace: &Workspace, package: &str) -> Result<Vec<Node>> {
    let text = output_of(workspace.cargo().args([
        "tree",
        "--locked",
        "--edges=normal,no-proc-macro",
        "--prefix=depth",
        "--format=|{p}|{f}",
        "--package",
        package,
    ]))?;
    text.lines()
        .filter(|line| !line.is_empty())
        .scan(Vec::new(), |path, line| Some(node(path, line)))
        .collect()
}

/// Reads a line such as `2|tokio v1.54.1|default,sync (*)`. `path` is that of the line before, and
/// then of this one.
pub(super) fn node(path: &mut Vec<String>, line: &str) -> Result<Node> {
    let mut parts = line.trim_end_matches(" (*)").splitn(3, '|');
    let mut part = || {
        parts
            .next()
            .with_context(|| format!("an odd line of cargo tree: {line}"))
    };
    let depth: usize = part()?
        .parse()
        .with_context(|| format!("no depth in: {line}"))?;
    let package = part()?;
    let features = part()?;
    let name = package.split(' ').next().unwrap_or(package).to_owned();
    path.truncate(depth);
    path.push(name.clone());
    Ok(Node {
        name,
        features: features
            .split(',')
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect(),
        path: path.clone(),
    })
}

/// The two spellings that cargo knows.
pub(super) fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim);
    lines.clone().any(|line| line == "lints.workspace = true")
        || (lines.any(|line| line == "[lints]") && lines.next() == Some("workspace = true"))
}
