//! Pickers and their parameters.

use super::{loaded, told};

#[test]
fn the_articles_rules_are_configurations() {
    let pickers = [
        "random-picker",
        "round-robin-picker",
        "least-outstanding-picker, parameters: {load: reported, tieBreak: first}",
        "two-choices-picker, parameters: {choices: 3, replacement: true, load: scaled}",
        "prefix-affinity-picker, parameters: {loadGapMax: 1, load: reportedAndDispatched}",
        "consistent-hash-picker, parameters: {prefixTokens: 64, loadFactor: 1.1, \
         overflow: leastLoaded, load: own}",
        "max-score-picker, parameters: {tieBreak: first}",
    ];
    let compiled = pickers.map(|picker| {
        let compiled = loaded(&format!("plugins: [{{type: {picker}}}]"));
        assert_eq!(compiled.warnings, []);
        assert!(compiled.runtime.profile.scorers.is_empty());
        compiled.runtime.profile.picker
    });
    insta::assert_debug_snapshot!(compiled);
}

#[test]
fn what_is_wrong_with_a_pickers_parameters_is_told() {
    let told = told(
        "
plugins:
- {type: least-outstanding-picker, parameters: {load: most, tieBreak: 1}}
- {type: two-choices-picker, parameters: {choices: 1, replacement: often}}
- {type: prefix-affinity-picker, parameters: {loadGapMax: -1}}
- {type: consistent-hash-picker, parameters: {prefixTokens: 0, loadFactor: 1, overflow: Next}}
schedulingProfiles: [{name: default, plugins: [{pluginRef: least-outstanding-picker}]}]
",
    );
    insta::assert_snapshot!(told);
}
