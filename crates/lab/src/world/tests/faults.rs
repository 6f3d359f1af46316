use crate::builtin;
use crate::outcome::{Ending, Outcome};
use crate::policy::{self, Policy};
use crate::scenario::Setup;
use crate::scenario::fault::Fault;
use crate::scenario::units::Millis;
use crate::world::World;

fn at(millis: f64) -> Millis {
    Millis::new(millis)
}

fn run(faults: &[Fault], change: impl FnOnce(&mut Setup)) -> Outcome {
    run_with(policy::find("default").unwrap().text, faults, change)
}

fn run_with(policy: &str, faults: &[Fault], change: impl FnOnce(&mut Setup)) -> Outcome {
    let scenario = builtin::find("s02").unwrap().scenario().unwrap();
    let mut setup = scenario.cases[0].setup.clone();
    setup.faults = faults.to_vec();
    change(&mut setup);
    let policy = Policy::parse("default", policy).unwrap();
    World::new(&setup, &policy, 5).run().unwrap()
}

fn count(outcome: &Outcome, ending: Ending) -> usize {
    let records = outcome.records.iter();
    records.filter(|record| record.ending == ending).count()
}

#[test]
fn without_a_fault_every_request_is_answered() {
    let outcome = run(&[], |_| {});
    assert_eq!(count(&outcome, Ending::Complete), outcome.records.len());
}

#[test]
fn an_engine_that_restarts_cuts_what_was_in_it_and_serves_again() {
    let restarts = Fault::Restarts {
        endpoint: 0,
        at_ms: at(3000.0),
    };
    let outcome = run(&[restarts], |setup| {
        setup.pickers.scrape_ms = at(50.0);
    });
    let lost = count(&outcome, Ending::Failed);
    assert!((1..10).contains(&lost), "{lost}");
    let served_again = outcome
        .records
        .iter()
        .any(|record| record.endpoint == Some(0) && record.arrived > Some(at(3100.0).moment()));
    assert!(served_again);
    let counted: u64 = outcome.endpoints.iter().map(|e| e.totals.finished).sum();
    assert_eq!(counted as usize + lost, outcome.records.len());
}

#[test]
fn requests_to_an_endpoint_that_refuses_fail_only_until_it_is_out() {
    let refuses = Fault::Refuses {
        endpoint: 1,
        from_ms: at(1000.0),
        to_ms: at(6000.0),
    };
    let outcome = run(&[refuses], |setup| {
        setup.pickers.scrape_ms = at(400.0);
    });
    let failed = count(&outcome, Ending::Failed);
    assert!((1..15).contains(&failed), "{failed}");
    assert_eq!(
        count(&outcome, Ending::Complete) + failed,
        outcome.records.len()
    );
}

#[test]
fn an_engine_that_stands_still_goes_on_with_what_it_had() {
    let stalls = Fault::Stalls {
        endpoint: 2,
        from_ms: at(1000.0),
        to_ms: at(2500.0),
    };
    let outcome = run(&[stalls], |_| {});
    assert_eq!(count(&outcome, Ending::Complete), outcome.records.len());
    let waits = outcome
        .records
        .iter()
        .filter_map(|r| Some(r.ended?.since(r.arrived?)));
    assert!(waits.max().unwrap().as_millis() > 1000);
}

#[test]
fn a_stall_lengthens_the_step_that_it_falls_into() {
    let ended = |faults: &[Fault]| {
        let outcome = run(faults, |setup| {
            setup.fleet.groups[0].endpoints = 1.try_into().unwrap()
        });
        outcome
            .records
            .iter()
            .filter_map(|record| record.ended)
            .max()
            .unwrap()
    };
    // Shorter than a step, within one of the last request.
    let undisturbed = ended(&[]);
    let within = undisturbed.as_nanos() as f64 / 1e6 - 0.75;
    let stalls = Fault::Stalls {
        endpoint: 0,
        from_ms: at(within),
        to_ms: at(within + 0.5),
    };
    let pause = ended(&[stalls]).since(undisturbed);
    assert_eq!(pause.as_micros(), 500);
}

