//! Finds or installs cargo-deny, and runs it without network.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, cache_folder, run};

/// Checks bans, licences and sources as `deny.toml` says.
pub(crate) fn run_checks(workspace: &Workspace) -> Result<()> {
    // cargo-deny looks at the packages of every platform, of which a build fetches only some.
    run(workspace.cargo().args(["fetch", "--locked"]))?;
    run(Command::new(binary(workspace)?)
        .current_dir(workspace.root())
        .args(["--offline", "check", "bans", "licenses", "sources"]))
}

/// The installed cargo-deny of the cache folder, else one on the PATH, else installed now.
fn binary(workspace: &Workspace) -> Result<OsString> {
    let folder = cache_folder()?.join("tools");
    let cached = folder.join("bin").join("cargo-deny");
    if cached.is_file() {
        return Ok(cached.into());
    }
    let on_path = Command::new("cargo-deny")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if on_path.is_ok_and(|status| status.success()) {
        return Ok("cargo-deny".into());
    }
    run(workspace
        .cargo()
        .args(["install", "cargo-deny", "--version", VERSION, "--locked"])
        .args(["--no-default-features", "--root"])
        .arg(&folder))
    .context("cargo-deny is missing and could not be installed")?;
    Ok(cached.into())
}

const VERSION: &str = "0.20.2";
