use super::*;

const SCENARIO: &str = "
name: mine
title: One engine
about: For tests.
seeds: 1
show: [requests]
policies: [mine.yaml, random]
setup:
  fleet:
    engine:
      mode: {continuous: {prefill_tokens_per_second: 1000, prefill_tokens_per_step: 1000, decode_step_ms: 1}}
      slots: 1
      kv_blocks: 10
      block_tokens: 16
    groups:
    - {name: all, endpoints: 1}
  workloads:
  - trace: {format: burst_gpt, file: traces/three.csv}
";

const TRACE: &str = "Timestamp,Request tokens,Response tokens\n0,10,2\n1,10,2\n2,10,2\n";

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What a wrong command line is told; the process ends with 2 then.
fn refusal<T: core::fmt::Debug>(result: Result<T>) -> String {
    let error = result.unwrap_err().downcast::<clap::Error>().unwrap();
    assert_eq!(error.exit_code(), 2);
    error.to_string()
}

#[test]
fn an_unknown_scenario_is_refused_with_those_that_there_are() {
    let told = refusal(Chosen::new("s00"));
    assert!(told.contains("there is no scenario `s00`"), "{told}");
    for scenario in builtin::SCENARIOS {
        assert!(told.contains(scenario.name), "{told}");
    }
}

#[test]
fn an_unknown_policy_is_refused_with_those_that_there_are() {
    let chosen = Chosen::new("s02").unwrap();
    let case = &chosen.scenario.cases[0];
    let told = refusal(chosen.policies(case, &words(&["randomm"])));
    assert!(told.contains("there is no policy `randomm`"), "{told}");
    for policy in policy::BUILTIN {
        assert!(told.contains(policy.name), "{told}");
    }
}

#[test]
fn an_unknown_case_is_refused_with_those_that_there_are() {
    let chosen = [Chosen::new("s01").unwrap(), Chosen::new("s18").unwrap()];
    check_cases(&chosen, &words(&["golden", "chunked"])).unwrap();
    let told = refusal(check_cases(&chosen, &words(&["goldn"])));
    assert!(told.contains("there is no case `goldn`"), "{told}");
    assert!(told.contains("s01 has traces, golden"), "{told}");
    assert!(told.contains("s18 has static"), "{told}");
}

#[test]
fn all_is_every_built_in_scenario_and_none_is_run_twice() {
    let chosen = Chosen::all(&words(&["s18", "all", "s18"])).unwrap();
    let names: Vec<&str> = chosen.iter().map(|chosen| chosen.word.as_str()).collect();
    assert_eq!(names.len(), builtin::SCENARIOS.len());
    assert_eq!(names[..2], ["s18", "s01"]);
}

#[test]
fn a_scenario_file_finds_its_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("traces")).unwrap();
    fs::write(path("traces/three.csv"), TRACE).unwrap();
    fs::write(path("mine.yaml"), policy::find("round-robin").unwrap().text).unwrap();
    fs::write(path("scenario.yaml"), SCENARIO).unwrap();
    let word = path("scenario.yaml").display().to_string();
    let chosen = Chosen::new(&word).unwrap();
    assert_eq!(chosen.scenario.name, "mine");
    let policies = chosen.policies(&chosen.scenario.cases[0], &[]).unwrap();
    let names: Vec<&str> = policies.iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["mine.yaml", "random"]);
    let beside = path("mine.yaml").display().to_string();
    assert_eq!(chosen.policy_word("mine.yaml", &[]), beside);
    assert_eq!(
        chosen.policy_word("mine.yaml", &words(&["mine.yaml"])),
        "mine.yaml"
    );
    assert_eq!(chosen.policy_word("random", &[]), "random");

    fs::remove_file(path("traces/three.csv")).unwrap();
    assert!(refusal(Chosen::new(&word)).contains("three.csv"));
}

#[test]
fn a_broken_configuration_is_refused_with_all_its_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.yaml");
    let text = policy::find("llm-d").unwrap().text;
    let text = text
        .replace("queue-scorer", "queue-scorrer")
        .replace("weight: 3", "weight: -3");
    fs::write(&path, text).unwrap();
    let chosen = Chosen::new("s02").unwrap();
    let word = path.display().to_string();
    let told = refusal(chosen.policies(&chosen.scenario.cases[0], &[word]));
    assert!(told.contains("did you mean `queue-scorer`"), "{told}");
    assert!(
        told.contains("schedulingProfiles[0].plugins[2].weight"),
        "{told}"
    );
}

#[test]
fn a_word_that_a_shell_would_change_is_quoted() {
    assert_eq!(quoted("my/own-file_2.yaml"), "my/own-file_2.yaml");
    assert_eq!(quoted("my file"), "'my file'");
    assert_eq!(quoted("it's"), r"'it'\''s'");
    assert_eq!(quoted(""), "''");
}
