mod runs;

use pointsman_pipeline::record::{EndReason, FORMAT};
use proptest::prelude::*;

use self::runs::{Run, events};
use super::summary::Ending;
use super::*;

/// Replays the lines of a text; the last may be cut.
fn replay(goal: Goal, text: &str) -> Result<Summary, Stop> {
    let mut replay = Replay::new(goal);
    for line in text.split_inclusive('\n') {
        replay.line(line.as_bytes())?;
    }
    replay.finish()
}

fn verify(text: &str) -> Result<Summary, Stop> {
    replay(Goal::Verify, text)
}

/// A run in which three requests are picked, and its end.
fn small_run() -> String {
    let mut run = Run::begin("", 7);
    run.endpoints(2);
    for id in 1..=3 {
        run.offer(id);
    }
    run.finish(EndReason::Complete)
}

fn difference(text: &str) -> Difference {
    match verify(text) {
        Err(Stop::Different(difference)) => difference,
        other => panic!("not different: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_run_of_a_pool_replays_identically(
        (configuration, events) in (0..runs::CONFIGURATIONS.len(), events()),
        seed: u64,
    ) {
        let mut run = Run::begin(runs::CONFIGURATIONS[configuration], seed);
        let count = events.len();
        for event in events {
            run.take(event);
        }
        let text = run.finish(EndReason::Complete);
        let summary = verify(&text).unwrap();
        prop_assert_eq!(summary.entries(), count as u64);
        prop_assert_eq!(summary.ending(), Ending::Told(EndReason::Complete));
        let counted = replay(Goal::Summarize, &text).unwrap();
        prop_assert_eq!(counted.decisions(), summary.decisions());
    }

    #[test]
    fn another_seed_is_noticed_where_it_decides(seed in 0_u64..1000) {
        let mut run = Run::begin(runs::RANDOM, seed);
        run.endpoints(4);
        // Sixty-four picks among four are the same by chance once in 10^38.
        for id in 0..64 {
            run.offer(id);
        }
        let text = run.finish(EndReason::Complete);
        let (told, other) = (format!("\"seed\":{seed},"), format!("\"seed\":{},", seed + 1));
        let changed = text.replacen(&told, &other, 1);
        prop_assert_ne!(&text, &changed);
        prop_assert!(matches!(verify(&changed), Err(Stop::Different(_))));
    }
}

#[test]
fn the_summary_tells_what_was_in_the_run() {
    let summary = verify(&small_run()).unwrap();
    assert_eq!((summary.entries(), summary.decisions()), (4, 3));
    let steps: Vec<_> = summary
        .steps()
        .iter()
        .map(|(&kind, &n)| (kind, n))
        .collect();
    assert_eq!(steps, [("endpoints", 1), ("offer", 3)]);
    assert_eq!(summary.picks().values().sum::<u64>(), 3);
    let named = |(name, _): &(String, core::net::SocketAddr)| name.starts_with("default/");
    assert!(summary.picks().keys().all(named));
    assert_eq!(summary.duration(), core::time::Duration::from_millis(3));
    assert_eq!(summary.header().map(|header| header.seed), Some(7));
    assert!(!summary.ending().is_early());
}

#[test]
fn one_changed_digit_of_a_decision_is_found_and_named() {
    let text = small_run();
    let lines: Vec<&str> = text.lines().collect();
    let changed = lines[4].replacen("\"slot\":", "\"slot\":1", 1);
    let text = text.replace(lines[4], &changed);
    let difference = difference(&text);
    assert_eq!((difference.line, difference.sequence), (5, 3));
    assert_eq!((difference.kind, &*difference.place), ("offer", "output 1"));
    assert!(difference.expected.contains("\"slot\":1"), "{difference}");
    assert_ne!(difference.expected, difference.got);
    let told = Stop::Different(difference).to_string();
    assert!(
        told.starts_with("line 5, entry 3 (offer), output 1: expected {\"decided\""),
        "{told}"
    );
}

#[test]
fn an_output_too_many_or_too_few_is_found() {
    let text = small_run();
    let line = text.lines().nth(2).unwrap();
    let (start, _) = line.split_once("\"outputs\":").unwrap();
    let less = format!("{start}\"outputs\":[]}}}}");
    let found = difference(&text.replace(line, &less));
    assert_eq!((found.line, &*found.place), (3, "output 1"));
    assert_eq!(found.expected, "nothing");
    assert!(found.got.contains("decided"), "{found}");

    let all = line.strip_suffix("]}}").unwrap();
    let more = format!("{all},{{\"event\":{{\"held\":{{\"request\":9}}}}}}]}}}}");
    let found = difference(&text.replace(line, &more));
    assert_eq!((found.line, &*found.got), (3, "nothing"));
    assert!(found.expected.contains("held"), "{found}");
}

#[test]
fn a_changed_input_is_found_by_what_follows_from_it() {
    let text = small_run();
    let changed = text.replacen("\"offer\":{\"id\":2", "\"offer\":{\"id\":9", 1);
    assert_eq!(difference(&changed).line, 4);
}

#[test]
fn a_recording_that_ends_early_replays_as_far_as_it_goes() {
    let text = small_run();
    let (without_end, _) = text.split_at(text.rfind("{\"end\"").unwrap());
    for (text, entries, ending) in [
        (without_end.to_owned(), 4, Ending::Missing),
        (
            without_end[..without_end.len() - 40].to_owned(),
            3,
            Ending::Missing,
        ),
        (
            text.replace("complete", "queue_full"),
            4,
            Ending::Told(EndReason::QueueFull),
        ),
        // An end without its mark is an end all the same.
        (
            text.trim_end().to_owned(),
            4,
            Ending::Told(EndReason::Complete),
        ),
    ] {
        let summary = verify(&text).unwrap();
        assert_eq!((summary.entries(), summary.ending()), (entries, ending));
    }
    assert!(Ending::Missing.is_early());
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let text = small_run();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let header = lines[0];
    let of_newer = header.replace(&format!("\"format\":{FORMAT}"), "\"format\":77");
    for (text, expected) in [
        (
            String::new(),
            "line 1: a recording must begin with a header",
        ),
        (
            lines[1..].concat(),
            "line 1: a recording must begin with a header",
        ),
        (
            "ELF\u{7f}\n".to_owned(),
            "line 1: not a line of a recording",
        ),
        (
            "{\"header\":".to_owned(),
            "line 1: not a line of a recording",
        ),
        (of_newer + lines[1], "line 1: the recording has format 77"),
        (format!("{header}\n"), "line 2: not a line of a recording"),
        // Without the mark of its end, and yet no beginning of a line.
        (
            format!("{header}this is not json at all"),
            "line 2: not a line of a recording",
        ),
        (
            format!("{header}{{\"entry\":7}}"),
            "line 2: not a line of a recording",
        ),
    ] {
        let error = verify(&text).unwrap_err();
        assert!(matches!(error, Stop::Unreadable(_)), "{error}");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    lines.remove(2);
    let error = verify(&lines.concat()).unwrap_err().to_string();
    assert_eq!(error, "line 3: entry 2 stands where entry 1 must be");
}

#[test]
fn a_configuration_that_this_program_does_not_know_is_told_with_its_problems() {
    let text = Run::recorded_elsewhere("plugins: [{type: scorer-of-tomorrow}]");
    let error = verify(&text).unwrap_err().to_string();
    assert!(
        error.starts_with("line 1: the configuration is not usable here"),
        "{error}"
    );
    assert!(error.contains("scorer-of-tomorrow"), "{error}");
    // What is in it can be counted all the same.
    assert_eq!(replay(Goal::Summarize, &text).unwrap().entries(), 0);
}

#[test]
fn a_panic_that_does_not_come_again_is_a_difference() {
    let mut run = Run::begin("", 7);
    run.endpoints(1);
    run.pretend_panic();
    let found = difference(&run.finish(EndReason::Complete));
    assert_eq!((found.line, found.kind), (3, "panicked"));
    assert_eq!((&*found.expected, &*found.got), ("a panic", "none"));
}
