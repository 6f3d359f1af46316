use core::num::NonZeroU32;

use crate::builtin;
use crate::outcome::Outcome;
use crate::policy::{self, Policy};
use crate::scenario::units::{Millis, Percent};
use crate::scenario::{Observation, Setup};
use crate::world::World;

fn setup(scenario: &str, case: &str) -> Setup {
    let scenario = builtin::find(scenario).unwrap().scenario().unwrap();
    scenario.case(case).unwrap().setup.clone()
}

fn run(setup: &Setup, policy: &str, seed: u64) -> Outcome {
    let policy = Policy::parse(policy, policy::find(policy).unwrap().text).unwrap();
    World::new(setup, &policy, seed).run().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    for (scenario, case) in [("s01", "traces"), ("s04", "every-10-ms"), ("s14", "seen")] {
        let setup = setup(scenario, case);
        let digest = |seed| run(&setup, "default", seed).digest;
        assert_eq!(digest(7), digest(7), "{scenario}");
        assert_ne!(digest(7), digest(8), "{scenario}");
    }
}

#[test]
fn policies_under_one_seed_meet_the_same_requests() {
    let setup = setup("s01", "traces");
    let random = run(&setup, "random", 3);
    let least = run(&setup, "least-outstanding", 3);
    assert_eq!(random.workload, least.workload);
    assert_ne!(random.digest, least.digest);
}

#[test]
fn the_observation_mode_decides_what_the_pool_sees_of_responses() {
    let mut setup = setup("s01", "traces");
    let mut seen = |observation| {
        setup.observation = observation;
        let outcome = run(&setup, "default", 1);
        let ended = outcome
            .records
            .iter()
            .filter(|record| record.ended.is_some());
        assert_eq!(ended.count(), 160, "{observation:?}");
        let seen = outcome.seen;
        assert_eq!(seen.first_outputs, seen.usages);
        assert_eq!(seen.visible_outputs, seen.usages);
        assert_eq!(seen.ends_of_output, seen.usages);
        seen.usages
    };
    let percent = Percent::try_from(20.0).unwrap();
    assert_eq!(seen(Observation::Full), 160);
    let sampled = seen(Observation::Sampled { percent });
    assert!((16..=48).contains(&sampled), "{sampled}");
    assert_eq!(seen(Observation::HeadersOnly), 0);
    assert_eq!(seen(Observation::EndOnly), 0);
}

#[test]
fn only_a_policy_that_counts_tokens_in_prefill_goes_by_the_clock() {
    let mut setup = setup("s01", "traces");
    let mut digest = |policy: &str, observation| {
        setup.observation = observation;
        run(&setup, policy, 1).digest
    };
    for policy in policy::BUILTIN {
        // One that would need reports on caches to pick at all is like the others in this.
        let seen = digest(policy.name, Observation::Full);
        let unseen = digest(policy.name, Observation::HeadersOnly);
        assert_eq!(
            seen != unseen,
            policy.name == "token-load",
            "{}",
            policy.name
        );
    }
}

#[test]
fn the_speed_that_the_clock_goes_by_is_the_scenarios() {
    let mut setup = setup("s01", "traces");
    setup.observation = Observation::HeadersOnly;
    let mut digest = |tokens_per_second| {
        setup.pickers.prefill_tokens_per_second = NonZeroU32::new(tokens_per_second);
        run(&setup, "token-load", 1).digest
    };
    assert_eq!(digest(0), digest(15_928));
    assert_ne!(digest(0), digest(350_000));
}

#[test]
fn a_report_that_takes_longer_than_the_interval_is_waited_for() {
    let mut setup = setup("s04", "every-10-ms");
    let mut slow = |delay_ms: f64| {
        setup.pickers.scrape_delay_ms = Millis::new(delay_ms);
        let outcome = run(&setup, "least-reported", 1);
        outcome
            .records
            .iter()
            .filter_map(|r| Some(r.first_token?.since(r.arrived?)))
            .max()
    };
    assert!(slow(200.0) > slow(10.0));
}

#[test]
fn a_picker_that_scrapes_sees_later_what_another_one_did() {
    let fresh = run(&setup("s04", "fresh"), "least-reported", 1);
    let stale = run(&setup("s04", "every-50-ms"), "least-reported", 1);
    assert_eq!(fresh.workload, stale.workload);
    let last = |outcome: &Outcome| outcome.records.iter().filter_map(|r| r.first_token).max();
    assert!(last(&stale) > last(&fresh));
}

#[test]
fn the_reasons_of_a_pick_are_those_of_the_request_that_was_asked_about() {
    let setup = setup("s01", "traces");
    let policy = Policy::parse("default", policy::find("default").unwrap().text).unwrap();
    let explanation = crate::explain::explain(&setup, &policy, 1, 40);
    let explanation = explanation.unwrap().unwrap();
    let picked = explanation.picked.unwrap();
    assert_eq!(picked.request.0, 40);
    assert_eq!(picked.scores.unwrap().len(), 4);
    assert!(explanation.record.endpoint.is_some());
    let beyond = crate::explain::explain(&setup, &policy, 1, 160).unwrap();
    assert!(beyond.is_none());
}
