//! `apiVersion` and `kind`.

use pointsman_api::picker_config::{
    API_VERSION, API_VERSION_DEPRECATED, EndpointPickerConfig, KIND,
};

use crate::problem::{Findings, quoted};

/// Checks that the spec is of a version that is known.
pub(crate) fn check(spec: &EndpointPickerConfig, findings: &mut Findings) {
    match spec.api_version.as_str() {
        API_VERSION => {}
        API_VERSION_DEPRECATED => {
            findings.warning(
                "apiVersion",
                format!("is deprecated: write `{API_VERSION}`"),
            );
        }
        other => findings.problem(
            "apiVersion",
            format!("must be `{API_VERSION}`, not {}", quoted(other)),
        ),
    }
    if spec.kind != KIND {
        findings.problem(
            "kind",
            format!("must be `{KIND}`, not {}", quoted(&spec.kind)),
        );
    }
}
