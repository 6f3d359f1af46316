//! What is rebuilt after a panic: all that counts is what was open.

use core::ops::RangeInclusive;

use pointsman_domain::load::PrefillRate;
use pointsman_domain::observation::ObservationMode;
use pointsman_domain::units::Tokens;
use pointsman_ledger::reservations::Phase;
use proptest::prelude::*;

use super::super::*;
use super::builders::*;

#[test]
fn failure_after_a_panic_open_requests_still_count_and_the_lost_offer_goes_by_load() {
    let mut pool = pool_of(2);
    let busy = pool.pick(1, chat(&[1]));
    let outputs = pool.recover(Some(2));
    let decided = decisions(&outputs);
    let [(RequestId(2), Decision::Picked(pick))] = &decided[..] else {
        panic!("{outputs:?}")
    };
    assert_ne!(pick.destinations[0].endpoint, busy);
    assert_eq!(pool.pool.sizes().in_flight, 2);
    assert_eq!(pool.pool.endpoints(pool.now)[busy.index()].own.requests, 1);
    assert!(matches!(events(&pool.end(1))[..], [Event::Completed(_)]));
    assert!(matches!(events(&pool.end(2))[..], [Event::Completed(_)]));
    assert_eq!(pool.pool.sizes().in_flight, 0);
}

#[test]
fn failure_a_panic_after_the_decision_leaves_the_decision_as_it_is() {
    let mut pool = pool_of(4);
    let picked = pool.pick(1, chat(&[1]));
    assert!(decisions(&pool.recover(Some(1))).is_empty());
    assert_eq!(
        pool.pool.endpoints(pool.now)[picked.index()].own.requests,
        1
    );
    assert_eq!(pool.pool.sizes().in_flight, 1);
}

#[test]
fn failure_after_a_panic_clocks_go_as_if_only_open_requests_had_been_sent() {
    let config = RuntimeConfig {
        prefill_rate: PrefillRate::new(NonZeroU32::new(1000).unwrap()),
        ..config()
    };
    let mut pool = pool_with(config, 1);
    for (id, at) in [(1, 0), (2, 10), (3, 20)] {
        let facts = RequestFacts {
            observation: ObservationMode::HeadersOnly,
            ..chat(&[id])
        };
        pool.at_millis(at).pick(id, facts);
    }
    pool.end(1);
    pool.at_millis(40).recover(None);
    // The second has been there for 30 ms, and the third waits behind it.
    let own = |pool: &TestPool| pool.pool.endpoints(pool.now)[0].own;
    let expected = |before_first_token, tokens| OwnLoad {
        requests: 2,
        before_first_token,
        uncached_tokens: Tokens(tokens),
    };
    assert_eq!(own(&pool), expected(2, 34 + 64));
    pool.at_millis(74);
    assert_eq!(own(&pool), expected(1, 64));
}

