//! Any history, against a ledger that goes through all of it request by request.

use proptest::prelude::*;

use super::super::*;
use super::sent_to;

#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve {
        id: u64,
        life: EndpointId,
        tokens: u64,
        observation: ObservationMode,
    },
    Advance(u64, Phase),
    Relocate(u64, EndpointId),
    Release(u64),
    ScrapeBegun(EndpointId),
    ShowsIdle(EndpointId),
    Wait(u64),
    Settle(EndpointId),
    Rate(u32),
}

/// One of nine lives in three slots.
fn life() -> impl Strategy<Value = EndpointId> {
    (0u32..3, 0u32..3).prop_map(|(slot, generation)| EndpointId { slot, generation })
}

fn step() -> impl Strategy<Value = Step> {
    let id = 0u64..12;
    let observation = prop_oneof![
        2 => Just(ObservationMode::HeadersOnly),
        1 => Just(ObservationMode::Sampled),
        1 => Just(ObservationMode::Full),
    ];
    let phase = prop_oneof![
        Just(Phase::Decode),
        Just(Phase::Finished),
        Just(Phase::Prefill)
    ];
    let tokens = prop_oneof![1 => Just(0), 8 => 0u64..50, 1 => any::<u64>()];
    let reserve = (id.clone(), life(), tokens, observation);
    prop_oneof![
        6 => reserve.prop_map(|(id, life, tokens, observation)| Step::Reserve {
            id,
            life,
            tokens,
            observation,
        }),
        2 => (id.clone(), phase).prop_map(|(id, phase)| Step::Advance(id, phase)),
        2 => (id.clone(), life()).prop_map(|(id, life)| Step::Relocate(id, life)),
        3 => id.prop_map(Step::Release),
        1 => life().prop_map(Step::ScrapeBegun),
        1 => life().prop_map(Step::ShowsIdle),
        4 => prop_oneof![0u64..40_000_000, any::<u64>()].prop_map(Step::Wait),
        1 => life().prop_map(Step::Settle),
        1 => (1u32..3000).prop_map(Step::Rate),
    ]
}

/// What the model knows of one request.
#[derive(Clone, Copy, Debug)]
struct Known {
    life: EndpointId,
    tokens: u64,
    phase: Phase,
    observation: ObservationMode,
    /// Grows with every arrival anywhere.
    arrival: u64,
    /// Billionths of a token that are left by the clock.
    left: u128,
    /// Whether the clock or a scrape has ended its prefill.
    is_retired: bool,
}

/// Everything again from the beginning, in no clever way.
struct Naive {
    now: u64,
    rate: u32,
    arrivals: u64,
    requests: BTreeMap<u64, Known>,
    scrapes: BTreeMap<EndpointId, u64>,
}

impl Naive {
    fn send(&mut self, id: u64, known: Known) {
        let before = self.requests.remove(&id);
        self.retire();
        self.arrivals += 1;
        let known = Known {
            phase: before.map_or(known.phase, |before| before.phase.max(known.phase)),
            arrival: self.arrivals,
            left: u128::from(known.tokens) * 1_000_000_000,
            is_retired: false,
            ..known
        };
        self.requests.insert(id, known);
        self.retire();
    }

    /// The requests in the line of a life, first to last.
    fn line(&mut self, life: EndpointId) -> Vec<&mut Known> {
        let waits = |known: &&mut Known| {
            known.life == life
                && known.phase == Phase::Prefill
                && known.observation == ObservationMode::HeadersOnly
                && !known.is_retired
        };
        let mut line: Vec<_> = self.requests.values_mut().filter(waits).collect();
        line.sort_by_key(|known| known.arrival);
        line
    }

    fn lives(&self) -> Vec<EndpointId> {
        let mut lives: Vec<_> = self.requests.values().map(|known| known.life).collect();
        lives.sort_unstable();
        lives.dedup();
        lives
    }

    fn wait(&mut self, nanos: u64) {
        let before = self.now;
        self.now = before.saturating_add(nanos);
        for life in self.lives() {
            let mut work = u128::from(self.now - before) * u128::from(self.rate);
            for known in self.line(life) {
                let done = work.min(known.left);
                known.left -= done;
                work -= done;
            }
        }
        self.retire();
    }

