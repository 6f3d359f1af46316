//! When steps end and begin, for callers with a clock and for callers with a loop of their own.

use proptest::prelude::*;

use super::model::{any_config, any_job};
use super::*;

#[test]
fn a_late_call_ends_all_steps_that_were_due_each_at_its_own_time() {
    let mut engine = Engine::new(continuous());
    let mut events = Vec::new();
    let id = engine.submit(job(1, 20, 3)).unwrap();
    engine.advance(Timestamp::ZERO, &mut events);
    assert_eq!(
        engine.advance(Timestamp::from_millis(45), &mut events),
        Some(Timestamp::from_millis(50))
    );
    assert_eq!(token_millis(&events, id), [30, 40]);
}

#[test]
fn what_comes_between_the_end_and_the_begin_of_a_moment_is_in_the_step_that_begins() {
    for config in [continuous(), article()] {
        let mut engine = Engine::new(config);
        let mut events = Vec::new();
        engine.submit(job(1, 8, 1)).unwrap();
        let end = engine.begin(Timestamp::ZERO, &mut events).unwrap();
        engine.end_due(end, &mut events);
        assert_eq!(engine.stats().totals.finished, 1);
        let id = engine.submit(job(2, 8, 1)).unwrap();
        assert!(
            engine
                .begin(end, &mut events)
                .is_some_and(|next| next > end)
        );
        assert_eq!(admitted_millis(&events, id), Some(millis(end)));
    }
}

#[test]
fn nothing_ends_before_its_time_and_no_step_begins_while_one_is_in_progress() {
    for config in [continuous(), article()] {
        let mut engine = Engine::new(config);
        let mut events = Vec::new();
        engine.submit(job(1, 8, 2)).unwrap();
        let end = engine.begin(Timestamp::ZERO, &mut events);
        let before = Timestamp::from_nanos(end.unwrap().as_nanos() - 1);
        let late = engine.submit(job(2, 8, 2)).unwrap();
        events.clear();
        engine.end_due(before, &mut events);
        assert_eq!(engine.begin(before, &mut events), end);
        assert_eq!(events, []);
        assert_eq!(engine.stats().totals.steps, 0);
        engine.end_due(end.unwrap(), &mut events);
        engine.begin(end.unwrap(), &mut events);
        assert_eq!(admitted_millis(&events, late), end.map(millis));
    }
}

#[test]
fn an_idle_engine_has_nothing_due() {
    let mut engine = Engine::new(article());
    let mut events = Vec::new();
    engine.end_due(Timestamp::from_millis(5), &mut events);
    assert_eq!(engine.begin(Timestamp::from_millis(5), &mut events), None);
    assert_eq!(engine.stats().totals, EngineTotals::default());
}

#[test]
fn a_decode_engine_wakes_when_the_next_prompt_arrives() {
    for config in [continuous(), article()] {
        let mut engine = Engine::new(EngineConfig {
            role: decode_role(),
            ..config
        });
        let mut events = Vec::new();
        let long = engine.submit(job(1, 30, 1)).unwrap();
        let short = engine.submit(job(2, 10, 1)).unwrap();
        assert_eq!(engine.stats().deferred, 2, "their transfers have not begun");
        let start = Timestamp::from_millis(100);
        let arrival = engine.advance(start, &mut events);
        assert_eq!(arrival, Some(Timestamp::from_millis(115)));
        assert_eq!((engine.stats().running, engine.stats().waiting), (0, 2));
        assert_eq!(engine.stats().deferred, 2);
        engine.advance(Timestamp::from_millis(115), &mut events);
        assert_eq!((engine.stats().running, engine.stats().deferred), (1, 1));
        // A call that comes late changes nothing of what has happened.
        engine.advance(Timestamp::from_millis(500), &mut events);
        assert_eq!(admitted_millis(&events, short), Some(115));
        assert_eq!(admitted_millis(&events, long), Some(135));
    }
}

/// What a caller does, so many milliseconds after what it did before.
#[derive(Clone, Debug)]
enum Action {
    Submit(Job),
    /// Cancels the n-th request ever accepted.
    Cancel(u64),
}

/// How a caller lets time pass.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// By one call for all of it.
    Late,
    /// By many calls that come when they like.
    Often,
    /// By a loop of its own, which stops at every time that the engine names.
    Loop,
}

fn run(
    config: EngineConfig,
    script: &[(u64, Action)],
    pace: Pace,
) -> (Vec<EngineEvent>, EngineStats) {
    let mut engine = Engine::new(config);
    let mut events = Vec::new();
    let mut now = Timestamp::ZERO;
    for (wait, action) in script {
        let next = now.plus(Duration::from_millis(*wait));
        pass(&mut engine, (now, next), pace, &mut events);
        now = next;
        match action {
            Action::Submit(job) => {
                // It does not matter here whether it is refused.
                let _ = engine.submit(job.clone());
            }
            Action::Cancel(number) => {
                engine.cancel(JobId(*number));
            }
        }
        pass(&mut engine, (now, now), pace, &mut events);
    }
    let end = now.plus(Duration::from_secs(60));
    pass(&mut engine, (now, end), pace, &mut events);
    (events, engine.stats())
}

fn pass(
    engine: &mut Engine,
    (from, to): (Timestamp, Timestamp),
    pace: Pace,
    events: &mut Vec<EngineEvent>,
) {
    match pace {
        Pace::Late => {
            engine.advance(to, events);
        }
        Pace::Often => {
            let step = to.since(from) / 7;
            for part in 0..7 {
                engine.advance(from.plus(step * part), events);
            }
            engine.advance(to, events);
        }
        Pace::Loop => {
            let mut due = engine.begin(from, events);
            while let Some(now) = due.filter(|&due| due <= to) {
                engine.end_due(now, events);
                due = engine.begin(now, events);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn how_often_the_engine_is_called_changes_nothing(
        config in any_config(),
        script in proptest::collection::vec(
            (
                0..60u64,
                prop_oneof![
                    4 => any_job().prop_map(Action::Submit),
                    1 => (0..40u64).prop_map(Action::Cancel),
                ],
            ),
            0..40,
        ),
    ) {
        let late = run(config, &script, Pace::Late);
        prop_assert_eq!(&late, &run(config, &script, Pace::Often));
        prop_assert_eq!(&late, &run(config, &script, Pace::Loop));
        let (_, stats) = late;
        prop_assert_eq!((stats.running, stats.waiting), (0, 0), "a minute is enough");
        prop_assert!(stats.totals.steps_with_prefill <= stats.totals.steps);
        prop_assert!(stats.totals.steps_without_decode <= stats.totals.steps);
        let slots = u64::from(config.slots.get());
        prop_assert!(stats.totals.slot_steps <= stats.totals.steps * slots);
    }
}
