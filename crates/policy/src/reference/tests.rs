use std::collections::BTreeSet;

use super::*;
use crate::config::spec::tests::{full, leaves, path_of};

fn listed(fields: &[Field]) -> BTreeSet<String> {
    fields.iter().map(|field| field.path.to_owned()).collect()
}

#[test]
fn every_field_of_the_configuration_has_its_row() {
    let mut spec = full();
    let control = spec.flow_control.as_mut().unwrap();
    // These two have one row each, which points to the list.
    let bands = [
        control.default_priority_band.take(),
        control.default_negative_priority_band.take(),
    ];
    assert!(bands.iter().all(Option::is_some));
    let tree = serde_json::to_value(&spec).unwrap();
    let mut fields: BTreeSet<_> = leaves(&tree)
        .iter()
        .map(|pointer| path_of(pointer).replace(|c: char| c.is_ascii_digit(), ""))
        .collect();
    // It holds anything, so that it has no leaf.
    fields.insert("plugins[].parameters".to_owned());
    fields.insert("flowControl.defaultPriorityBand".to_owned());
    fields.insert("flowControl.defaultNegativePriorityBand".to_owned());
    assert_eq!(listed(CONFIG_FIELDS), fields);
}

#[test]
fn every_field_of_an_endpoint_has_its_row() {
    let endpoint = pointsman_api::endpoints_file::Endpoint {
        labels: [("a".to_owned(), "b".to_owned())].into(),
        ..Default::default()
    };
    let tree = serde_json::to_value(endpoint).unwrap();
    let fields: BTreeSet<_> = tree
        .as_object()
        .unwrap()
        .keys()
        .map(|name| format!("endpoints[].{name}"))
        .collect();
    assert_eq!(listed(ENDPOINT_FIELDS), fields);
}

#[test]
fn every_plugin_type_is_there() {
    let text = markdown();
    for plugin_type in PLUGIN_TYPES {
        assert!(
            text.contains(&format!("`{}`", plugin_type.name)),
            "{}",
            plugin_type.name
        );
    }
}

#[test]
fn the_rows_of_a_table_have_the_columns_of_its_head() {
    let text = markdown();
    let mut columns = None;
    let mut rows = 0;
    for line in text.lines() {
        if !line.starts_with('|') {
            columns = None;
            continue;
        }
        let count = line.matches('|').count();
        assert_eq!(*columns.get_or_insert(count), count, "{line}");
        assert!(line.ends_with('|'), "{line}");
        rows += 1;
    }
    assert!(rows > CONFIG_FIELDS.len() + ENDPOINT_FIELDS.len());
}
