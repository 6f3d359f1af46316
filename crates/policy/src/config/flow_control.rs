//! The sections `flowControl` and `saturationDetector`: what may wait.

use core::time::Duration;
use std::collections::BTreeSet;

use pointsman_admission::hold::HoldLimits;
use pointsman_api::picker_config::EndpointPickerConfig;
use pointsman_api::picker_config::flow_control::{FlowControl, PriorityBand, SaturationDetector};

use super::feature_gates::FeatureGates;
use super::plugins::Plugins;
use crate::plugin::Role;
use crate::problem::Findings;
use crate::{duration, quantity};

/// Works out what may wait while the pool is empty, and checks what has no effect yet.
pub(crate) fn compile(
    spec: &EndpointPickerConfig,
    gates: FeatureGates,
    plugins: &Plugins,
    findings: &mut Findings,
) -> HoldLimits {
    if let Some(detector) = &spec.saturation_detector {
        check_detector("saturationDetector", detector, plugins, findings);
    }
    let Some(section) = &spec.flow_control else {
        return limits(&FlowControl::default(), gates, findings);
    };
    if !gates.flow_control {
        findings.warning(
            "flowControl",
            "is not active: add `flowControl` to `featureGates` to hold requests",
        );
    }
    check_inactive(section, plugins, findings);
    limits(section, gates, findings)
}

/// Waiting requests without a setting. llm-d has no limit over all bands then, and this one for
/// each band.
pub(crate) const REQUESTS_MAX_DEFAULT: u64 = 5000;

/// Body bytes of waiting requests without a setting; as for [`REQUESTS_MAX_DEFAULT`].
pub(crate) const BYTES_MAX_DEFAULT: u64 = 1_000_000_000;

/// The longest wait without a setting.
pub(crate) const WAIT_MAX_DEFAULT: Duration = Duration::from_secs(60);

fn limits(section: &FlowControl, gates: FeatureGates, findings: &mut Findings) -> HoldLimits {
    let requests = amount(
        "flowControl.maxRequests",
        section.max_requests.as_ref(),
        findings,
    );
    let bytes = amount("flowControl.maxBytes", section.max_bytes.as_ref(), findings);
    let default = wait(
        "flowControl.defaultRequestTTL",
        section.default_request_ttl.as_ref(),
        findings,
    );
    let no_endpoint = wait(
        "flowControl.noEndpointRequestTTL",
        section.no_endpoint_request_ttl.as_ref(),
        findings,
    );
    if gates.flow_control && default.is_some() && no_endpoint.is_some() {
        findings.warning(
            "flowControl.defaultRequestTTL",
            "is not active in this version: a request waits only while the pool is empty",
        );
    }
    if !gates.flow_control {
        return HoldLimits::OFF;
    }
    let wait = no_endpoint.or(default).unwrap_or(WAIT_MAX_DEFAULT);
    HoldLimits {
        requests_max: usize::try_from(requests.unwrap_or(REQUESTS_MAX_DEFAULT))
            .unwrap_or(usize::MAX),
        bytes_max: bytes.unwrap_or(BYTES_MAX_DEFAULT),
        wait_max: (!wait.is_zero()).then_some(wait),
    }
}

/// A quantity; 0 is as absent.
fn amount(path: &str, text: Option<&String>, findings: &mut Findings) -> Option<u64> {
    match quantity::parse(text?) {
        Ok(amount) => Some(amount).filter(|&amount| amount > 0),
        Err(message) => {
            findings.problem(path, message);
            None
        }
    }
}

/// A duration; 0 is for ever.
fn wait(path: &str, text: Option<&String>, findings: &mut Findings) -> Option<Duration> {
    duration::parse(text?)
        .map_err(|message| findings.problem(path, message))
        .ok()
}

fn check_inactive(section: &FlowControl, plugins: &Plugins, findings: &mut Findings) {
    let single = [
        (
            "flowControl.defaultPriorityBand",
            &section.default_priority_band,
        ),
        (
            "flowControl.defaultNegativePriorityBand",
            &section.default_negative_priority_band,
        ),
    ];
    for (path, band) in single {
        if let Some(band) = band {
            check_band(path, band, plugins, findings);
            findings.warning(path, ONE_LINE);
        }
    }
    let mut priorities = BTreeSet::new();
    for (index, band) in section.priority_bands.iter().enumerate() {
        let path = format!("flowControl.priorityBands[{index}]");
        check_band(&path, band, plugins, findings);
        if !priorities.insert(band.priority) {
            let message = format!("{} is listed twice: keep one", band.priority);
            findings.problem(format!("{path}.priority"), message);
        }
    }
    if !section.priority_bands.is_empty() {
        findings.warning("flowControl.priorityBands", ONE_LINE);
    }
    let policy = section.usage_limit_policy_plugin_ref.as_ref();
    let path = "flowControl.usageLimitPolicyPluginRef";
    check_reference(path, policy, Role::UsageLimitPolicy, plugins, findings);
    if let Some(detector) = &section.saturation_detector {
        check_detector(
            "flowControl.saturationDetector",
            detector,
            plugins,
            findings,
        );
    }
    if section.enable_eviction == Some(true) {
        findings.warning(
            "flowControl.enableEviction",
            "is not active in this version: running requests are never stopped",
        );
    }
}

fn check_band(path: &str, band: &PriorityBand, plugins: &Plugins, findings: &mut Findings) {
    amount(
        &format!("{path}.maxBytes"),
        band.max_bytes.as_ref(),
        findings,
    );
    amount(
        &format!("{path}.maxRequests"),
        band.max_requests.as_ref(),
        findings,
    );
    let fairness = format!("{path}.fairnessPolicyRef");
    let ordering = format!("{path}.orderingPolicyRef");
    for (path, name, role) in [
        (fairness, &band.fairness_policy_ref, Role::FairnessPolicy),
        (ordering, &band.ordering_policy_ref, Role::OrderingPolicy),
    ] {
        check_reference(&path, name.as_ref(), role, plugins, findings);
    }
}

/// A detector that is named has a warning at its entry, or none where llm-d adds it.
fn check_detector(
    path: &str,
    detector: &SaturationDetector,
    plugins: &Plugins,
    findings: &mut Findings,
) {
    let path = format!("{path}.pluginRef");
    let name = detector.plugin_ref.as_ref();
    check_reference(&path, name, Role::SaturationDetector, plugins, findings);
}

fn check_reference(
    path: &str,
    name: Option<&String>,
    role: Role,
    plugins: &Plugins,
    findings: &mut Findings,
) {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        plugins.find_with_role(path, name, role, findings);
    }
}

const ONE_LINE: &str = "is not active in this version: all requests wait in one line";

#[cfg(test)]
mod tests;
