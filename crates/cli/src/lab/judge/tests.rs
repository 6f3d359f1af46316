use pointsman_lab::builtin;
use pointsman_lab::policy::{self, Policy};
use pointsman_lab::world::World;

use super::*;

/// Two seeds of the batching exercise, of which `static` takes 25 steps and `chunked` 14.
fn measurements(scenario: &Scenario) -> Vec<Measurement<'_>> {
    let policy = Policy::parse("random", policy::find("random").unwrap().text).unwrap();
    let measure = |name: &'static str, seeds: u64| {
        let setup = &scenario.case(name).unwrap().setup;
        let run = |seed| Measures::of(setup, &World::new(setup, &policy, seed).run().unwrap());
        Measurement {
            case: name,
            policy: "random",
            seeds: (0..seeds).map(run).collect(),
        }
    };
    vec![measure("static", 2), measure("chunked", 1)]
}

fn judged(checks: &str) -> Vec<Judged> {
    let text = builtin::find("s18").unwrap().text;
    let text = text.replace("seeds: 1", "seeds: 2");
    let (without_checks, _) = text.split_once("checks:").unwrap();
    let text = format!("{without_checks}checks:\n{checks}");
    let scenario = Scenario::parse(&text, &builtin::read).unwrap();
    judge(&scenario, &measurements(&scenario))
}

fn band(case: &str, measure: &str, to: f64) -> String {
    format!(
        "- band: {{case: {case}, policy: random, measure: {measure}, over_seeds: mean, to: {to}}}\n"
    )
}

#[test]
fn a_check_holds_or_fails_by_what_was_measured() {
    let judged = judged(&(band("static", "steps", 25.0) + &band("static", "steps", 24.0)));
    assert_eq!(judged[0].outcome, Outcome::Holds);
    assert_eq!(judged[1].outcome, Outcome::Fails);
    assert!(
        judged[1].demand.contains("at most 24"),
        "{}",
        judged[1].demand
    );
    assert!(judged[1].found.starts_with("25"), "{}", judged[1].found);
}

#[test]
fn a_check_of_what_was_not_run_is_not_judged() {
    let judged = judged(&band("continuous", "steps", 100.0));
    assert_eq!(
        judged,
        [Judged {
            demand: "checks[0]".to_owned(),
            found: "case continuous was not run with random".to_owned(),
            outcome: Outcome::NotJudged,
        }]
    );
}

#[test]
fn a_check_with_fewer_seeds_than_it_was_made_for_is_not_judged() {
    let judged = judged(&band("chunked", "steps", 100.0));
    assert_eq!(judged[0].outcome, Outcome::NotJudged);
    assert_eq!(judged[0].found, "1 of the 2 seeds that it needs were run");
}

#[test]
fn a_check_of_a_measure_that_does_not_exist_fails() {
    let judged = judged(&band("static", "stepps", 100.0));
    assert_eq!(judged[0].outcome, Outcome::Fails);
}
