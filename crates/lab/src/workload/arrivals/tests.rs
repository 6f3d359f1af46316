use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use serde_json::{Value, json};

use super::*;

fn times(arrivals: Value, start_ms: f64, whole: WholeMs, count: usize) -> Vec<Timestamp> {
    let arrivals = serde_json::from_value(arrivals).unwrap();
    let mut clock = Clock::new(arrivals, Millis::new(start_ms), whole);
    let mut rng = Pcg64Mcg::seed_from_u64(5);
    (0..count).map(|_| clock.next(&mut rng)).collect()
}

/// Mean in milliseconds and coefficient of variation.
fn gaps(arrivals: Value) -> (f64, f64) {
    let times = times(arrivals, 0.0, WholeMs(false), 200_000);
    let gaps: Vec<f64> = times
        .windows(2)
        .map(|pair| pair[1].since(pair[0]).as_secs_f64() * 1e3)
        .collect();
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt() / mean)
}

#[test]
fn gaps_have_their_mean_and_variation() {
    for (arrivals, mean, variation) in [
        (json!({"poisson": {"mean_gap_ms": 5}}), 5.0, 1.0),
        (
            json!({"gamma": {"mean_gap_ms": 5, "variation": 1}}),
            5.0,
            1.0,
        ),
        (
            json!({"gamma": {"mean_gap_ms": 2, "variation": 0.3}}),
            2.0,
            0.3,
        ),
        // vLLM's burstiness of 0.1.
        (
            json!({"gamma": {"mean_gap_ms": 5, "variation": 3.162}}),
            5.0,
            3.162,
        ),
    ] {
        let (got_mean, got_variation) = gaps(arrivals.clone());
        assert!(
            (got_mean / mean - 1.0).abs() < 0.02,
            "{arrivals}: {got_mean}"
        );
        assert!(
            (got_variation / variation - 1.0).abs() < 0.03,
            "{arrivals}: {got_variation}"
        );
    }
}

#[test]
fn constant_arrivals_begin_at_the_start_and_come_in_groups() {
    let arrivals = json!({"constant": {"gap_ms": 1.5, "at_once": 2}});
    let millis = |ms: f64| Millis::new(ms).moment();
    assert_eq!(
        times(arrivals, 10.0, WholeMs(false), 5),
        [10.0, 10.0, 11.5, 11.5, 13.0].map(millis)
    );
    let single = json!({"constant": {"gap_ms": 250}});
    assert_eq!(
        times(single, 200.0, WholeMs(false), 3),
        [200.0, 450.0, 700.0].map(millis)
    );
}

#[test]
fn whole_milliseconds_are_the_exact_times_rounded_down() {
    let poisson = json!({"poisson": {"mean_gap_ms": 0.7}});
    let exact = times(poisson.clone(), 3.0, WholeMs(false), 1000);
    let whole = times(poisson, 3.0, WholeMs(true), 1000);
    for (exact, whole) in exact.iter().zip(whole) {
        let ms = exact.as_nanos() / 1_000_000;
        // An exact time is itself rounded to a nanosecond.
        let is_next = exact.as_nanos() % 1_000_000 == 0;
        let rounded = whole.as_nanos() / 1_000_000;
        assert!(rounded == ms || is_next && rounded + 1 == ms);
        assert_eq!(whole.as_nanos() % 1_000_000, 0);
    }
}