    /// Whoever is first and has nothing left is out of prefill.
    fn retire(&mut self) {
        for life in self.lives() {
            for known in self.line(life) {
                if known.left > 0 {
                    break;
                }
                known.is_retired = true;
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Reserve {
                id,
                life,
                tokens,
                observation,
            } => self.send(
                id,
                Known {
                    life,
                    tokens,
                    phase: Phase::Prefill,
                    observation,
                    arrival: 0,
                    left: 0,
                    is_retired: false,
                },
            ),
            Step::Advance(id, phase) => {
                if let Some(known) = self.requests.get_mut(&id) {
                    known.phase = known.phase.max(phase);
                }
                self.retire();
            }
            Step::Relocate(id, life) => {
                if let Some(&known) = self.requests.get(&id)
                    && known.life != life
                {
                    self.send(id, Known { life, ..known });
                }
            }
            Step::Release(id) => {
                self.requests.remove(&id);
                self.retire();
            }
            Step::ScrapeBegun(life) => {
                self.scrapes.insert(life, self.arrivals);
            }
            Step::ShowsIdle(life) => {
                if let Some(&begun) = self.scrapes.get(&life) {
                    for known in self.line(life) {
                        known.is_retired |= known.arrival <= begun;
                    }
                    self.retire();
                }
            }
            Step::Wait(nanos) => self.wait(nanos),
            Step::Settle(_) => {}
            Step::Rate(rate) => self.rate = rate,
        }
    }

    fn own(&self, life: EndpointId) -> OwnLoad {
        let mut own = OwnLoad::default();
        let (mut seen, mut clocked) = (0_u128, 0_u128);
        for known in self.requests.values().filter(|known| known.life == life) {
            own.requests += u32::from(known.phase != Phase::Finished);
            if known.phase != Phase::Prefill || known.is_retired {
                continue;
            }
            own.before_first_token += 1;
            if known.observation == ObservationMode::HeadersOnly {
                clocked += known.left;
            } else {
                seen += u128::from(known.tokens);
            }
        }
        let tokens = |count: u128| Tokens(u64::try_from(count).unwrap_or(u64::MAX));
        own.uncached_tokens = tokens(seen) + tokens(clocked.div_ceil(1_000_000_000));
        own
    }
}

fn take(ledger: &mut Ledger, now: Timestamp, step: Step) {
    match step {
        Step::Reserve {
            id,
            life,
            tokens,
            observation,
        } => {
            let reservation = Reservation {
                observation,
                ..sent_to(life, tokens)
            };
            ledger.reserve(now, RequestId(id), reservation);
        }
        Step::Advance(id, phase) => {
            ledger.advance(now, RequestId(id), phase);
        }
        Step::Relocate(id, life) => ledger.relocate(now, RequestId(id), life),
        Step::Release(id) => {
            ledger.release(now, RequestId(id));
        }
        Step::ScrapeBegun(life) => ledger.scrape_begun(life),
        Step::ShowsIdle(life) => ledger.scrape_shows_idle(now, life),
        Step::Wait(_) => {}
        Step::Settle(life) => ledger.settle(life, now),
        Step::Rate(rate) => {
            let rate = core::num::NonZeroU32::new(rate).unwrap();
            ledger.set_prefill_rate(now, PrefillRate::new(rate));
        }
    }
}

/// The life that a step is about to use.
const fn life_of(step: Step) -> Option<EndpointId> {
    match step {
        Step::Reserve { life, .. }
        | Step::Relocate(_, life)
        | Step::ScrapeBegun(life)
        | Step::ShowsIdle(life)
        | Step::Settle(life) => Some(life),
        Step::Advance(..) | Step::Release(_) | Step::Wait(_) | Step::Rate(_) => None,
    }
}

proptest! {
    /// Of each slot's newest life, which is the only one that is asked for.
    #[test]
    fn own_load_is_what_the_requests_tell_one_by_one_at_any_time(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let rate = core::num::NonZeroU32::new(1000).unwrap();
        let mut ledger = Ledger::new(PrefillRate::new(rate));
        let mut naive = Naive {
            now: 0,
            rate: 1000,
            arrivals: 0,
            requests: BTreeMap::new(),
            scrapes: BTreeMap::new(),
        };
        let mut newest = [0_u32; 3];
        for step in steps {
            if let Some(life) = life_of(step) {
                let present = newest[life.slot as usize];
                // A pool uses no life but the present one.
                if life.generation < present {
                    continue;
                }
                newest[life.slot as usize] = life.generation;
            }
            naive.take(step);
            let now = Timestamp::from_nanos(naive.now);
            take(&mut ledger, now, step);
            prop_assert_eq!(ledger.len(), naive.requests.len());
            for (slot, &generation) in (0..).zip(&newest) {
                let life = EndpointId { slot, generation };
                prop_assert_eq!(ledger.own(life, now), naive.own(life));
            }
        }
        let now = Timestamp::from_nanos(naive.now);
        for id in 0..12 {
            ledger.release(now, RequestId(id));
        }
        prop_assert!(ledger.is_empty());
        for (slot, &generation) in (0..).zip(&newest) {
            let life = EndpointId { slot, generation };
            prop_assert_eq!(ledger.own(life, now), OwnLoad::default());
        }
    }
}
