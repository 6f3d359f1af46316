//! Histograms: what was sent is what is told.

use std::time::Instant;

use super::completions::QUESTION;
use super::*;

impl Running {
    /// The sum and the count of a histogram.
    async fn histogram(&self, name: &str) -> (f64, f64) {
        let sum = self.metric(&of_model_metric(&format!("{name}_sum"))).await;
        let count = self
            .metric(&of_model_metric(&format!("{name}_count")))
            .await;
        (sum, count)
    }

    async fn expect_histogram(&self, name: &str, sum: f64, count: f64) {
        let told = self.histogram(name).await;
        assert!(
            (told.0 - sum).abs() < 1e-6,
            "{name}: the sum {told:?} is not {sum}"
        );
        assert!(
            (told.1 - count).abs() < 0.5,
            "{name}: the count {told:?} is not {count}"
        );
    }
}

#[tokio::test]
async fn sums_and_counts_are_those_of_the_requests_that_were_sent() {
    let engine = start(&[]).await;
    let begin = Instant::now();
    // 32 tokens of prompt each, none of them cached; a step takes 1 ms, their prefill 0.2 ms.
    for (number, tokens) in [(1, 1), (2, 4), (3, 7)] {
        let prompt = QUESTION.replacen("What", &format!("Wha{number}"), 1);
        let (_, answer) = engine.ask(CHAT, &chat(&prompt, tokens)).await;
        assert_eq!(answer["usage"]["prompt_tokens"], 32);
        assert_eq!(answer["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    }
    let passed = begin.elapsed().as_secs_f64();
    let expect = async |name, sum, count| engine.expect_histogram(name, sum, count).await;
    expect("vllm:request_prompt_tokens", 96.0, 3.0).await;
    expect("vllm:request_generation_tokens", 12.0, 3.0).await;
    expect("vllm:inter_token_latency_seconds", 0.009, 9.0).await;
    expect("vllm:request_time_per_output_token_seconds", 0.002, 3.0).await;
    expect("vllm:request_prefill_time_seconds", 0.0036, 3.0).await;
    expect("vllm:request_decode_time_seconds", 0.009, 3.0).await;
    expect("vllm:request_inference_time_seconds", 0.0126, 3.0).await;

    // These begin when a request arrives, which is not at a moment of the model's.
    let (queued, count) = engine.histogram("vllm:request_queue_time_seconds").await;
    assert!(count > 2.5 && (0.0..passed).contains(&queued), "{queued}");
    let (first, count) = engine.histogram("vllm:time_to_first_token_seconds").await;
    assert!(
        count > 2.5 && (first - queued - 0.0036).abs() < 1e-6,
        "{first}"
    );
    let (latency, count) = engine.histogram("vllm:e2e_request_latency_seconds").await;
    assert!(
        count > 2.5 && (latency - queued - 0.0126).abs() < 1e-6,
        "{latency}"
    );
    assert!(latency < passed, "{latency} in {passed}");
    engine.stop().await;
}

#[tokio::test]
async fn buckets_count_up_to_their_bound() {
    let engine = start(&[]).await;
    for tokens in [1, 2, 5, 6] {
        engine.ask(CHAT, &chat(QUESTION, tokens)).await;
    }
    for (bound, count) in [
        ("1.0", 1.0),
        ("2.0", 2.0),
        ("5.0", 3.0),
        ("10.0", 4.0),
        ("+Inf", 4.0),
    ] {
        let sample = format!(
            "vllm:request_generation_tokens_bucket{{engine=\"0\",le=\"{bound}\",\
             model_name=\"stand-in\"}}"
        );
        let told = engine.metric(&sample).await;
        assert!((told - count).abs() < 0.5, "{sample} {told}");
    }
    engine.stop().await;
}

#[tokio::test]
async fn times_are_real_ones_also_while_the_engine_is_slow() {
    let engine = start(&["--speed", "2", "--fault", "slow:3"]).await;
    engine.ask(CHAT, &chat(QUESTION, 5)).await;
    // A step of 20 ms, at twice the speed, 20 times as fast, and three times as slow.
    engine
        .expect_histogram("vllm:inter_token_latency_seconds", 4.0 * 0.0015, 4.0)
        .await;
    engine.stop().await;
}

#[tokio::test]
async fn a_list_of_prompts_is_measured_one_by_one_and_an_aborted_one_not_at_all() {
    let engine = start(&[]).await;
    let body = json!({ "model": "stand-in", "prompt": ["one", "two"], "max_tokens": 3 });
    engine.ask(TEXT, &body).await;
    engine.set_faults(&["slow:1000000"]).await;
    let response = engine
        .send(engine.post(CHAT, &streamed(chat(QUESTION, 5))))
        .await;
    engine.until_metric(RUNNING, 1.0).await;
    drop(response);
    engine.until_metric(ABORTED, 1.0).await;
    engine
        .expect_histogram("vllm:request_generation_tokens", 6.0, 2.0)
        .await;
    engine
        .expect_histogram("vllm:request_prompt_tokens", 2.0, 2.0)
        .await;
    engine.stop().await;
}
