//! Any order of inputs: conservation, and the same outputs for the same inputs.

use std::collections::BTreeSet;

use pointsman_domain::facts::ModelName;
use pointsman_domain::load::LoadSample;
use pointsman_domain::observation::{ObservationMode, Usage};
use proptest::prelude::*;

use super::super::*;
use super::builders::*;

#[derive(Clone, Debug)]
enum Step {
    Offer(u8),
    End(u64),
    Observe(u64, Observation),
    Served(u64, u32),
    Status(u64, u16),
    Endpoints(u8),
    Scrape(u32, u32, u32),
    Refused(u32, u32),
    Restart(u32, u32, u8),
    Begun(u32, u32),
    Stored(u32, u32, u8),
    Removed(u32, u32, u8),
    Cleared(u32, u32),
    Pickers(u32),
    Wait(u64),
    Recover,
}

fn step() -> impl Strategy<Value = Step> {
    let (slot, generation) = (0u32..4, 1u32..4);
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Offer),
        3 => (0u64..64).prop_map(Step::End),
        2 => (0u64..64, observation()).prop_map(|(id, observation)| Step::Observe(id, observation)),
        1 => (0u64..64, 0u32..5).prop_map(|(r, e)| Step::Served(r, e)),
        1 => (0u64..64, prop_oneof![Just(200u16), Just(503)]).prop_map(|(r, s)| Step::Status(r, s)),
        1 => (0u8..16).prop_map(Step::Endpoints),
        1 => (slot.clone(), generation.clone(), 0u32..9).prop_map(|(s, g, n)| Step::Scrape(s, g, n)),
        1 => (slot.clone(), generation.clone()).prop_map(|(s, g)| Step::Refused(s, g)),
        1 => (slot.clone(), generation.clone()).prop_map(|(s, g)| Step::Begun(s, g)),
        1 => (slot.clone(), generation.clone(), 0u8..4).prop_map(|(s, g, n)| Step::Stored(s, g, n)),
        1 => (slot.clone(), generation.clone(), 0u8..4).prop_map(|(s, g, n)| Step::Removed(s, g, n)),
        1 => (slot.clone(), generation.clone()).prop_map(|(s, g)| Step::Cleared(s, g)),
        1 => (1u32..5).prop_map(Step::Pickers),
        1 => (slot, generation, any::<u8>()).prop_map(|(s, g, t)| Step::Restart(s, g, t)),
        1 => (0u64..30).prop_map(Step::Wait),
        1 => Just(Step::Recover),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        2 => Just(Observation::FirstOutput),
        1 => Just(Observation::FirstVisible),
        2 => Just(Observation::Finished),
        1 => Just(Observation::Usage(Usage::default())),
        1 => (0u32..9).prop_map(|count| Observation::Load(sample(count, count))),
    ]
}

/// What must hold of all requests together.
#[derive(Default)]
struct Checker {
    offered: u64,
    decided: BTreeSet<RequestId>,
    picked: BTreeSet<RequestId>,
    ended: BTreeSet<RequestId>,
    completed: BTreeSet<RequestId>,
}

impl Checker {
    fn check(&mut self, pool: &TestPool, outputs: &[Output]) {
        for (id, decision) in decisions(outputs) {
            assert!(self.decided.insert(id), "decided twice: {id:?}");
            if let Decision::Picked(pick) = decision {
                assert!(!pick.destinations.is_empty());
                self.picked.insert(id);
            }
        }
        for event in events(outputs) {
            if let Event::Completed(end) = event {
                assert!(
                    self.completed.insert(end.request),
                    "completed twice: {end:?}"
                );
            }
        }
        let in_flight = self.picked.difference(&self.ended).count();
        assert_eq!(pool.pool.sizes().in_flight, in_flight);
        assert!(
            self.picked
                .intersection(&self.ended)
                .all(|id| self.completed.contains(id))
        );
        let states = pool.pool.endpoints(pool.now);
        let own: u32 = states.iter().map(|state| state.own.requests).sum();
        assert!(own as usize <= in_flight);
        assert!(states.iter().filter(|state| state.ejected).count() * 2 <= states.len());
    }
}

