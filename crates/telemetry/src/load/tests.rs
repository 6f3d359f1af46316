use pointsman_domain::load::Counters;

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
    assert_eq!(tracker.apply(at(5), &whole().into()), Applied::Same);
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
    tracker.apply(at(5), &whole().into());
    let queue_only = LoadSample {
        waiting: Some(7),
        ..LoadSample::default()
    };
    tracker.apply(at(9), &queue_only.into());
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
    tracker.apply(at(5), &queue_only.into());
    tracker.apply(at(9), &queue_only.into());
    assert_eq!(tracker.load().sampled_at, Some(at(9)));
}

#[test]
fn b53_an_endpoint_that_told_nothing_yet_is_idle_and_of_no_age() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &EngineSample::default());
    assert_eq!(tracker.load(), EndpointLoad::default());
}

#[test]
fn what_is_told_beside_an_answer_counts_from_then_on_and_says_nothing_of_the_process() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole().into());
    let told = LoadSample {
        running: Some(2),
        process_start_seconds: Some(1.0),
        ..LoadSample::default()
    };
    tracker.told(at(9), Source::Answer, &told);
    let load = tracker.load();
    assert_eq!((load.waiting, load.running), (3, 2));
    // Some of it is as old as before.
    assert_eq!(load.sampled_at, Some(at(5)));
    assert_eq!(tracker.apply(at(12), &whole().into()), Applied::Same);
}

#[test]
fn a_restart_is_told_once_and_forgets_the_earlier_process() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole().into());
    let restarted = LoadSample {
        running: Some(0),
        process_start_seconds: Some(1_757_900_060.0),
        ..LoadSample::default()
    };
    assert_eq!(tracker.apply(at(9), &restarted.into()), Applied::Restarted);
    let expected = EndpointLoad {
        sampled_at: Some(at(9)),
        ..EndpointLoad::default()
    };
    assert_eq!(tracker.load(), expected);
    assert_eq!(tracker.apply(at(12), &restarted.into()), Applied::Same);
}

#[test]
fn a_start_time_that_is_missing_or_trembles_is_no_restart() {
    let mut tracker = LoadTracker::default();
    tracker.apply(at(5), &whole().into());
    assert_eq!(
        tracker.apply(at(6), &EngineSample::default()),
        Applied::Same
    );
    for start in [1_757_900_000.9, 1_757_899_999.2] {
        let sample = LoadSample {
            process_start_seconds: Some(start),
            ..whole()
        };
        assert_eq!(tracker.apply(at(7), &sample.into()), Applied::Same);
    }
    let earlier = LoadSample {
        process_start_seconds: Some(1_757_000_000.0),
        ..whole()
    };
    assert_eq!(tracker.apply(at(8), &earlier.into()), Applied::Restarted);
}

#[test]
fn what_is_told_after_a_scrape_began_is_newer_than_the_page() {
    let mut tracker = LoadTracker::default();
    tracker.scrape_begun(at(5));
    let told = LoadSample {
        running: Some(2),
        ..LoadSample::default()
    };
    tracker.told(at(6), Source::Stream, &told);
    tracker.apply(at(9), &whole().into());
    let load = tracker.load();
    assert_eq!((load.waiting, load.running), (3, 2));
    let told = |at, by| Some(Told { at, by });
    let expected = Signals {
        waiting: told(at(5), Source::Scrape),
        running: told(at(6), Source::Stream),
        kv_usage: told(at(5), Source::Scrape),
    };
    assert_eq!(tracker.signals(), expected);
    assert_eq!(load.sampled_at, Some(at(5)));
    assert_eq!(tracker.running_most(), 12);
}

#[test]
fn b45_a_page_without_adapters_leaves_those_that_were_told() {
    let mut tracker = LoadTracker::default();
    let adapters = Adapters {
        slots: Some(4),
        ..Adapters::default()
    };
    let page = EngineSample {
        adapters: Some(adapters.clone()),
        ..EngineSample::default()
    };
    tracker.apply(at(5), &page);
    tracker.apply(at(6), &whole().into());
    assert_eq!(tracker.adapters(), Some(&adapters));
}

#[test]
fn preemptions_that_go_on_for_a_second_are_a_sign_until_they_stop_for_two() {
    let page = |preemptions| EngineSample {
        counters: Counters {
            preemptions: Some(preemptions),
            ..Counters::default()
        },
        ..EngineSample::default()
    };
    let mut tracker = LoadTracker::default();
    // Those before the first page are long ago.
    tracker.apply(at(0), &page(7.0));
    tracker.apply(at(500), &page(8.0));
    tracker.apply(at(1000), &page(8.0));
    assert!(!tracker.is_preempting(at(1000)));
    tracker.apply(at(1400), &page(9.0));
    assert!(!tracker.is_preempting(at(1400)));
    tracker.apply(at(1500), &page(10.0));
    assert!(tracker.is_preempting(at(1500)));
    assert!(tracker.is_preempting(at(3499)));
    assert!(!tracker.is_preempting(at(3500)));
    // A single one much later begins anew, and a page without the counter says nothing.
    tracker.apply(at(9000), &page(11.0));
    tracker.apply(at(9001), &EngineSample::default());
    assert!(!tracker.is_preempting(at(9001)));
}
