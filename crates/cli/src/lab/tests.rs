//! The document of the simulator against the simulator.

use std::collections::BTreeSet;

use pointsman_lab::policy;

use super::run::tests::output;

const DOCUMENT: &str = include_str!("../../../../docs/simulation.md");

/// The first YAML of the document.
fn example() -> &'static str {
    let (_, rest) = DOCUMENT.split_once("```yaml\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_example_of_the_document_runs_and_its_checks_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("restart.yaml");
    std::fs::write(&path, example()).unwrap();
    let (result, text) = output(&[path.to_str().unwrap()]);
    result.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(
        text.contains("4 checks hold, 0 fail, 0 were not judged"),
        "{text}"
    );
}

#[test]
fn the_document_names_every_measure() {
    let (_, text) = output(&["s02", "s03", "s12", "--seeds", "1", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let runs = document["scenarios"].as_array().unwrap().iter();
    let runs = runs.flat_map(|scenario| scenario["runs"].as_array().unwrap());
    let measures: BTreeSet<&String> = runs
        .flat_map(|run| run["seeds"][0]["measures"].as_object().unwrap().keys())
        .filter(|name| !name.contains('.'))
        .collect();
    assert!(measures.len() > 30, "{measures:?}");
    for name in measures {
        assert!(DOCUMENT.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_document_names_every_policy() {
    for policy in policy::BUILTIN {
        let row = format!("\n| `{}` | {} |\n", policy.name, policy.about);
        assert!(DOCUMENT.contains(&row), "{row}");
    }
}
