//! Where the checkout and the cache are, and how cargo is called in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt};

use anyhow::{Context as _, Result, bail};

/// The checkout that this command works on.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Asks cargo at run time. A path compiled in could be that of another checkout, when two of
    /// them share one target folder.
    pub(crate) fn find() -> Result<Self> {
        let crate_folder = env::var_os("CARGO_MANIFEST_DIR")
            .context("CARGO_MANIFEST_DIR is not set: run this as `cargo xtask <command>`")?;
        let root = Path::new(&crate_folder)
            .ancestors()
            .nth(2)
            .context("the crate xtask is not two folders below the root of the workspace")?;
        Ok(Self {
            root: root.to_owned(),
        })
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The cargo that runs this command, called in the root as from a shell.
    ///
    /// What cargo told of `xtask` is taken away: build scripts that look at it (that of `ring`
    /// does) would run again each time that a call from here follows one from a shell.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            if is_about_xtask(&name.to_string_lossy()) {
                command.env_remove(name);
            }
        }
        command
    }
}

fn is_about_xtask(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

/// The folder for what is built or fetched once: `POINTSMAN_CACHE`, else the user's cache folder.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable("POINTSMAN_CACHE") {
        return Ok(PathBuf::from(folder));
    }
    if let Some(folder) = variable("XDG_CACHE_HOME") {
        return Ok(Path::new(&folder).join("pointsman"));
    }
    variable("HOME")
        .map(|home| Path::new(&home).join(".cache/pointsman"))
        .context("no cache folder is known: set POINTSMAN_CACHE, XDG_CACHE_HOME or HOME")
}

/// Runs a command and shows its output; fails when it does.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", Shown(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", Shown(command));
    }
    Ok(())
}

/// Runs a command and returns what it wrote to stdout; fails when it does.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", Shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            Shown(command),
            output.status,
            said.trim()
        );
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} wrote text that is not UTF-8", Shown(command)))
}

/// A command as one types it.
struct Shown<'a>(&'a Command);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = Path::new(self.0.get_program());
        let name = program.file_name().unwrap_or_else(|| self.0.get_program());
        write!(f, "`{}", name.display())?;
        for argument in self.0.get_args() {
            write!(f, " {}", argument.display())?;
        }
        f.write_str("`")
    }
}
