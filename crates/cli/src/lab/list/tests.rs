use serde_json::Value;

use super::*;

fn output(json: bool) -> String {
    let mut output = Vec::new();
    run(&Arguments { json }, &mut output).unwrap();
    String::from_utf8(output).unwrap()
}

#[test]
fn every_scenario_case_and_policy_is_listed() {
    let text = output(false);
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
    for scenario in builtin::SCENARIOS {
        for case in scenario.scenario().unwrap().cases {
            let begins = |line: &str| {
                let mut words = line.split_whitespace();
                words.next() == Some(scenario.name) && words.next() == Some(&case.name)
            };
            assert!(text.lines().any(begins), "{} {}", scenario.name, case.name);
        }
    }
    for policy in policy::BUILTIN {
        let begins = |line: &str| line.split_whitespace().next() == Some(policy.name);
        assert!(text.lines().any(begins), "{}", policy.name);
    }
}

#[test]
fn the_list_is_there_for_programs_too() {
    let list: Value = serde_json::from_str(&output(true)).unwrap();
    let first = &list["scenarios"][0];
    assert_eq!(
        (&first["name"], &first["seeds"]),
        (&"s01".into(), &50.into())
    );
    assert_eq!(first["cases"][1]["name"], "golden");
    assert!(first["checks"].as_u64().unwrap() > 5);
    assert_eq!(list["policies"][0]["name"], "default");
}
