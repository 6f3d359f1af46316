use super::*;
use crate::bench::exchange::{Failure, Timing};

fn usage(cpu_ms: u64, peak_bytes: u64) -> Option<Usage> {
    Some(Usage {
        cpu: Duration::from_millis(cpu_ms),
        peak_bytes,
    })
}

/// 400 streams of 2 ms each and 100 failures, within two seconds.
fn measurement() -> Measurement {
    let mut tally = Tally::new().unwrap();
    for _ in 0..400 {
        tally.record(Ok(Timing {
            pick: Duration::from_millis(1),
            whole: Duration::from_millis(2),
        }));
    }
    for _ in 0..100 {
        tally.record(Err(Failure::NoDestination));
    }
    Measurement {
        tally,
        elapsed: Duration::from_secs(2),
        before: usage(1000, 5_000_000),
        after: usage(2000, 6_500_000),
        client_cpu: Some(Duration::from_millis(600)),
        load_average: Some(0.5),
    }
}

#[test]
fn figures_count_what_succeeded_and_what_was_used_meanwhile() {
    let measurement = measurement();
    let (requests, failures) = measurement.counts();
    assert_eq!(requests, 500);
    assert_eq!(failures["no destination"], 100);
    let figures = measurement.figures();
    assert_eq!(
        figures,
        Figures {
            picks_per_s: 200.0,
            pick_ms: measurement.tally.pick_ms(),
            stream_ms: measurement.tally.whole_ms(),
            cpu_s_per_10k: Some(25.0),
            client_cpu_s_per_10k: Some(15.0),
            peak_mb: Some(6.5),
            load_average: Some(0.5),
        }
    );
}

#[test]
fn what_is_not_known_is_left_out_and_nothing_is_divided_by_zero() {
    let figures = Measurement {
        tally: Tally::new().unwrap(),
        before: None,
        elapsed: Duration::ZERO,
        ..measurement()
    }
    .figures();
    assert_eq!(figures.picks_per_s.to_string(), "0");
    assert_eq!(figures.cpu_s_per_10k, None);
    assert_eq!(figures.client_cpu_s_per_10k, None);
    let ratios = figures.ratios(&figures);
    assert_eq!((ratios.picks_per_s, ratios.cpu), (None, None));
}

#[test]
fn so_few_ticks_that_they_say_nothing_are_no_figure() {
    let figures = |cpu_ms: u64| {
        Measurement {
            after: usage(1000 + cpu_ms, 0),
            client_cpu: Some(Duration::from_millis(cpu_ms)),
            ..measurement()
        }
        .figures()
    };
    assert_eq!(figures(490).cpu_s_per_10k, None);
    assert_eq!(figures(490).client_cpu_s_per_10k, None);
    assert_eq!(figures(500).cpu_s_per_10k, Some(12.5));
}

#[test]
fn a_process_that_used_nothing_for_a_thousand_answers_is_another_one() {
    let of = |answers: u64, cpu_ms: u64| {
        let mut measurement = measurement();
        for _ in measurement.tally.succeeded()..answers {
            measurement.tally.record(Ok(Timing {
                pick: Duration::from_millis(1),
                whole: Duration::from_millis(2),
            }));
        }
        measurement.after = usage(1000 + cpu_ms, 0);
        measurement.is_of_another_process()
    };
    assert!(of(1000, 0));
    assert!(!of(999, 0));
    assert!(!of(1000, 10));
}

#[test]
fn a_median_is_the_value_in_the_middle_or_between_the_two() {
    for (values, expected) in [
        (vec![], "0"),
        (vec![4.0], "4"),
        (vec![9.0, 1.0, 2.0], "2"),
        (vec![9.0, 1.0, 2.0, 3.0], "2.5"),
    ] {
        assert_eq!(median(values.clone()).to_string(), expected, "{values:?}");
    }
}

#[test]
fn each_figure_has_its_own_median() {
    let round = |picks_per_s, cpu, peak_mb| Figures {
        picks_per_s,
        cpu_s_per_10k: cpu,
        peak_mb,
        ..measurement().figures()
    };
    let medians = Figures::medians(&[
        round(300.0, Some(1.0), Some(9.0)),
        round(100.0, Some(3.0), None),
        round(200.0, Some(2.0), Some(8.0)),
    ]);
    assert_eq!(
        medians,
        Figures {
            picks_per_s: 200.0,
            cpu_s_per_10k: Some(2.0),
            peak_mb: None,
            ..measurement().figures()
        }
    );
}

#[test]
fn ratios_are_multiples_of_the_base() {
    let base = measurement().figures();
    let figures = Figures {
        picks_per_s: 100.0,
        cpu_s_per_10k: Some(37.5),
        ..base.clone()
    };
    let expected = Ratios {
        picks_per_s: Some(0.5),
        pick_p50: Some(1.0),
        cpu: Some(1.5),
    };
    assert_eq!(figures.ratios(&base), expected);
}
