//! Checks that each crate uses only what its layer may use, and that pure crates stay pure.
//!
//! The rules are data: [`table`] says who may use whom, [`purity`] which foreign crates a pure
//! crate may not bring in. What no rule speaks of fails: a crate that is not in the table, an edge
//! that is not listed.

mod member;
mod purity;
mod table;

use std::fmt;
use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use member::{Member, Purpose};
use table::{Kind, Row};

/// Reads the workspace, prints every finding, and fails if there is one.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let lints = workspace.root().join("clippy-pure.toml");
    let lints =
        fs::read_to_string(&lints).with_context(|| format!("cannot read {}", lints.display()))?;
    let members = member::read(workspace)?;
    let findings = findings(&members, &lints);
    for finding in &findings {
        eprintln!("{finding}\n");
    }
    if !findings.is_empty() {
        bail!("{} breaches of the layers", findings.len());
    }
    eprintln!("{} crates keep the layers", members.len());
    Ok(())
}

/// A breach: who, what, which rule, and what to do.
#[derive(Debug)]
struct Finding {
    fault: String,
    rule: String,
    remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "error: {}\n  rule: {}\n  remedy: {}",
            self.fault, self.rule, self.remedy
        )
    }
}

/// All breaches of the given crates. `pure_lints` is the text of `clippy-pure.toml`.
fn findings(members: &[Member], pure_lints: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let Some(row) = table::row(&member.name) else {
            findings.push(unknown(member));
            continue;
        };
        findings.extend(member.uses.iter().filter_map(|a_use| {
            let allowed = match a_use.purpose {
                Purpose::Product => row.may_use.contains(&a_use.name.as_str()),
                Purpose::Tests => may_test_with(row.kind, &a_use.name),
            };
            (!allowed).then(|| forbidden_edge(row, &a_use.name, a_use.purpose))
        }));
        if row.kind == Kind::Pure {
            findings.extend(purity::findings(member));
        }
        findings.extend(lint_findings(row, member, pure_lints));
    }
    findings
}

/// Tests of a pure crate are pure too: they use pure crates and `testkit`. Others may test with
/// all but the tools.
fn may_test_with(kind: Kind, name: &str) -> bool {
    table::row(name).is_some_and(|used| match kind {
        Kind::Pure => used.kind == Kind::Pure || name == table::TESTKIT,
        Kind::Shell | Kind::Tool => used.kind != Kind::Tool || name == table::TESTKIT,
    })
}

fn unknown(member: &Member) -> Finding {
    Finding {
        fault: format!("the crate `{}` is in no layer", member.name),
        rule: "every crate of the workspace has a row in crates/xtask/src/layers/table.rs".into(),
        remedy: "decide whether it is pure, a shell or a tool, and what it may use; add the row \
                 there, and the line to the crate maps of README.md"
            .into(),
    }
}

fn forbidden_edge(row: &Row, used: &str, purpose: Purpose) -> Finding {
    let (how, rule) = match (purpose, row.may_use) {
        (Purpose::Product, []) => ("uses", "may use no crate of the workspace".to_owned()),
        (Purpose::Product, some) => ("uses", format!("may use only {}", some.join(", "))),
        (Purpose::Tests, _) if row.kind == Kind::Pure => (
            "tests with",
            "is pure, so its tests may use only pure crates and testkit".to_owned(),
        ),
        (Purpose::Tests, _) => ("tests with", "may not test with tools".to_owned()),
    };
    Finding {
        fault: format!("`{}` {how} `{used}`", row.name),
        rule: format!("`{}` {rule}", row.name),
        remedy: "move the shared type down to `domain`, or pass the value in from the crate that \
                 owns both; a new arrow needs a change of the table and its reason in the commit"
            .into(),
    }
}

/// A pure crate has an equal copy of the pure lint settings, another crate none; all inherit the
/// lints of the workspace.
fn lint_findings(row: &Row, member: &Member, pure_lints: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let expected = (row.kind == Kind::Pure).then_some(pure_lints);
    if member.lints.as_deref() != expected {
        let (rule, remedy) = match expected {
            Some(_) => (
                "the clippy.toml of a pure crate equals clippy-pure.toml",
                "copy clippy-pure.toml over it",
            ),
            None => (
                "only pure crates have a clippy.toml, since it replaces that of the root",
                "delete it, or move its settings to the root's",
            ),
        };
        findings.push(Finding {
            fault: format!("`{}` has other lint settings than its layer", row.name),
            rule: rule.into(),
            remedy: remedy.into(),
        });
    }
    if !member.inherits_lints {
        findings.push(Finding {
            fault: format!("`{}` does not inherit the lints of the workspace", row.name),
            rule: "every manifest has `[lints]` with `workspace = true`".into(),
            remedy: "add these two lines to its Cargo.toml".into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests;