#[test]
fn the_gateway_goes_on_to_the_next_endpoint_of_the_list() {
    let sick = |endpoint| Fault::Errors {
        endpoint,
        from_ms: at(0.0),
        to_ms: at(20_000.0),
        after_ms: at(1.0),
    };
    let refuses = Fault::Refuses {
        endpoint: 1,
        from_ms: at(0.0),
        to_ms: at(20_000.0),
    };
    let outcome = run(&[sick(0), refuses], |setup| {
        setup.pickers.destinations = Some(3.try_into().unwrap());
        setup.pickers.scrape_ms = at(400.0);
    });
    assert_eq!(count(&outcome, Ending::Complete), outcome.records.len());
    let retries = outcome.records.iter().map(|record| record.retries);
    assert!(retries.sum::<u32>() > 2);
    let served = |record: &crate::outcome::Record| matches!(record.endpoint, Some(2 | 3));
    assert!(outcome.records.iter().all(served));
}

#[test]
fn a_picker_that_restarts_forgets_and_goes_on() {
    let restarts = Fault::PickerRestarts {
        picker: 1,
        at_ms: at(2000.0),
    };
    let outcome = run(&[restarts], |setup| {
        setup.pickers.count = 2.try_into().unwrap();
        setup.pickers.scrape_ms = at(50.0);
    });
    assert_eq!(count(&outcome, Ending::Complete), outcome.records.len());
}

#[test]
fn a_picker_that_restarts_is_told_what_the_engines_hold() {
    let cached = |faults: &[Fault]| {
        let exact = policy::find("prefix-affinity").unwrap().text;
        let outcome = run_with(exact, faults, |_| {});
        let tokens = outcome.records.iter().map(|r| u64::from(r.cached_tokens));
        tokens.sum::<u64>() as f64
    };
    // Again and again, so that what it had to learn anew each time would be missed.
    let restarts: Vec<_> = (1..40)
        .map(|number| Fault::PickerRestarts {
            picker: 0,
            at_ms: at(180.0 * f64::from(number)),
        })
        .collect();
    let (with, without) = (cached(&restarts), cached(&[]));
    assert!(with > 0.99 * without, "{with} of {without}");
}

#[test]
fn metrics_that_cannot_be_read_stop_nothing() {
    let all = (0..4).map(|endpoint| Fault::Unreadable {
        endpoint,
        from_ms: at(0.0),
        to_ms: at(20_000.0),
    });
    let outcome = run(&all.collect::<Vec<_>>(), |_| {});
    assert_eq!(count(&outcome, Ending::Complete), outcome.records.len());
}

#[test]
fn clients_that_leave_are_ended_once_and_free_their_engine() {
    let outcome = run(&[], |setup| {
        setup.leavers = Some(crate::scenario::Leavers {
            percent: 50.0.try_into().unwrap(),
            after_ms: at(20.0),
        });
    });
    let left = count(&outcome, Ending::Left);
    assert!(left > 100, "{left}");
    assert_eq!(
        count(&outcome, Ending::Complete) + left,
        outcome.records.len()
    );
}

#[test]
fn requests_that_come_before_any_endpoint_are_held_and_then_served() {
    let holding = "apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
";
    let outcome = run_with(holding, &[], |setup| {
        setup.fleet.groups[0].join_ms = at(700.0);
    });
    let early = outcome
        .records
        .iter()
        .filter(|r| r.arrived < Some(at(700.0).moment()));
    assert!(early.clone().count() > 3);
    assert!(
        early
            .clone()
            .all(|record| record.ending == Ending::Complete)
    );
    assert!(
        early
            .clone()
            .all(|record| record.picked >= Some(at(700.0).moment()))
    );
}