/// Runs the steps with a check after each; gives all outputs.
fn run(steps: &[Step], seed: u64) -> Vec<Output> {
    let config = RuntimeConfig {
        prefix_source: PrefixSource::ReportedAndPredicted,
        ..holding()
    };
    let mut pool = TestPool {
        pool: Pool::new(config, seed),
        now: Timestamp::ZERO,
    };
    let mut checker = Checker::default();
    let mut all = Vec::new();
    for step in steps {
        let outputs = take(&mut pool, &mut checker, step);
        checker.check(&pool, &outputs);
        all.extend(outputs);
    }
    all
}

/// One of a few prompts that share their first block. Of the responses of some, only headers will be
/// seen, and some name no model.
fn prompt(content: u8) -> RequestFacts {
    let facts = chat(&[u64::from(content % 4), u64::from(content)]);
    RequestFacts {
        observation: if content.is_multiple_of(2) {
            ObservationMode::HeadersOnly
        } else {
            ObservationMode::Full
        },
        model: if content == 4 {
            ModelName::Missing
        } else {
            facts.model
        },
        ..facts
    }
}

fn take(pool: &mut TestPool, checker: &mut Checker, step: &Step) -> Vec<Output> {
    let life = |slot: u32, generation: u32| EndpointId { slot, generation };
    match *step {
        Step::Offer(content) => {
            checker.offered += 1;
            pool.offer(checker.offered - 1, prompt(content))
        }
        Step::End(id) => {
            if id < checker.offered {
                checker.ended.insert(RequestId(id));
            }
            pool.end(id)
        }
        Step::Observe(id, observation) => pool.observe(id, observation),
        Step::Served(id, who) => pool.observe(id, Observation::Served(address(who))),
        Step::Status(id, status) => pool.observe(id, Observation::Answered { status }),
        Step::Endpoints(mask) => {
            let chosen = (0..4)
                .filter(|number| mask & (1 << number) != 0)
                .map(endpoint);
            pool.input(Input::Endpoints(chosen.collect()))
        }
        Step::Scrape(slot, generation, n) => pool.scrape(life(slot, generation), sample(n, n)),
        Step::Refused(slot, generation) => pool.input(Input::ScrapeFailed(
            life(slot, generation),
            ScrapeFault::Unreachable,
        )),
        Step::Restart(slot, generation, time) => {
            let process_start_seconds = Some(f64::from(time) * 100.0);
            let restarted = LoadSample {
                process_start_seconds,
                ..sample(0, 0)
            };
            pool.scrape(life(slot, generation), restarted)
        }
        Step::Begun(slot, generation) => pool.input(Input::ScrapeBegun(life(slot, generation))),
        Step::Stored(slot, generation, content) => pool.input(Input::CacheStored {
            endpoint: life(slot, generation),
            keys: prompt(content).block_keys(Some("m")),
        }),
        Step::Removed(slot, generation, content) => pool.input(Input::CacheRemoved {
            endpoint: life(slot, generation),
            keys: prompt(content).block_keys(Some("m")),
        }),
        Step::Cleared(slot, generation) => pool.input(Input::CacheCleared(life(slot, generation))),
        Step::Pickers(count) => pool.input(Input::Pickers(NonZeroU32::new(count).unwrap())),
        Step::Wait(millis) => {
            pool.now = pool.now.plus(Duration::from_millis(millis));
            pool.input(Input::Expire)
        }
        Step::Recover => pool.recover(None),
    }
}

proptest! {
    #[test]
    fn every_request_is_decided_and_completed_at_most_once_and_nothing_leaks(
        steps in proptest::collection::vec(step(), 0..120),
        seed: u64,
    ) {
        run(&steps, seed);
    }

    #[test]
    fn the_same_inputs_and_seed_give_the_same_outputs(
        steps in proptest::collection::vec(step(), 0..60),
        seed: u64,
    ) {
        prop_assert_eq!(run(&steps, seed), run(&steps, seed));
    }
}
