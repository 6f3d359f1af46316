//! Random runs by all rules, against what must always hold.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Action {
    Submit(Job),
    /// Cancels the n-th request ever accepted.
    Cancel(usize),
    /// Goes on to the end of the step in progress.
    Step,
    /// Goes on by some time that ends no step, or several.
    Wait(u64),
}

/// What a request has gone through.
#[derive(Debug)]
struct Story {
    job: Job,
    admitted: u32,
    tokens: u32,
    finished: u32,
    cancelled: bool,
}

/// What all requests have gone through.
#[derive(Debug, Default)]
struct Chronicle {
    stories: BTreeMap<JobId, Story>,
    cached: BTreeSet<BlockKey>,
    last: Timestamp,
    totals: EngineTotals,
}

impl Chronicle {
    fn note(&mut self, config: &EngineConfig, events: &mut Vec<EngineEvent>) {
        for event in events.drain(..) {
            let at = self.note_one(config, event);
            assert!(self.last <= at, "{event:?} before an earlier event");
            self.last = at;
        }
    }

    fn note_one(&mut self, config: &EngineConfig, event: EngineEvent) -> Timestamp {
        match event {
            EngineEvent::Admitted {
                id,
                at,
                cached_tokens,
            } => {
                let story = self.story(id);
                story.admitted += 1;
                let prompt_tokens = story.job.prompt_tokens.get();
                match config.batching {
                    Batching::Continuous(_) => assert!(cached_tokens < prompt_tokens),
                    Batching::Article(_) => assert!(cached_tokens <= prompt_tokens),
                }
                at
            }
            EngineEvent::Resumed {
                id,
                at,
                cached_tokens,
            } => {
                let story = self.story(id);
                assert!(cached_tokens < story.job.prompt_tokens.get() + story.tokens);
                at
            }
            EngineEvent::Preempted { id, at } => {
                self.story(id);
                self.totals.preemptions += 1;
                at
            }
            EngineEvent::Token { id, at, index } => {
                let story = self.story(id);
                assert_eq!(index, story.tokens);
                story.tokens += 1;
                self.totals.generation_tokens += 1;
                at
            }
            EngineEvent::Finished { id, at } => {
                self.story(id).finished += 1;
                self.totals.finished += 1;
                at
            }
            EngineEvent::Cached { key, at } => {
                assert!(self.cached.insert(key), "{key:?} was cached already");
                at
            }
            EngineEvent::Evicted { key, at } => {
                assert!(self.cached.remove(&key), "{key:?} was not cached");
                at
            }
            EngineEvent::AdapterLoaded { at, .. } => {
                self.totals.adapter_loads += 1;
                at
            }
        }
    }

    fn story(&mut self, id: JobId) -> &mut Story {
        let story = self.stories.get_mut(&id).expect("only accepted requests");
        assert!(!story.cancelled, "{id:?} goes on after its cancel");
        assert_eq!(story.finished, 0, "{id:?} goes on after its end");
        story
    }

    fn open(&self) -> usize {
        let open = |s: &&Story| s.finished == 0 && !s.cancelled;
        self.stories.values().filter(open).count()
    }

    fn check(&self, engine: &Engine) {
        let (stats, config) = (engine.stats(), &engine.config);
        assert_eq!(stats.running + stats.waiting, self.open());
        assert!(stats.running <= config.slots());
        assert!(stats.deferred <= stats.waiting);
        let totals = EngineTotals {
            preemptions: stats.totals.preemptions,
            generation_tokens: stats.totals.generation_tokens,
            finished: stats.totals.finished,
            adapter_loads: stats.totals.adapter_loads,
            ..EngineTotals::default()
        };
        assert_eq!(self.totals, totals, "totals agree with the events");
        match &engine.batch {
            Batch::Continuous(batch) => {
                batch.assert_consistent(config);
                let running = engine.adapters().running.len();
                let slots = config
                    .adapters
                    .map(|adapters| adapters.slots.get() as usize);
                assert!(slots.is_none_or(|slots| running <= slots));
            }
            Batch::Article(batch) => batch.assert_consistent(config),
        }
    }
}

