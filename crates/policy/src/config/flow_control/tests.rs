use super::*;
use crate::config::{Attachment, Compiled, compile};
use crate::problem::Problems;

fn config(gates: &[&str], flow_control: FlowControl) -> EndpointPickerConfig {
    EndpointPickerConfig {
        feature_gates: gates.iter().map(|&gate| gate.to_owned()).collect(),
        flow_control: Some(flow_control),
        ..EndpointPickerConfig::default()
    }
}

fn compiled(spec: &EndpointPickerConfig) -> Compiled {
    compile(spec, Attachment::Gateway).unwrap()
}

fn told(spec: &EndpointPickerConfig) -> String {
    compile(spec, Attachment::Gateway).unwrap_err().to_string()
}

fn warned(spec: &EndpointPickerConfig) -> String {
    Problems(compiled(spec).warnings).to_string()
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn nothing_waits_unless_the_gate_is_on() {
    for gates in [
        &[][..],
        &["flowControl=false"],
        &["flowControl", "flowControl=False"],
    ] {
        let spec = config(
            gates,
            FlowControl {
                max_requests: text("7"),
                ..FlowControl::default()
            },
        );
        assert_eq!(compiled(&spec).runtime.hold, HoldLimits::OFF);
        assert!(warned(&spec).starts_with("flowControl: is not active"));
    }
}

#[test]
fn the_gate_alone_gives_the_defaults() {
    let hold = HoldLimits {
        requests_max: 5000,
        bytes_max: 1_000_000_000,
        wait_max: Some(Duration::from_secs(60)),
    };
    for gate in ["flowControl", "flowControl=true", "flowControl= TRUE"] {
        let mut spec = config(&[gate], FlowControl::default());
        assert_eq!(compiled(&spec).runtime.hold, hold);
        spec.flow_control = None;
        assert_eq!(compiled(&spec).runtime.hold, hold);
    }
}

#[test]
fn limits_are_quantities_and_zero_is_the_default() {
    let limits = |requests: &str, bytes: &str| {
        let section = FlowControl {
            max_requests: text(requests),
            max_bytes: text(bytes),
            ..FlowControl::default()
        };
        let hold = compiled(&config(&["flowControl"], section)).runtime.hold;
        (hold.requests_max, hold.bytes_max)
    };
    assert_eq!(limits("1k", "512Mi"), (1000, 536_870_912));
    assert_eq!(limits("0", "0"), (5000, 1_000_000_000));
}

#[test]
fn the_wait_without_endpoints_follows_the_other_and_zero_is_for_ever() {
    let wait = |no_endpoint: Option<&str>, default: Option<&str>| {
        let section = FlowControl {
            no_endpoint_request_ttl: no_endpoint.map(str::to_owned),
            default_request_ttl: default.map(str::to_owned),
            ..FlowControl::default()
        };
        compiled(&config(&["flowControl"], section))
            .runtime
            .hold
            .wait_max
    };
    assert_eq!(wait(None, None), Some(Duration::from_secs(60)));
    assert_eq!(wait(None, Some("5s")), Some(Duration::from_secs(5)));
    assert_eq!(wait(Some("1m"), Some("5s")), Some(Duration::from_secs(60)));
    assert_eq!(wait(Some("0s"), Some("5s")), None);
    assert_eq!(wait(None, Some("0s")), None);
}

#[test]
fn wrong_values_are_told_whether_the_gate_is_on_or_not() {
    let band = PriorityBand {
        max_bytes: text("x"),
        fairness_policy_ref: text("round-robin-fairness-policy"),
        ..PriorityBand::default()
    };
    let section = FlowControl {
        max_requests: text("-1"),
        default_request_ttl: text("soon"),
        priority_bands: vec![band.clone(), PriorityBand::default()],
        default_priority_band: Some(PriorityBand {
            max_requests: text("1e99"),
            ..band
        }),
        ..FlowControl::default()
    };
    for gates in [&[][..], &["flowControl"]] {
        let told = told(&config(gates, section.clone()));
        let paths: Vec<_> = told
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        let paths: Vec<_> = paths.into_iter().map(|(path, _)| path).collect();
        assert_eq!(
            paths,
            [
                "flowControl.defaultPriorityBand.fairnessPolicyRef",
                "flowControl.defaultPriorityBand.maxBytes",
                "flowControl.defaultPriorityBand.maxRequests",
                "flowControl.defaultRequestTTL",
                "flowControl.maxRequests",
                "flowControl.priorityBands[0].fairnessPolicyRef",
                "flowControl.priorityBands[0].maxBytes",
                "flowControl.priorityBands[1].priority",
            ],
        );
    }
}

#[test]
fn what_is_not_built_yet_is_checked_and_warned_of() {
    let section = FlowControl {
        priority_bands: vec![PriorityBand {
            fairness_policy_ref: text("global-strict-fairness-policy"),
            ordering_policy_ref: text("fcfs-ordering-policy"),
            ..PriorityBand::default()
        }],
        usage_limit_policy_plugin_ref: text("static-usage-limit-policy"),
        saturation_detector: Some(SaturationDetector {
            plugin_ref: text("utilization-detector"),
        }),
        enable_eviction: Some(true),
        ..FlowControl::default()
    };
    assert_eq!(
        warned(&config(&["flowControl"], section)),
        "flowControl.priorityBands: is not active in this version: all requests wait in one line\n\
         flowControl.enableEviction: is not active in this version: running requests are never \
         stopped",
    );
}

#[test]
fn an_unknown_gate_and_a_wrong_value_are_told() {
    let gates = ["flowcontrol", "flowControl=maybe", "prepareDataPlugins"];
    assert_eq!(
        told(&config(&gates, FlowControl::default())),
        "featureGates[0]: `flowcontrol` is not a feature gate, did you mean `flowControl`?\n\
         featureGates[1]: `maybe` is neither true nor false: write one of them\n\
         featureGates[2]: `prepareDataPlugins` is not a feature gate: remove it",
    );
}
