use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn whole() -> LoadSample {
    LoadSample {
        waiting: Some(3),
        running: Some(12),
        kv_usage: Some(Unit::clamped(0.5)),
        kv_block_tokens: Some(16),
        kv_blocks: Some(1000),
        process_start_seconds: Some(1_757_900_000.0),
    }
}

#[test]
fn a_whole_sample_is_the_load() {
    let mut tracker = LoadTracker::default();
    assert_eq!(tracker.apply(at(5), &whole()), Applied::Same);
    let expected = EndpointLoad {
        waiting: 3,
        running: 12,
        kv_usage: Unit::clamped(0.5),
        kv_tokens: Some(Tokens(16_000)),
        sampled_at: Some(at(5)),
    };
    assert_eq!(tracker.load(), expected);
}

#[test]
fn what_a_sample_lacks_keeps_its_value_and_its_age() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole());
    let queue_only = LoadSample {
        waiting: Some(7),
        ..LoadSample::default()
    };
    tracker.apply(at(9), &queue_only);
    let load = tracker.load();
    assert_eq!((load.waiting, load.running), (7, 12));
    assert_eq!(load.kv_tokens, Some(Tokens(16_000)));
    assert_eq!(load.sampled_at, Some(at(5)));
}

#[test]
fn b45_what_an_engine_never_tells_does_not_make_its_load_old() {
    let mut tracker = LoadTracker::default();
    let queue_only = LoadSample {
        waiting: Some(7),
        ..LoadSample::default()
    };
    tracker.apply(at(5), &queue_only);
    tracker.apply(at(9), &queue_only);
    assert_eq!(tracker.load().sampled_at, Some(at(9)));
}

#[test]
fn b53_an_endpoint_that_told_nothing_yet_is_idle_and_of_no_age() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &LoadSample::default());
    assert_eq!(tracker.load(), EndpointLoad::default());
}

#[test]
fn what_is_told_beside_an_answer_counts_from_then_on_and_says_nothing_of_the_process() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole());
    let told = LoadSample {
        running: Some(2),
        process_start_seconds: Some(1.0),
        ..LoadSample::default()
    };
    tracker.told(at(9), &told);
    let load = tracker.load();
    assert_eq!((load.waiting, load.running), (3, 2));
    // Some of it is as old as before.
    assert_eq!(load.sampled_at, Some(at(5)));
    assert_eq!(tracker.apply(at(12), &whole()), Applied::Same);
}

#[test]
fn a_restart_is_told_once_and_forgets_the_earlier_process() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole());
    let restarted = LoadSample {
        running: Some(0),
        process_start_seconds: Some(1_757_900_060.0),
        ..LoadSample::default()
    };
    assert_eq!(tracker.apply(at(9), &restarted), Applied::Restarted);
    let expected = EndpointLoad {
        sampled_at: Some(at(9)),
        ..EndpointLoad::default()
    };
    assert_eq!(tracker.load(), expected);
    assert_eq!(tracker.apply(at(12), &restarted), Applied::Same);
}

#[test]
fn a_start_time_that_is_missing_or_trembles_is_no_restart() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole());
    assert_eq!(tracker.apply(at(6), &LoadSample::default()), Applied::Same);
    for start in [1_757_900_000.9, 1_757_899_999.2] {
        let sample = LoadSample {
            process_start_seconds: Some(start),
            ..whole()
        };
        assert_eq!(tracker.apply(at(7), &sample), Applied::Same);
    }
    let earlier = LoadSample {
        process_start_seconds: Some(1_757_000_000.0),
        ..whole()
    };
    assert_eq!(tracker.apply(at(8), &earlier), Applied::Restarted);
}
