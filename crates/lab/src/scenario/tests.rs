use super::*;

const SMALL: &str = "
name: small
title: A small one
about: For tests.
seeds: 2
show: [ttft_p95_ms]
policies: [random]
setup:
  fleet:
    engine:
      mode: {article: {tick_ms: 1, prefill_tokens_per_tick: 100, cache_tokens: 1000}}
      slots: 8
      kv_blocks: 100
      block_tokens: 16
    groups: [{name: all, endpoints: 2}]
  workloads: []
  pickers: {count: 2, scrape_ms: 10}
";

fn parse(text: &str) -> Result<Scenario, Unreadable> {
    Scenario::parse(text, &|file| Err(format!("no file {file}")))
}

#[test]
fn a_scenario_without_cases_has_one() {
    let scenario = parse(SMALL).unwrap();
    assert_eq!(scenario.cases.len(), 1);
    assert_eq!(scenario.cases[0].name, ONLY_CASE);
    assert_eq!(scenario.cases[0].policies, ["random"]);
}

#[test]
fn a_change_is_merged_key_by_key_and_lists_are_replaced() {
    let cases = "cases:
- name: other
  policies: [round-robin]
  change:
    pickers: {count: 3}
    fleet:
      engine: {mode: {article: {cache_tokens: 7}}}
      groups: [{name: fast, endpoints: 1, speed: 2}]
- name: same
";
    let scenario = parse(&format!("{SMALL}{cases}")).unwrap();
    let other = &scenario.case("other").unwrap().setup;
    assert_eq!(other.pickers.count.get(), 3);
    assert_eq!(other.pickers.scrape_ms.duration().as_millis(), 10);
    assert_eq!(other.fleet.engine.mode.cache_tokens(), Some(7));
    assert_eq!(other.fleet.endpoints(), 1);
    let same = scenario.case("same").unwrap();
    assert_eq!(same.policies, ["random"]);
    assert_eq!(same.setup.fleet.endpoints(), 2);
}

#[test]
fn an_error_names_its_place() {
    for (wrong, at, what) in [
        ("kv_blocks: 100", "the file, setup.fleet.engine", "kv_block"),
        ("kv_blocks: 0", "all`, fleet.engine.kv_blocks", "zero"),
        ("slots: many", "all`, fleet.engine.slots", "many"),
        ("scrape_ms: -1", "pickers.scrape_ms", "-1"),
        ("endpoints: 0", "fleet.groups[0].endpoints", "zero"),
    ] {
        let key = wrong.split(':').next().unwrap();
        let from = SMALL.find(key).unwrap();
        let value_end = SMALL[from..].find([',', '}', '\n']).unwrap() + from;
        let text = if wrong == "kv_blocks: 100" {
            SMALL.replace("kv_blocks", "kv_block")
        } else {
            format!("{}{wrong}{}", &SMALL[..from], &SMALL[value_end..])
        };
        let error = parse(&text).unwrap_err();
        let at = at.trim_start_matches("the file, setup.");
        assert!(error.at.contains(at), "{error}");
        assert!(error.what.contains(what), "{error}");
    }
}

#[test]
fn a_check_of_something_that_is_not_run_is_refused() {
    let check = "checks:
- band: {policy: round-robin, measure: hits, over_seeds: mean, from: 1}
";
    let error = parse(&format!("{SMALL}{check}")).unwrap_err();
    assert_eq!(error.at, "checks[0]");
    assert!(error.what.contains("round-robin"), "{error}");
}

#[test]
fn a_fault_of_an_endpoint_that_is_not_there_is_refused() {
    let text = format!("{SMALL}  faults: [{{restarts: {{endpoint: 2, at_ms: 5}}}}]\n");
    let error = parse(&text).unwrap_err();
    assert!(error.what.contains("endpoint 2"), "{error}");
}

#[test]
fn a_text_that_is_no_scenario_is_an_error() {
    for text in ["", "[]", "name: 1", "{", "setup: 5"] {
        assert!(parse(text).is_err(), "{text}");
    }
}
