//! Checks that what the documents point at is there: files, headings, and the tests that show a
//! promise.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

/// Reads every document of the root and of `docs`, and fails if a link leads nowhere.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut documents = Vec::new();
    documents_in(workspace.root(), &mut documents)?;
    let mut folders = vec![workspace.root().join("docs")];
    while let Some(folder) = folders.pop() {
        folders.extend(documents_in(&folder, &mut documents)?);
    }
    let mut faults = Vec::new();
    for document in &documents {
        let text = read(document)?;
        for link in links(&text) {
            if let Some(fault) = fault(document, &text, &link)? {
                let shown = document.strip_prefix(workspace.root()).unwrap_or(document);
                faults.push(format!("  {}: {fault}", shown.display()));
            }
        }
    }
    if !faults.is_empty() {
        bail!(
            "links lead nowhere; name what is there now:\n{}",
            faults.join("\n")
        );
    }
    Ok(())
}

/// `[text](target)`
#[derive(Debug, PartialEq)]
struct Link<'a> {
    text: &'a str,
    target: &'a str,
}

/// Adds the documents of a folder, and returns the folders in it.
fn documents_in(folder: &Path, documents: &mut Vec<PathBuf>) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            folders.push(path);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(folders)
}

/// The links of a document, without those in code blocks.
fn links(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else {
                break;
            };
            let text = before.rsplit('[').next().unwrap_or(before);
            links.push(Link { text, target });
            rest = after;
        }
    }
    links
}

/// What is wrong with a link of `document`, whose text is `own`.
fn fault(document: &Path, own: &str, link: &Link<'_>) -> Result<Option<String>> {
    if link.target.contains("://") {
        return Ok(None);
    }
    let (path, heading) = match link.target.split_once('#') {
        Some((path, heading)) => (path, Some(heading)),
        None => (link.target, None),
    };
    let file = document.with_file_name(path);
    let named = if path.is_empty() { document } else { &file };
    if !named.exists() {
        return Ok(Some(format!("there is no {path}")));
    }
    if let Some(heading) = heading {
        let text = if path.is_empty() {
            own.to_owned()
        } else {
            read(&file)?
        };
        if !has_heading(&text, heading) {
            return Ok(Some(format!("{path} has no heading #{heading}")));
        }
    }
    if let Some(test) = test_name(link)
        && !read(&file)?.contains(&format!("fn {test}("))
    {
        return Ok(Some(format!("{path} has no test {test}")));
    }
    Ok(None)
}

/// The test that a link names: a function's name as code, with the file that holds it.
fn test_name<'a>(link: &Link<'a>) -> Option<&'a str> {
    let name = link.text.strip_prefix('`')?.strip_suffix('`')?;
    let is_name = name.contains('_') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && link.target.ends_with(".rs")).then_some(name)
}

/// Whether a heading has this anchor, as code hosts make it.
fn has_heading(text: &str, anchor: &str) -> bool {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .map(|heading| {
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            kept.map(|c| if c == ' ' { '-' } else { c })
                .collect::<String>()
        })
        .any(|heading| heading == anchor)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code_blocks() {
        let text = "See [a](b.md), [`c_d`](e.rs).\n```text\n[f](g)\n```\n[h]: https://i\n";
        let found = links(text);
        assert_eq!(
            found,
            [
                Link {
                    text: "a",
                    target: "b.md"
                },
                Link {
                    text: "`c_d`",
                    target: "e.rs"
                },
            ]
        );
    }

    #[test]
    fn a_missing_file_heading_or_test_is_told_and_what_is_there_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let document = folder.path().join("a.md");
        fs::write(&document, "## Own\n").unwrap();
        fs::write(folder.path().join("b.md"), "# What it is, and why\n").unwrap();
        fs::write(folder.path().join("c.rs"), "fn it_holds() {}\n").unwrap();
        let of = |text, target| fault(&document, "## Own\n", &Link { text, target }).unwrap();
        for (text, target) in [
            ("b", "b.md"),
            ("b", "b.md#what-it-is-and-why"),
            ("own", "#own"),
            ("`it_holds`", "c.rs"),
            ("`Pool`", "c.rs"),
            ("far", "https://example.org/x"),
        ] {
            assert_eq!(of(text, target), None, "{target}");
        }
        for (text, target, told) in [
            ("b", "d.md", "there is no d.md"),
            ("b", "b.md#why", "b.md has no heading #why"),
            ("own", "#other", " has no heading #other"),
            ("`it_hold`", "c.rs", "c.rs has no test it_hold"),
        ] {
            assert_eq!(of(text, target).as_deref(), Some(told));
        }
    }
}
