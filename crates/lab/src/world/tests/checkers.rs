//! The checkers find what they look for, and nothing in runs of any kind.

use core::num::NonZeroU32;

use proptest::prelude::*;

use crate::builtin;
use crate::outcome::Outcome;
use crate::policy::{self, Policy};
use crate::scenario::fault::Fault;
use crate::scenario::units::Millis;
use crate::scenario::{Assignment, Leavers, Observation, Phases, Setup};
use crate::world::World;
use crate::world::flights::Flight;

fn setup() -> Setup {
    let scenario = builtin::find("s01").unwrap().scenario().unwrap();
    scenario.case("traces").unwrap().setup.clone()
}

fn builtin_policy(name: &str) -> Policy {
    Policy::parse(name, policy::find(name).unwrap().text).unwrap()
}

/// Runs the routing lab and does `harm` at the tenth moment; returns what the checkers say.
fn harmed(harm: impl FnOnce(&mut World<'_>)) -> String {
    let mut setup = setup();
    setup.pickers.scrape_ms = Millis::new(10.0);
    let mut world = World::new(&setup, &builtin_policy("default"), 1);
    world.settle();
    for _ in 0..10 {
        let (at, what) = world.moments.next().unwrap();
        world.now = at;
        world.happen(what);
        world.settle();
        world.begin_steps();
    }
    harm(&mut world);
    let found = world.check_loads().and_then(|()| world.run().map(|_| ()));
    found.unwrap_err().what
}

#[test]
fn a_request_that_the_pool_has_lost_is_found() {
    let found = harmed(|world| world.pickers.members[0].open += 1);
    assert!(found.contains("are open"), "{found}");
}

#[test]
fn a_request_that_nobody_will_end_is_found() {
    let found = harmed(|world| world.flights.flights.push(Flight::default()));
    assert!(found.contains("wait for nothing"), "{found}");
}

#[test]
fn a_second_decision_for_a_request_is_found() {
    let found = harmed(|world| world.flights.flights[0].record.decisions += 1);
    assert!(found.contains("has 2 decisions"), "{found}");
}

#[test]
fn a_load_that_is_not_what_is_there_is_found() {
    let found = harmed(|world| {
        let mut flights = world.flights.flights.iter_mut();
        let open = flights.find(|flight| flight.is_open && flight.life.is_some());
        open.unwrap().life = None;
    });
    assert!(found.contains("at endpoint"), "{found}");
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = (0..6, 0..4_usize, 0.0..600.0, 1.0..400.0).prop_map(
        |(kind, endpoint, from, length): (i32, usize, f64, f64)| {
            let (from_ms, to_ms) = (Millis::new(from), Millis::new(from + length));
            match kind {
                0 => Fault::Errors {
                    endpoint,
                    from_ms,
                    to_ms,
                    after_ms: Millis::new(length / 50.0),
                },
                1 => Fault::Refuses {
                    endpoint,
                    from_ms,
                    to_ms,
                },
                2 => Fault::Stalls {
                    endpoint,
                    from_ms,
                    to_ms,
                },
                3 => Fault::Unreadable {
                    endpoint,
                    from_ms,
                    to_ms,
                },
                4 => Fault::Restarts {
                    endpoint,
                    at_ms: from_ms,
                },
                _ => Fault::PickerRestarts {
                    picker: 0,
                    at_ms: from_ms,
                },
            }
        },
    );
    proptest::collection::vec(fault, 0..6).prop_map(|mut faults: Vec<Fault>| {
        // Two of one kind at one endpoint may overlap, which a scenario file may not.
        faults.sort_by_key(|fault| (fault.endpoint(), fault.times().0));
        faults.dedup_by(|fault, other| fault.is_like(other));
        faults
    })
}

fn observations() -> impl Strategy<Value = Observation> {
    prop_oneof![
        Just(Observation::Full),
        Just(Observation::HeadersOnly),
        Just(Observation::EndOnly),
        Just(Observation::Sampled {
            percent: 20.0.try_into().unwrap()
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn whatever_goes_wrong_nothing_is_lost_and_the_run_repeats(
        faults in faults(),
        observation in observations(),
        pickers in 1..4_u32,
        scrape_ms in prop_oneof![Just(0.0), 1.0..60.0],
        delay_ms in prop_oneof![Just(0.0), 0.1..5.0],
        network_ms in prop_oneof![Just(0.0), 0.1..3.0],
        destinations in 1..4_u32,
        leaving in prop_oneof![Just(0.0), 1.0..60.0],
        join_ms in prop_oneof![Just(0.0), 1.0..300.0],
        policy in 0..policy::BUILTIN.len(),
        seed: u64,
    ) {
        let mut setup = setup();
        setup.faults = faults;
        setup.observation = observation;
        setup.network_ms = Millis::new(network_ms);
        setup.pickers.count = NonZeroU32::new(pickers).unwrap();
        setup.pickers.scrape_ms = Millis::new(scrape_ms);
        setup.pickers.scrape_delay_ms = Millis::new(delay_ms);
        setup.pickers.destinations = NonZeroU32::new(destinations);
        setup.pickers.phases = Phases::Staggered;
        setup.pickers.assignment = Assignment::Random;
        setup.fleet.groups[0].join_ms = Millis::new(join_ms);
        setup.leavers = Some(Leavers {
            percent: leaving.try_into().unwrap(),
            after_ms: Millis::new(30.0),
        });
        let policy = builtin_policy(policy::BUILTIN[policy].name);
        let run = || World::new(&setup, &policy, seed).run().map_err(|violation| violation.to_string());
        let first = run();
        let digest = |run: Result<Outcome, String>| run.map(|outcome| outcome.digest);
        let first = digest(first);
        prop_assert!(first.is_ok(), "{}", first.unwrap_err());
        prop_assert_eq!(first, digest(run()));
    }
}
