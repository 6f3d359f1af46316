use super::*;
use crate::policy;

#[test]
fn every_built_in_scenario_parses_under_its_own_name_and_knows_its_policies() {
    for builtin in SCENARIOS {
        let scenario = match builtin.scenario() {
            Ok(scenario) => scenario,
            Err(error) => panic!("{}: {error}", builtin.name),
        };
        assert_eq!(scenario.name, builtin.name);
        for case in &scenario.cases {
            assert!(!case.policies.is_empty(), "{}", case.name);
            for name in &case.policies {
                assert!(policy::find(name).is_some(), "{}: {name}", scenario.name);
            }
        }
        assert!(!scenario.checks.is_empty(), "{}", scenario.name);
    }
}
