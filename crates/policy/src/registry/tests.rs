use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::*;
use crate::fields::{Fields, within};
use crate::parameter::Row;
use crate::problem::Findings;

fn names(plugin_type: &PluginType) -> Vec<&'static str> {
    rows(plugin_type).iter().map(|row| row.name()).collect()
}

fn rows(plugin_type: &PluginType) -> &'static [&'static dyn Row] {
    match plugin_type.state {
        State::Built(built) => built.parameters,
        State::Accepted(accepted) => accepted.parameters,
        State::NotBuilt => &[],
    }
}

fn read(plugin_type: &PluginType, fields: &mut Fields<'_>) {
    match plugin_type.state {
        State::Built(built) => {
            (built.read)(fields);
        }
        State::Accepted(accepted) => accepted.parameters.iter().for_each(|row| row.check(fields)),
        State::NotBuilt => {}
    }
}

/// A mapping in which each name has this value.
fn object(names: &[&str], value: &Value) -> Value {
    let mut object = Map::new();
    for name in names {
        match name.split_once('.') {
            Some((outer, inner)) => {
                let inside = object.entry(outer).or_insert_with(|| json!({}));
                inside[inner] = value.clone();
            }
            None => {
                object.insert((*name).to_owned(), value.clone());
            }
        }
    }
    Value::Object(object)
}

#[test]
fn every_name_is_there_once() {
    let names: BTreeSet<_> = PLUGIN_TYPES
        .iter()
        .map(|plugin_type| plugin_type.name)
        .collect();
    assert_eq!(names.len(), PLUGIN_TYPES.len());
}

#[test]
fn the_reference_lists_exactly_the_parameters_that_are_read() {
    for plugin_type in PLUGIN_TYPES {
        let mut asked = BTreeSet::new();
        within(None, "", &mut Findings::default(), |fields| {
            read(plugin_type, fields);
            asked.extend(fields.asked().iter().copied());
        });
        let listed: BTreeSet<_> = names(plugin_type).into_iter().collect();
        assert_eq!(asked, listed, "{}", plugin_type.name);
        assert_eq!(
            listed.len(),
            rows(plugin_type).len(),
            "{}",
            plugin_type.name
        );
    }
}

#[test]
fn every_parameter_of_a_wrong_type_is_told_with_its_path() {
    for plugin_type in PLUGIN_TYPES {
        let typed = rows(plugin_type)
            .iter()
            .filter(|row| row.range_text() != "any value");
        let wrong: Vec<_> = typed.map(|row| row.name()).collect();
        let mut findings = Findings::default();
        // No parameter is a list of lists.
        let object = object(&wrong, &json!([[]]));
        within(Some(&object), "p", &mut findings, |fields| {
            read(plugin_type, fields)
        });
        let told = findings
            .finish(())
            .map_or_else(|problems| problems.0, |_| Vec::new());
        let told = told.into_iter().map(|problem| problem.path);
        let told: BTreeSet<_> = told.map(|path| path.replace("[0]", "")).collect();
        let expected: BTreeSet<_> = wrong.iter().map(|name| format!("p.{name}")).collect();
        assert_eq!(told, expected, "{}", plugin_type.name);
    }
}

#[test]
fn only_what_llm_d_adds_by_itself_is_supplied() {
    assert!(is_supplied("openai-parser", Role::Parser));
    assert!(is_supplied(
        "utilization-detector",
        Role::SaturationDetector
    ));
    assert!(!is_supplied("openai-parser", Role::Picker));
    assert!(!is_supplied("vllmgrpc-parser", Role::Parser));
    assert!(!is_supplied("queue-scorer", Role::Scorer));
}
