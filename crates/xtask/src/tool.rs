//! Programs that are installed with cargo, once for all checkouts.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, cache_folder, run};

/// A program of a package of the same name.
pub(crate) struct Tool<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// What `cargo install` is told besides.
    pub(crate) options: &'a [&'a str],
}

impl Tool<'_> {
    /// The program of the cache folder, else one on the PATH, else installed now. Only one of this
    /// very version counts.
    pub(crate) fn program(&self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = cache_folder()?.join("tools");
        let cached = folder.join("bin").join(self.name);
        for program in [cached.as_path(), Path::new(self.name)] {
            if self.is(program) {
                return Ok(program.to_owned());
            }
        }
        run(workspace
            .cargo()
            // Built in a temporary folder, as nothing else uses what it is made of.
            .env_remove("CARGO_TARGET_DIR")
            .args(["install", self.name, "--version", self.version, "--locked"])
            .args(self.options)
            .arg("--root")
            .arg(&folder))
        .with_context(|| format!("{} is missing and could not be installed", self.name))?;
        Ok(cached)
    }

    fn is(&self, program: &Path) -> bool {
        // Cargo calls its own programs with their names first, and some want that.
        let first = self.name.strip_prefix("cargo-");
        let said = Command::new(program).args(first).arg("--version").output();
        let expected = format!("{} {}", self.name, self.version);
        said.is_ok_and(|said| said.stdout.trim_ascii() == expected.as_bytes())
    }
}
