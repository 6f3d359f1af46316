//! The sections `requestHandler` and `parser`.

use pointsman_api::picker_config::EndpointPickerConfig;

use super::plugins::Plugins;
use crate::plugin::Role;
use crate::problem::Findings;

/// Checks the parsers. They change nothing: a request's path decides how its body is read.
pub(crate) fn check(spec: &EndpointPickerConfig, plugins: &Plugins, findings: &mut Findings) {
    let parsers = spec
        .request_handler
        .iter()
        .flat_map(|section| &section.parsers)
        .enumerate();
    let listed = parsers
        .map(|(index, parser)| (format!("requestHandler.parsers[{index}].pluginRef"), parser));
    let alone = spec
        .parser
        .iter()
        .map(|parser| ("parser.pluginRef".to_owned(), parser));
    let mut any = false;
    for (path, parser) in listed.chain(alone) {
        plugins.find_with_role(&path, &parser.plugin_ref, Role::Parser, findings);
        any = true;
    }
    if any {
        findings.warning(
            if spec.parser.is_some() {
                "parser"
            } else {
                "requestHandler.parsers"
            },
            "is not active in this version: a request's path decides how its body is read",
        );
    }
}
