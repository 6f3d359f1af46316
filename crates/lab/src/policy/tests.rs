use super::*;

#[test]
fn every_built_in_policy_compiles_and_has_a_name_of_its_own() {
    let mut names: Vec<_> = BUILTIN.iter().map(|policy| policy.name).collect();
    for policy in BUILTIN {
        if let Err(problems) = Policy::parse(policy.name, policy.text) {
            panic!("{}:\n{problems}", policy.name);
        }
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), BUILTIN.len());
}

#[test]
fn a_policy_with_problems_says_them() {
    let problems = Policy::parse("mine", "plugins: [{type: nonsense}]").unwrap_err();
    assert!(problems.to_string().contains("nonsense"), "{problems}");
}
