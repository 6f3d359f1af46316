use serde_json::json;

use super::*;

/// A configuration that has every field.
pub(crate) fn full() -> EndpointPickerConfig {
    let band = json!({
        "priority": -1,
        "maxBytes": "1G",
        "maxRequests": "100",
        "fairnessPolicyRef": "global-strict-fairness-policy",
        "orderingPolicyRef": "fcfs-ordering-policy",
    });
    let tree = json!({
        "apiVersion": "llm-d.ai/v1alpha1",
        "kind": "EndpointPickerConfig",
        "featureGates": ["flowControl"],
        "plugins": [
            { "name": "queue", "type": "queue-scorer", "parameters": {} },
            { "type": "core-metrics-extractor" },
            { "type": "metrics-data-source" },
            { "type": "file-discovery" },
        ],
        "schedulingProfiles": [
            { "name": "default", "plugins": [{ "pluginRef": "queue", "weight": 2.5 }] },
        ],
        "dataLayer": {
            "injectDefaults": true,
            "sources": [{
                "pluginRef": "metrics-data-source",
                "extractors": [{ "pluginRef": "core-metrics-extractor" }],
            }],
            "discovery": { "pluginRef": "file-discovery" },
            "peerDiscovery": { "pluginRef": "file-discovery" },
            "crossReplicaSyncerPluginRef": "queue",
            "crossReplicaSyncInterval": "100ms",
        },
        "requestHandler": { "parsers": [{ "pluginRef": "openai-parser" }] },
        "parser": { "pluginRef": "openai-parser" },
        "saturationDetector": { "pluginRef": "utilization-detector" },
        "flowControl": {
            "maxBytes": "512Mi",
            "maxRequests": "100",
            "defaultRequestTTL": "60s",
            "noEndpointRequestTTL": "30s",
            "defaultPriorityBand": band,
            "defaultNegativePriorityBand": band,
            "priorityBands": [band],
            "usageLimitPolicyPluginRef": "static-usage-limit-policy",
            "saturationDetector": { "pluginRef": "utilization-detector" },
            "enableEviction": false,
        },
    });
    serde_json::from_value(tree).unwrap()
}

/// The places of all values that are neither mappings nor lists, as JSON pointers.
pub(crate) fn leaves(tree: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match tree {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(index, item)| (index.to_string(), item))
            .collect(),
        _ => return vec![String::new()],
    };
    let below = |(key, value)| {
        leaves(value)
            .into_iter()
            .map(move |rest| format!("/{key}{rest}"))
    };
    children.into_iter().flat_map(below).collect()
}

/// A JSON pointer as a path: `/plugins/0/name` is `plugins[0].name`.
pub(crate) fn path_of(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{part}]"));
        } else if path.is_empty() {
            path.push_str(part);
        } else {
            path.push_str(&format!(".{part}"));
        }
    }
    path
}

fn read_tree(tree: &Value) -> (EndpointPickerConfig, Vec<String>) {
    let mut findings = Findings::default();
    let spec = read(&serde_json::to_string(tree).unwrap(), &mut findings);
    let problems = findings
        .finish(())
        .map_or_else(|problems| problems.0, |_| Vec::new());
    (
        spec,
        problems.into_iter().map(|problem| problem.path).collect(),
    )
}

#[test]
fn what_serde_writes_is_read_as_the_same_spec() {
    for spec in [full(), EndpointPickerConfig::default()] {
        let tree = serde_json::to_value(&spec).unwrap();
        assert_eq!(read_tree(&tree), (spec.clone(), Vec::new()));
        let mut findings = Findings::default();
        assert_eq!(
            read(&serde_yaml::to_string(&spec).unwrap(), &mut findings),
            spec
        );
        assert!(findings.finish(()).is_ok());
    }
}

#[test]
fn every_field_of_a_wrong_type_is_told_with_its_path() {
    let tree = serde_json::to_value(full()).unwrap();
    for pointer in leaves(&tree) {
        let mut broken = tree.clone();
        *broken.pointer_mut(&pointer).unwrap() = json!([[]]);
        assert_eq!(read_tree(&broken).1, [path_of(&pointer)]);
    }
}

#[test]
fn an_unknown_field_is_told_at_every_level() {
    let tree = serde_json::to_value(full()).unwrap();
    let parents = leaves(&tree)
        .into_iter()
        .map(|leaf| leaf.rsplit_once('/').unwrap().0.to_owned());
    for parent in parents {
        let mut broken = tree.clone();
        // The list of feature gates has texts only.
        let Some(Value::Object(object)) = broken.pointer_mut(&parent) else {
            continue;
        };
        object.insert("pluginReff".to_owned(), json!(1));
        assert_eq!(
            read_tree(&broken).1,
            [path_of(&format!("{parent}/pluginReff"))]
        );
    }
}

#[test]
fn null_is_absent() {
    let mut tree = serde_json::to_value(EndpointPickerConfig::default()).unwrap();
    for name in [
        "featureGates",
        "plugins",
        "schedulingProfiles",
        "dataLayer",
        "parser",
    ] {
        tree[name] = Value::Null;
    }
    assert_eq!(
        read_tree(&tree),
        (EndpointPickerConfig::default(), Vec::new())
    );
}

#[test]
fn an_entry_that_is_no_mapping_keeps_the_places_of_the_others() {
    let text = "apiVersion: a\nkind: b\nplugins:\n- queue-scorer\n- type: x\n-\n";
    let mut findings = Findings::default();
    let spec = read(text, &mut findings);
    assert_eq!(spec.plugins.len(), 3);
    assert_eq!(spec.plugins[1].plugin_type, "x");
    assert_eq!(
        findings.finish(()).unwrap_err().to_string(),
        "plugins[0]: must be a mapping, not the text `queue-scorer`\n\
         plugins[2].type: is required: add it",
    );
}
