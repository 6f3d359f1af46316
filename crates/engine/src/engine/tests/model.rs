//! Random runs against what must always hold.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Action {
    Submit {
        content: u64,
        prompt_tokens: u32,
        output_tokens: u32,
        keyed_blocks: usize,
    },
    /// Cancels the n-th request ever accepted.
    Cancel(usize),
    /// Goes on to the end of the step in progress.
    Step,
    /// Goes on by some time that ends no step, or several.
    Wait(u64),
}

/// What a request has gone through.
#[derive(Debug, Default, PartialEq, Eq)]
struct Story {
    prompt_tokens: u32,
    output_tokens: u32,
    admitted: u32,
    tokens: u32,
    finished: u32,
    cancelled: bool,
    last: Timestamp,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..4u64, 1..90u32, 1..30u32, 0..40usize).prop_map(
            |(content, prompt_tokens, output_tokens, keyed_blocks)| Action::Submit {
                content,
                prompt_tokens,
                output_tokens,
                keyed_blocks,
            }
        ),
        1 => (0..60usize).prop_map(Action::Cancel),
        6 => Just(Action::Step),
        1 => (0..200u64).prop_map(Action::Wait),
    ]
}

fn note(stories: &mut BTreeMap<JobId, Story>, events: &mut Vec<EngineEvent>) {
    for event in events.drain(..) {
        let (id, at) = match event {
            EngineEvent::Admitted { id, at, .. }
            | EngineEvent::Resumed { id, at, .. }
            | EngineEvent::Preempted { id, at }
            | EngineEvent::Token { id, at, .. }
            | EngineEvent::Finished { id, at } => (id, at),
        };
        let story = stories.get_mut(&id).expect("only accepted requests");
        assert!(!story.cancelled, "{event:?} after its cancel");
        assert_eq!(story.finished, 0, "{event:?} after its end");
        assert!(story.last <= at, "{event:?} before an earlier event");
        story.last = at;
        match event {
            EngineEvent::Admitted { cached_tokens, .. } => {
                story.admitted += 1;
                assert!(cached_tokens < story.prompt_tokens);
            }
            EngineEvent::Resumed { cached_tokens, .. } => {
                assert!(cached_tokens < story.prompt_tokens + story.tokens);
            }
            EngineEvent::Preempted { .. } => {}
            EngineEvent::Token { index, .. } => {
                assert_eq!(index, story.tokens);
                story.tokens += 1;
            }
            EngineEvent::Finished { .. } => story.finished += 1,
        }
    }
}

proptest! {
    #[test]
    fn every_request_ends_once_and_every_block_is_accounted_for(
        actions in proptest::collection::vec(action(), 0..120),
        blocks in 24..48u32,
        budget in 1..64u32,
    ) {
        let mut engine = Engine::new(EngineConfig {
            blocks: count(blocks),
            prefill_tokens_per_step_max: count(budget),
            ..config()
        });
        let mut stories = BTreeMap::new();
        let mut events = Vec::new();
        let mut now = Timestamp::ZERO;
        for action in actions {
            match action {
                Action::Submit { content, prompt_tokens, output_tokens, keyed_blocks } => {
                    let mut job = job(content, prompt_tokens, output_tokens);
                    job.keys.truncate(keyed_blocks);
                    engine.advance(now, &mut events);
                    if let Ok(id) = engine.submit(job) {
                        let story = Story { prompt_tokens, output_tokens, ..Story::default() };
                        prop_assert!(stories.insert(id, story).is_none());
                    }
                }
                Action::Cancel(place) => {
                    let id = JobId(place as u64);
                    note(&mut stories, &mut events);
                    let open = |s: &&mut Story| s.finished == 0 && !s.cancelled;
                    let story = stories.get_mut(&id).filter(open);
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
            engine.assert_consistent();
            note(&mut stories, &mut events);
            let open = stories.values().filter(|s| s.finished == 0 && !s.cancelled).count();
            let stats = engine.stats();
            prop_assert_eq!(stats.running + stats.waiting, open);
        }
        events = drain(&mut engine, now).0;
        engine.assert_consistent();
        note(&mut stories, &mut events);
        for (id, story) in &stories {
            if !story.cancelled {
                prop_assert_eq!((story.admitted, story.finished), (1, 1), "{:?} {:?}", id, story);
                prop_assert_eq!(story.tokens, story.output_tokens);
            }
        }
        prop_assert_eq!(engine.stats().kv_usage, Unit::ZERO);
    }
}
