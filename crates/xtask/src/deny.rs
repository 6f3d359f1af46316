//! Runs cargo-deny without network.

use std::process::Command;

use anyhow::Result;

use crate::tool::Tool;
use crate::workspace::{Workspace, run};

/// Checks bans, licences and sources as `deny.toml` says.
pub(crate) fn run_checks(workspace: &Workspace) -> Result<()> {
    // cargo-deny looks at the packages of every platform, of which a build fetches only some.
    run(workspace.cargo().args(["fetch", "--locked"]))?;
    run(Command::new(CARGO_DENY.program(workspace)?)
        .current_dir(workspace.root())
        .args(["--offline", "check", "bans", "licenses", "sources"]))
}

const CARGO_DENY: Tool<'_> = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    options: &["--no-default-features"],
};