#[test]
fn failure_after_a_panic_what_was_seen_of_a_response_is_still_known() {
    let mut pool = pool_of(1);
    for id in 1..4 {
        pool.pick(id, chat(&[id]));
    }
    pool.at_millis(3).observe(1, Observation::FirstOutput);
    pool.observe(2, Observation::Finished);
    pool.recover(None);
    let own = pool.pool.endpoints(pool.now)[0].own;
    let expected = OwnLoad {
        requests: 2,
        before_first_token: 1,
        uncached_tokens: Tokens(64),
    };
    assert_eq!(own, expected);
    assert!(pool.observe(1, Observation::FirstOutput).is_empty());
    let outputs = pool.end(1);
    let [Event::Completed(completed)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    let first_output = Some(Duration::from_millis(3));
    assert_eq!(completed.timings.first_output, first_output);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Offer(u64, ObservationMode),
    End(u64),
    Observe(u64, Observation),
    Endpoints(u8),
    Scrape(u32, u32),
    Wait(u64),
    /// An input has broken off with this, and the pool was rebuilt.
    Break(Broken),
}

/// What an input that broke off may have left behind.
#[derive(Clone, Copy, Debug)]
enum Broken {
    NoLedger,
    Released(u64),
    Advanced(u64, Phase),
    Moved(u64, u32),
    Idle(u32),
    Withdrawn(u64),
    /// The first step of an end, and nothing else of it.
    HalfEnded(u64),
    /// An offer that is not in any table yet.
    Lost,
}

const IDS: RangeInclusive<u64> = 0..=20;

fn step() -> impl Strategy<Value = Step> {
    let modes = [
        ObservationMode::HeadersOnly,
        ObservationMode::Sampled,
        ObservationMode::Full,
    ];
    let mode = proptest::sample::select(modes.to_vec());
    prop_oneof![
        8 => (0u64..5, mode).prop_map(|(content, mode)| Step::Offer(content, mode)),
        3 => IDS.prop_map(Step::End),
        4 => (IDS, observation()).prop_map(|(id, observation)| Step::Observe(id, observation)),
        1 => (0u8..8).prop_map(Step::Endpoints),
        1 => (0u32..3, 0u32..4).prop_map(|(slot, requests)| Step::Scrape(slot, requests)),
        2 => (0u64..100).prop_map(Step::Wait),
        3 => broken().prop_map(Step::Break),
    ]
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        Just(Observation::FirstOutput),
        Just(Observation::Finished),
        (0u32..4).prop_map(|number| Observation::Served(address(number))),
        Just(Observation::Load(sample(2, 3))),
        Just(Observation::Answered { status: 503 }),
    ]
}

fn broken() -> impl Strategy<Value = Broken> {
    let phase = prop_oneof![Just(Phase::Decode), Just(Phase::Finished)];
    prop_oneof![
        Just(Broken::NoLedger),
        IDS.prop_map(Broken::Released),
        (IDS, phase).prop_map(|(id, phase)| Broken::Advanced(id, phase)),
        (IDS, 0u32..3).prop_map(|(id, slot)| Broken::Moved(id, slot)),
        (0u32..3).prop_map(Broken::Idle),
        IDS.prop_map(Broken::Withdrawn),
        IDS.prop_map(Broken::HalfEnded),
        Just(Broken::Lost),
    ]
}

/// An open request, as the outside sees it.
#[derive(Clone, Copy, Debug)]
struct Open {
    endpoint: EndpointId,
    uncached: u64,
    phase: Phase,
    mode: ObservationMode,
}

/// A pool and what it must count.
struct Watched {
    pool: TestPool,
    offered: u64,
    modes: BTreeMap<u64, ObservationMode>,
    open: BTreeMap<u64, Open>,
}

