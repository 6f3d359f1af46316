//! Where our own binaries are.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The binary of the commands, `pointsman`.
pub fn pointsman() -> Result<PathBuf> {
    find("pointsman")
}

/// The binary of the picker, `pointsman-epp`.
pub fn pointsman_epp() -> Result<PathBuf> {
    find("pointsman-epp")
}

/// Looks in `POINTSMAN_BIN_DIR` when it is set, else beside the running binary.
fn find(name: &str) -> Result<PathBuf> {
    let folder = match std::env::var_os("POINTSMAN_BIN_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => {
            let running = std::env::current_exe().context("cannot tell which binary runs")?;
            folder_of(&running).to_owned()
        }
    };
    let path = folder.join(name);
    if !path.is_file() {
        bail!(
            "{} does not exist: build it with `cargo build --profile ci -p pointsman-cli \
             -p pointsman-server`, or set POINTSMAN_BIN_DIR to the folder that holds it",
            path.display()
        );
    }
    Ok(path)
}

/// The folder of binaries for a running binary. Tests run from its folder `deps`.
fn folder_of(running: &Path) -> &Path {
    let folder = running.parent().unwrap_or(running);
    if folder.file_name() == Some(OsStr::new("deps")) {
        folder.parent().unwrap_or(folder)
    } else {
        folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_binaries_find_the_same_folder() {
        assert_eq!(
            folder_of(Path::new("/target/ci/deps/up-0123")),
            Path::new("/target/ci")
        );
        assert_eq!(
            folder_of(Path::new("/target/ci/pointsman")),
            Path::new("/target/ci")
        );
    }

    #[test]
    fn a_missing_binary_is_named_with_its_remedy() {
        let text = find("no-such-binary").unwrap_err().to_string();
        assert!(text.contains("no-such-binary"), "{text}");
        assert!(text.contains("cargo build"), "{text}");
    }
}
