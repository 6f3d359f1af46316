use proptest::prelude::*;

use super::*;

fn counters(prompt: f64, cached: f64, prefill: f64, output: f64, decode: f64) -> Counters {
    Counters {
        prompt_tokens: Some(prompt),
        cached_tokens: Some(cached),
        prefill_seconds: Some(prefill),
        output_tokens: Some(output),
        decode_seconds: Some(decode),
        ..Counters::default()
    }
}

/// Tokens per millisecond.
fn speed(rate: Option<Rate>) -> Option<f64> {
    rate.map(|rate| rate.tokens_per_ms)
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(seconds * 1000)
}

fn rate(tokens_per_ms: f64, confidence: f64) -> Rate {
    Rate {
        tokens_per_ms,
        confidence: Unit::clamped(confidence),
        read_at: at(0),
    }
}

#[test]
fn rates_come_from_what_was_computed_between_two_scrapes() {
    let mut learner = RateLearner::default();
    // What an engine did before we came says nothing of today.
    learner.counted(at(1), &counters(1e9, 0.0, 1.0, 1e9, 1.0));
    assert_eq!((learner.prefill(), learner.decode()), (None, None));
    let later = counters(1e9 + 50_000.0, 10_000.0, 5.0, 1e9 + 3000.0, 101.0);
    learner.counted(at(2), &later);
    let prefill = learner.prefill().unwrap();
    assert_eq!(speed(Some(prefill)), Some(10.0));
    assert_eq!(prefill.confidence, Unit::clamped(4.0 / 6.0));
    assert_eq!(prefill.read_at, at(2));
    assert_eq!(speed(learner.decode()), Some(0.03));
}

#[test]
fn an_engine_that_does_nothing_keeps_its_rate_and_one_that_starts_anew_too() {
    let mut learner = RateLearner::default();
    learner.counted(at(0), &counters(0.0, 0.0, 0.0, 0.0, 0.0));
    let page = counters(8000.0, 0.0, 2.0, 0.0, 0.0);
    learner.counted(at(1), &page);
    let known = learner.prefill();
    learner.counted(at(2), &page);
    assert_eq!(learner.prefill(), known);
    learner.counted(at(3), &counters(10.0, 0.0, 0.1, 0.0, 0.0));
    assert_eq!(learner.prefill(), known);
    learner.counted(at(4), &Counters::default());
    assert_eq!(learner.prefill(), known);
}

#[test]
fn tokens_that_are_counted_before_their_time_is_are_not_lost() {
    let mut learner = RateLearner::default();
    learner.counted(at(0), &counters(0.0, 0.0, 0.0, 0.0, 0.0));
    learner.counted(at(1), &counters(6000.0, 0.0, 0.0, 0.0, 0.0));
    assert_eq!(learner.prefill(), None);
    learner.counted(at(1), &counters(6000.0, 0.0, 2.0, 0.0, 0.0));
    assert_eq!(speed(learner.prefill()), Some(3.0));
}

#[test]
fn an_old_rate_gives_way_to_what_is_seen_now() {
    let mut learner = RateLearner::default();
    learner.counted(at(0), &counters(0.0, 0.0, 0.0, 0.0, 0.0));
    learner.counted(at(1), &counters(10_000.0, 0.0, 10.0, 0.0, 0.0));
    learner.counted(at(601), &counters(20_000.0, 0.0, 15.0, 0.0, 0.0));
    let prefill = learner.prefill().unwrap().tokens_per_ms;
    assert!((1.99..2.0).contains(&prefill), "{prefill}");
}

#[test]
fn a_first_output_of_a_long_prompt_tells_of_prefill() {
    let mut learner = RateLearner::default();
    learner.first_output(at(1), Tokens(255), Duration::from_secs(1));
    assert_eq!(learner.prefill(), None);
    learner.first_output(at(1), Tokens(4000), Duration::from_secs(1));
    assert_eq!(speed(learner.prefill()), Some(4.0));
}

#[test]
fn a_rate_is_trusted_as_far_as_it_is_known_and_never_far_from_the_pools() {
    let pool = typical([rate(9.0, 1.0), rate(10.0, 1.0), rate(500.0, 1.0)]).unwrap();
    assert_eq!(speed(Some(pool)), Some(10.0));
    assert_eq!(typical([]), None);
    let taken = vec![
        shrunk(None, pool),
        shrunk(Some(rate(20.0, 0.5)), pool),
        shrunk(Some(rate(20.0, 1.0)), pool),
        shrunk(Some(rate(500.0, 1.0)), pool),
        shrunk(Some(rate(0.1, 1.0)), pool),
    ];
    assert_eq!(taken, vec![10.0, 15.0, 20.0, 80.0, 1.25]);
}

proptest! {
    #[test]
    fn whatever_is_counted_a_rate_is_a_positive_number(
        pages in proptest::collection::vec(
            (0..100_u64, proptest::array::uniform5(prop_oneof![0.0..1e12, Just(f64::MAX), Just(0.0)])),
            0..8,
        ),
    ) {
        let mut learner = RateLearner::default();
        for (seconds, [a, b, c, d, e]) in pages {
            learner.counted(at(seconds), &counters(a, b, c, d, e));
            for rate in [learner.prefill(), learner.decode()].into_iter().flatten() {
                prop_assert!(rate.tokens_per_ms > 0.0 && rate.tokens_per_ms.is_finite());
            }
        }
    }
}
