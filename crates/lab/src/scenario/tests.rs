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
fn what_no_single_field_can_tell_is_refused_too() {
    for (more, what) in [
        (
            "faults: [{picker_restarts: {picker: 2, at_ms: 5}}]",
            "picker 2",
        ),
        (
            "faults: [{stalls: {endpoint: 0, from_ms: 5, to_ms: 5}}]",
            "ends before",
        ),
        (
            "faults: [{refuses: {endpoint: 0, from_ms: 5, to_ms: 9}}, {refuses: {endpoint: 0, from_ms: 8, to_ms: 20}}]",
            "overlap",
        ),
        (
            "windows: [{name: a, from_ms: 0, to_ms: 5}, {name: a, from_ms: 1, to_ms: 5}]",
            "name `a`",
        ),
        (
            "windows: [{name: late, from_ms: 6, to_ms: 5}]",
            "window `late`",
        ),
        ("spread_until_ms: 1e9", "spread_until_ms"),
    ] {
        let error = parse(&format!("{SMALL}  {more}\n")).unwrap_err();
        assert!(error.what.contains(what), "{error}");
    }
    for (from, to, what) in [
        ("scrape_ms: 10", "scrape_ms: 0.001", "scrape_ms"),
        ("scrape_ms: 10", "scrape_delay_ms: 10", "scrape_delay_ms"),
        ("count: 2", "count: 100000", "pickers"),
        ("endpoints: 2", "endpoints: 70000", "endpoints"),
        (
            "endpoints: 2",
            "endpoints: 2, join_ms: 5, leave_ms: 4",
            "leaves",
        ),
        (
            "slots: 8",
            "slots: 8\n      adapter_load_ms: 5",
            "adapter_slots",
        ),
    ] {
        let error = parse(&SMALL.replace(from, to)).unwrap_err();
        assert!(error.what.contains(what), "{error}");
    }
}

#[test]
fn a_check_that_cannot_fail_is_refused() {
    for check in [
        "band: {policy: random, measure: hits, over_seeds: mean}",
        "falling: {policies: [random], measure: hits, over_seeds: mean}",
        "ratio: {policy: random, measure: hits, over_seeds: mean, from: 1}",
        "lower_in_share: {policy: random, than: random, measure: hits, from: 0}",
    ] {
        let error = parse(&format!("{SMALL}checks: [{{{check}}}]\n")).unwrap_err();
        assert_eq!(error.at, "checks[0]", "{error}");
    }
}

#[test]
fn two_cases_of_one_name_are_refused() {
    let error = parse(&format!("{SMALL}cases: [{{name: a}}, {{name: a}}]\n")).unwrap_err();
    assert!(error.what.contains("`a`"), "{error}");
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
