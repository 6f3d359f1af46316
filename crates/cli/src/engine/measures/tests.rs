use core::time::Duration;

use super::*;

/// The sum, to the microsecond, and the number of observations.
fn told(histogram: &Histogram) -> (u64, u64) {
    ((histogram.sum() * 1e6).round() as u64, histogram.count())
}

#[test]
fn a_finished_request_is_measured_from_its_arrival_to_its_last_token() {
    let start = Instant::now();
    let at = |millis| start + Duration::from_millis(millis);
    let mut measures = Measures::new(1000);
    let mut course = Course::new(70, start);
    course.admit(at(5));
    for millis in [25, 35, 65] {
        measures.token(&mut course, at(millis));
    }
    measures.finished(&course, FinishReason::Length);
    assert_eq!(told(&measures.time_to_first_token), (25_000, 1));
    assert_eq!(told(&measures.inter_token_latency), (40_000, 2));
    assert_eq!(told(&measures.time_per_output_token), (20_000, 1));
    assert_eq!(told(&measures.latency), (65_000, 1));
    assert_eq!(told(&measures.queue_time), (5_000, 1));
    assert_eq!(told(&measures.prefill_time), (20_000, 1));
    assert_eq!(told(&measures.decode_time), (40_000, 1));
    assert_eq!(told(&measures.inference_time), (60_000, 1));
    assert_eq!(told(&measures.prompt_tokens), (70_000_000, 1));
    assert_eq!(told(&measures.generation_tokens), (3_000_000, 1));
    assert_eq!((measures.ended.length, measures.ended.stop), (1, 0));
}

#[test]
fn a_request_of_one_token_decodes_in_no_time() {
    let start = Instant::now();
    let mut measures = Measures::new(1000);
    let mut course = Course::new(1, start);
    course.admit(start);
    measures.token(&mut course, start + Duration::from_millis(8));
    measures.finished(&course, FinishReason::Stop);
    assert_eq!(told(&measures.inter_token_latency), (0, 0));
    assert_eq!(told(&measures.time_per_output_token), (0, 1));
    assert_eq!(told(&measures.decode_time), (0, 1));
    assert_eq!(measures.ended.stop, 1);
}

#[test]
fn tokens_of_a_request_that_never_finishes_count_by_themselves() {
    let start = Instant::now();
    let mut measures = Measures::new(1000);
    let mut course = Course::new(1, start);
    course.admit(start);
    for millis in [1, 2] {
        measures.token(&mut course, start + Duration::from_millis(millis));
    }
    assert_eq!(told(&measures.time_to_first_token), (1_000, 1));
    assert_eq!(told(&measures.inter_token_latency), (1_000, 1));
    assert_eq!(told(&measures.latency), (0, 0));
}
