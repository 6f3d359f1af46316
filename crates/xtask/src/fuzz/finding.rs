//! What broke a target.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::target::{LOG, Target};

/// An input that broke a target.
pub(super) struct Finding {
    /// Where it is kept now.
    input: PathBuf,
    /// What the test said of it.
    said: String,
    log: PathBuf,
}

impl Finding {
    /// Moves the input that libFuzzer left, if it did, to the others that broke the target.
    pub(super) fn collect(target: &Target, log: &str) -> Result<Option<Self>> {
        for found in files(&target.work)? {
            let Some(name) = found.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            // A slow unit is told of, and is no fault.
            let kind = name
                .strip_prefix(FOUND)
                .filter(|it| !it.starts_with("slow"));
            let Some(kind) = kind else {
                continue;
            };
            let folder = target.crashes();
            fs::create_dir_all(&folder)?;
            let input = folder.join(kind);
            fs::copy(&found, &input).with_context(|| format!("cannot keep {}", found.display()))?;
            fs::remove_file(&found)?;
            return Ok(Some(Self {
                input,
                said: said(log),
                log: target.work.join(LOG),
            }));
        }
        Ok(None)
    }

    /// What was found, and what to do about it.
    pub(super) fn told(&self, target: &Target) -> String {
        let Self { input, said, log } = self;
        format!(
            "  {said}\n  input:  {}\n  log:    {}\n  repeat: cargo test --profile ci -p {} --lib {}\n  \
             remedy: mend the kind of fault, give the input a name that tells of it, and move it to \
             {}",
            input.display(),
            log.display(),
            target.package,
            target.test,
            target.corpus().display(),
        )
    }
}

/// The message of the panic, else what libFuzzer says.
fn said(log: &str) -> String {
    let mut lines = log.lines().map(str::trim);
    let panic = lines.find(|line| line.starts_with("panicked at "));
    match panic {
        Some(place) => format!("{place} {}", lines.next().unwrap_or_default()),
        None => log
            .lines()
            .find(|line| line.contains("ERROR: libFuzzer"))
            .unwrap_or("it ended without a word")
            .to_owned(),
    }
}

/// The files of a folder, none if there is no such folder.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What the name of an input begins with that libFuzzer leaves behind.
const FOUND: &str = "found-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_told_by_its_panic_or_else_by_libfuzzer() {
        let log = "#7\tNEW\nError: \npanicked at src/x.rs:2:5:\nassertion failed\n==1== ERROR: libFuzzer: deadly signal\n";
        assert_eq!(said(log), "panicked at src/x.rs:2:5: assertion failed");
        assert_eq!(
            said("==1== ERROR: libFuzzer: timeout"),
            "==1== ERROR: libFuzzer: timeout"
        );
        assert_eq!(said(""), "it ended without a word");
    }
}
