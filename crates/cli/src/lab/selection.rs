//! Scenarios and policies by name or file.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use clap::error::ErrorKind as UsageKind;
use pointsman_lab::builtin;
use pointsman_lab::policy::{self, Policy};
use pointsman_lab::scenario::{Case, Scenario};

/// A scenario that was asked for.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// The scenario.
    pub(super) scenario: Scenario,
    /// The word that stands for it on a command line.
    pub(super) word: String,
    /// Where the files that it names are.
    folder: PathBuf,
}

impl Chosen {
    /// The scenarios of these words, in their order; `all` stands for the built-in ones.
    pub(super) fn all(words: &[String]) -> Result<Vec<Self>> {
        let mut chosen: Vec<Self> = Vec::new();
        let mut add = |word: &str| {
            if !chosen.iter().any(|chosen| chosen.word == word) {
                chosen.push(Self::new(word)?);
            }
            Ok::<(), Error>(())
        };
        for word in words {
            if word == ALL {
                for scenario in builtin::SCENARIOS {
                    add(scenario.name)?;
                }
            } else {
                add(word)?;
            }
        }
        Ok(chosen)
    }

    /// The scenario of this word.
    pub(super) fn new(word: &str) -> Result<Self> {
        let folder = Path::new(word).parent().unwrap_or_else(|| Path::new(""));
        let scenario = match builtin::find(word) {
            Some(scenario) => scenario.scenario(),
            None => Scenario::parse(
                &text(word, Path::new(word), "scenario", &scenarios())?,
                &|name| {
                    let path = folder.join(name);
                    fs::read_to_string(&path)
                        .map_err(|error| format!("{}: {error}", path.display()))
                },
            ),
        };
        Ok(Self {
            scenario: scenario.map_err(|error| wrong(format!("scenario {word}: {error}")))?,
            word: word.to_owned(),
            folder: folder.to_owned(),
        })
    }

    /// The policies of `words`, or else those that the case names.
    pub(super) fn policies(&self, case: &Case, words: &[String]) -> Result<Vec<Policy>> {
        let (words, folder) = if words.is_empty() {
            (case.policies.as_slice(), self.folder.as_path())
        } else {
            (words, Path::new(""))
        };
        let mut policies: Vec<Policy> = Vec::new();
        for word in words {
            if !policies.iter().any(|policy| policy.name == *word) {
                policies.push(policy(word, folder)?);
            }
        }
        if policies.is_empty() {
            let of = format!("{}, case {}", self.word, case.name);
            return Err(wrong(format!(
                "{of} names no policy: name one with --policy"
            )));
        }
        Ok(policies)
    }

    /// The word for a policy on a command line, wherever it was named.
    pub(super) fn policy_word(&self, name: &str, words: &[String]) -> String {
        if policy::find(name).is_some() || words.iter().any(|word| word == name) {
            name.to_owned()
        } else {
            self.folder.join(name).display().to_string()
        }
    }

    /// Its cases of these names, or all.
    pub(super) fn cases(&self, names: &[String]) -> Vec<&Case> {
        let cases = self.scenario.cases.iter();
        let named = |case: &&Case| names.is_empty() || names.contains(&case.name);
        cases.filter(named).collect()
    }
}

/// Refuses names of cases that no scenario has.
pub(super) fn check_cases(chosen: &[Chosen], names: &[String]) -> Result<()> {
    for name in names {
        if !chosen
            .iter()
            .any(|chosen| chosen.scenario.case(name).is_some())
        {
            let known: Vec<String> = chosen.iter().map(cases_of).collect();
            let known = known.join("; ");
            return Err(wrong(format!("there is no case `{name}`: {known}")));
        }
    }
    Ok(())
}

/// The command line was wrong; the process ends with 2.
pub(super) fn wrong(what: String) -> Error {
    clap::Error::raw(UsageKind::ValueValidation, format!("{what}\n")).into()
}

/// A word as it has to be typed in a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The policy of a name, or of a configuration file.
fn policy(word: &str, folder: &Path) -> Result<Policy> {
    let text = match policy::find(word) {
        Some(policy) => policy.text.to_owned(),
        None => text(word, &folder.join(word), "policy", &policies())?,
    };
    Policy::parse(word, &text).map_err(|problems| {
        wrong(format!(
            "the configuration {word} cannot be used:\n{problems}"
        ))
    })
}

fn text(word: &str, path: &Path, what: &str, known: &str) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            wrong(format!(
                "there is no {what} `{word}`, built in or as a file; built in are {known}"
            ))
        } else {
            wrong(format!(
                "cannot read the {what} {}: {error}",
                path.display()
            ))
        }
    })
}

fn scenarios() -> String {
    let names: Vec<&str> = builtin::SCENARIOS.iter().map(|s| s.name).collect();
    names.join(", ")
}

fn policies() -> String {
    let names: Vec<&str> = policy::BUILTIN.iter().map(|policy| policy.name).collect();
    names.join(", ")
}

fn cases_of(chosen: &Chosen) -> String {
    let names: Vec<&str> = chosen
        .scenario
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    format!("{} has {}", chosen.word, names.join(", "))
}

const ALL: &str = "all";

#[cfg(test)]
mod tests;