impl Watched {
    fn take(&mut self, step: Step) {
        let outputs = match step {
            Step::Offer(content, mode) => {
                let id = self.next_id(mode);
                let facts = RequestFacts {
                    observation: mode,
                    ..chat(&[content, id])
                };
                self.pool.offer(id, facts)
            }
            Step::End(id) => self.pool.end(id),
            Step::Observe(id, observation) => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.phase = open.phase.max(match observation {
                        Observation::FirstOutput => Phase::Decode,
                        Observation::Finished => Phase::Finished,
                        _ => Phase::Prefill,
                    });
                }
                self.pool.observe(id, observation)
            }
            Step::Endpoints(mask) => {
                let chosen = (0..3).filter(|number| mask & (1 << number) != 0);
                self.pool
                    .input(Input::Endpoints(chosen.map(endpoint).collect()))
            }
            Step::Scrape(slot, requests) => {
                let present = self.pool.pool.endpoints.iter().map(|member| member.id);
                let life = present.filter(|id| id.slot == slot).last();
                life.map_or_else(Vec::new, |id| self.pool.scrape(id, sample(0, requests)))
            }
            Step::Wait(millis) => {
                self.pool.now = self.pool.now.plus(Duration::from_millis(millis));
                self.pool.input(Input::Expire)
            }
            Step::Break(broken) => {
                let lost = self.harm(broken);
                self.pool.recover(lost)
            }
        };
        self.learn(&outputs);
    }

    fn next_id(&mut self, mode: ObservationMode) -> u64 {
        let id = self.offered;
        self.offered += 1;
        self.modes.insert(id, mode);
        id
    }

    /// Returns the offer that was under way.
    fn harm(&mut self, broken: Broken) -> Option<u64> {
        let now = self.pool.now;
        let life = |slot| first_life(slot);
        let pool = &mut self.pool.pool;
        match broken {
            Broken::NoLedger => pool.ledger = Ledger::default(),
            Broken::Released(id) => drop(pool.ledger.release(now, RequestId(id))),
            Broken::Advanced(id, phase) => {
                pool.ledger.advance(now, RequestId(id), phase);
            }
            Broken::Moved(id, slot) => pool.ledger.relocate(now, RequestId(id), life(slot)),
            Broken::Idle(slot) => {
                pool.ledger.scrape_begun(life(slot));
                pool.ledger.scrape_shows_idle(now, life(slot));
            }
            Broken::Withdrawn(id) => {
                pool.hold.withdraw(RequestId(id));
            }
            Broken::HalfEnded(id) => {
                pool.requests.remove(&RequestId(id));
                self.open.remove(&id);
            }
            Broken::Lost => return Some(self.next_id(ObservationMode::Full)),
        }
        None
    }

    fn learn(&mut self, outputs: &[Output]) {
        for event in events(outputs) {
            match event {
                Event::Picked(picked) => {
                    let id = picked.request.0;
                    let open = Open {
                        endpoint: picked.endpoint,
                        uncached: picked.prompt_tokens.minus(picked.cached_tokens).0,
                        phase: Phase::Prefill,
                        mode: self.modes[&id],
                    };
                    assert!(self.open.insert(id, open).is_none(), "picked twice");
                }
                Event::ServedElsewhere {
                    request, served, ..
                } => self.open.get_mut(&request.0).unwrap().endpoint = *served,
                Event::Completed(completed) => {
                    self.open.remove(&completed.request.0);
                }
                _ => {}
            }
        }
    }

    fn check(&self) {
        let sizes = self.pool.pool.sizes();
        assert_eq!(sizes.in_flight, self.open.len());
        let requests = self.pool.pool.requests.values();
        assert_eq!(
            sizes.held,
            requests.filter(|known| known.sent.is_none()).count()
        );
        for state in self.pool.pool.endpoints(self.pool.now) {
            let here = || self.open.values().filter(|open| open.endpoint == state.id);
            let running = here().filter(|open| open.phase != Phase::Finished).count();
            assert_eq!(state.own.requests as usize, running);
            let prefilling = || here().filter(|open| open.phase == Phase::Prefill);
            let clocked = |open: &&Open| open.mode == ObservationMode::HeadersOnly;
            let sums = |seen_only: bool| {
                let counted = prefilling().filter(|open| !(seen_only && clocked(open)));
                counted.fold((0, 0), |(requests, tokens), open| {
                    (requests + 1, tokens + open.uncached)
                })
            };
            // The clock takes away some of those that will not be seen, and none of the others.
            let (least, most) = (sums(true), sums(false));
            let own = state.own;
            assert!((least.0..=most.0).contains(&own.before_first_token));
            assert!((least.1..=most.1).contains(&own.uncached_tokens.0));
        }
    }
}

proptest! {
    /// Wherever an input breaks off, what counts afterwards is what is open.
    #[test]
    fn failure_a_panic_anywhere_leaves_the_loads_of_the_open_requests(
        steps in proptest::collection::vec(step(), 0..100),
        seed: u64,
    ) {
        let config = RuntimeConfig { destinations_max: 3, ..holding() };
        let mut watched = Watched {
            pool: TestPool { pool: Pool::new(config, seed), now: Timestamp::ZERO },
            offered: 0,
            modes: BTreeMap::new(),
            open: BTreeMap::new(),
        };
        watched.take(Step::Endpoints(7));
        for step in steps {
            watched.take(step);
            watched.check();
        }
        for id in 0..watched.offered {
            watched.pool.end(id);
        }
        prop_assert_eq!(watched.pool.pool.sizes().in_flight, 0);
        prop_assert_eq!(watched.pool.pool.sizes().held, 0);
        for state in watched.pool.pool.endpoints(watched.pool.now) {
            prop_assert_eq!(state.own, OwnLoad::default());
        }
    }
}
