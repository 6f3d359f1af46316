//! The section `featureGates`.

use crate::problem::{Findings, quoted};

/// The switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FeatureGates {
    /// Whether requests may wait.
    pub(crate) flow_control: bool,
}

/// Reads `name`, `name=true` and `name=false`; the last one of a name counts.
pub(crate) fn read(gates: &[String], findings: &mut Findings) -> FeatureGates {
    let mut flow_control = false;
    for (index, gate) in gates.iter().enumerate() {
        let path = format!("featureGates[{index}]");
        let (name, value) = gate.split_once('=').unwrap_or((gate, "true"));
        let value = match value.trim().to_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => {
                let message = format!(
                    "{} is neither true nor false: write one of them",
                    quoted(value)
                );
                findings.problem(path, message);
                continue;
            }
        };
        match name {
            FLOW_CONTROL => flow_control = value,
            POPULATE_NON_LEADER if value => {}
            POPULATE_NON_LEADER => findings.warning(
                path,
                "is not active in this version: every picker keeps its own state",
            ),
            other => {
                let known = [FLOW_CONTROL, POPULATE_NON_LEADER];
                let end = findings.suggestion(other, known, "remove it");
                findings.problem(
                    path,
                    format!("{} is not a feature gate{end}", quoted(other)),
                );
            }
        }
    }
    FeatureGates { flow_control }
}

const FLOW_CONTROL: &str = "flowControl";
const POPULATE_NON_LEADER: &str = "haPopulateNonLeaderDatastore";