pub(super) fn any_job() -> impl Strategy<Value = Job> {
    let lengths = (1..90u32, 1..30u32);
    let adapter = proptest::option::of((0..5u32).prop_map(AdapterId));
    let content = prop_oneof![
        // As many blocks of a shared text, known or unknown to the end.
        (0..4u64, 0..40u64).prop_map(|(text, blocks)| Content::Blocks(
            (0..blocks).map(|b| BlockKey(text * 1000 + b)).collect()
        )),
        proptest::collection::vec((1..3u64, 1..30u32), 0..4).prop_map(|pieces| {
            let mut end = Piece {
                key: BlockKey(0),
                end_tokens: 0,
            };
            let piece = |(branch, tokens)| {
                end.key = BlockKey(end.key.0 * 10 + branch);
                end.end_tokens += tokens;
                end
            };
            Content::Pieces(pieces.into_iter().map(piece).collect())
        }),
    ];
    (lengths, adapter, content).prop_map(|((prompt_tokens, output_tokens), adapter, content)| Job {
        content,
        prompt_tokens: count(prompt_tokens),
        output_tokens: count(output_tokens),
        adapter,
    })
}

pub(super) fn any_config() -> impl Strategy<Value = EngineConfig> {
    let order = prop_oneof![
        Just(TickOrder::Static),
        Just(TickOrder::PrefillFirst),
        Just(TickOrder::Chunked)
    ];
    let base = prop_oneof![
        (1..64u32).prop_map(|budget| {
            let mut config = continuous();
            if let Batching::Continuous(rules) = &mut config.batching {
                rules.prefill_tokens_per_step_max = count(budget);
            }
            config
        }),
        (order, 1..5u32).prop_map(|(order, prefills_max)| with_order(order, prefills_max)),
    ];
    let adapters =
        proptest::option::of((1..4u32, 0..30u64).prop_map(|(slots, load)| AdapterSlots {
            slots: count(slots),
            load: Duration::from_millis(load),
        }));
    let role = prop_oneof![
        2 => Just(Role::Both),
        1 => Just(Role::Prefill),
        1 => Just(decode_role())
    ];
    let speed = prop_oneof![Just(1.0), Just(0.7), Just(3.0)];
    (base, adapters, role, speed, 24..48u32).prop_map(|(base, adapters, role, speed, blocks)| {
        EngineConfig {
            blocks: count(blocks),
            adapters,
            role,
            speed: Speed::new(speed).unwrap(),
            reports: Reports {
                tokens: TokenReports::Every,
                cache: CacheReports::Changes,
            },
            ..base
        }
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => any_job().prop_map(Action::Submit),
        1 => (0..60usize).prop_map(Action::Cancel),
        6 => Just(Action::Step),
        1 => (0..200u64).prop_map(Action::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_request_ends_once_and_all_that_is_held_is_accounted_for(
        config in any_config(),
        actions in proptest::collection::vec(action(), 0..120),
    ) {
        let mut engine = Engine::new(config);
        let mut chronicle = Chronicle::default();
        let mut events = Vec::new();
        let mut now = Timestamp::ZERO;
        for action in actions {
            match action {
                Action::Submit(job) => {
                    engine.advance(now, &mut events);
                    if let Ok(id) = engine.submit(job.clone()) {
                        let story = Story { job, admitted: 0, tokens: 0, finished: 0, cancelled: false };
                        prop_assert!(chronicle.stories.insert(id, story).is_none());
                    }
                }
                Action::Cancel(place) => {
                    let id = JobId(place as u64);
                    chronicle.note(&config, &mut events);
                    let open = |s: &&mut Story| s.finished == 0 && !s.cancelled;
                    let story = chronicle.stories.get_mut(&id).filter(open);
                    prop_assert_eq!(engine.cancel(id), story.is_some());
                    if let Some(story) = story {
                        story.cancelled = true;
                    }
                }
                Action::Step => {
                    if let Some(end) = engine.advance(now, &mut events) {
                        now = end;
                        engine.advance(now, &mut events);
                    }
                }
                Action::Wait(millis) => {
                    now = now.plus(Duration::from_millis(millis));
                    engine.advance(now, &mut events);
                }
            }
            chronicle.note(&config, &mut events);
            chronicle.check(&engine);
        }
        events = drain(&mut engine, now).0;
        chronicle.note(&config, &mut events);
        chronicle.check(&engine);
        for (id, story) in &chronicle.stories {
            if !story.cancelled {
                let wanted = match config.role {
                    Role::Prefill => 1,
                    Role::Both | Role::Decode(_) => story.job.output_tokens.get(),
                };
                prop_assert_eq!(
                    (story.admitted, story.finished, story.tokens), (1, 1, wanted), "{:?}", id
                );
            }
        }
        prop_assert_eq!(engine.stats().kv_usage, Unit::ZERO);
    }
}
