//! What is measured of requests, as vLLM measures it.
//!
//! Times are real ones, as a client or a scraper sees them; the model's time is turned into real
//! time by the driver. Aborted requests count where their tokens did and nowhere else.

use tokio::time::Instant;

use super::histogram::{BETWEEN_TOKENS, FIRST_TOKEN, Histogram, REQUEST};

/// Histograms and totals of all requests so far.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    pub(crate) ended: Ended,
    pub(crate) time_to_first_token: Histogram,
    pub(crate) inter_token_latency: Histogram,
    pub(crate) time_per_output_token: Histogram,
    pub(crate) latency: Histogram,
    pub(crate) queue_time: Histogram,
    pub(crate) inference_time: Histogram,
    pub(crate) prefill_time: Histogram,
    pub(crate) decode_time: Histogram,
    pub(crate) prompt_tokens: Histogram,
    pub(crate) generation_tokens: Histogram,
}

/// How many requests ended in which way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ended {
    pub(crate) stop: u64,
    pub(crate) length: u64,
    pub(crate) abort: u64,
}

/// Why a finished request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FinishReason {
    /// By itself.
    Stop,
    /// At the length that the client set.
    Length,
}

/// When what happened to one request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    prompt_tokens: u32,
    generated: u32,
    arrived: Instant,
    /// When it first got a slot.
    admitted: Option<Instant>,
    first_token: Option<Instant>,
    last_token: Option<Instant>,
}

impl Measures {
    /// Nothing measured yet, on an engine that holds so many tokens.
    pub(crate) fn new(tokens_max: u64) -> Self {
        Self {
            ended: Ended::default(),
            time_to_first_token: Histogram::new(FIRST_TOKEN),
            inter_token_latency: Histogram::new(BETWEEN_TOKENS),
            time_per_output_token: Histogram::new(BETWEEN_TOKENS),
            latency: Histogram::new(REQUEST),
            queue_time: Histogram::new(REQUEST),
            inference_time: Histogram::new(REQUEST),
            prefill_time: Histogram::new(REQUEST),
            decode_time: Histogram::new(REQUEST),
            prompt_tokens: Histogram::of_tokens(tokens_max),
            generation_tokens: Histogram::of_tokens(tokens_max),
        }
    }

    /// A request has one more token.
    pub(crate) fn token(&mut self, course: &mut Course, at: Instant) {
        match course.last_token {
            None => {
                course.first_token = Some(at);
                self.time_to_first_token
                    .observe(seconds(course.arrived, at));
            }
            Some(last) => self.inter_token_latency.observe(seconds(last, at)),
        }
        course.last_token = Some(at);
        course.generated += 1;
    }

    /// A request has its last token.
    pub(crate) fn finished(&mut self, course: &Course, reason: FinishReason) {
        match reason {
            FinishReason::Stop => self.ended.stop += 1,
            FinishReason::Length => self.ended.length += 1,
        }
        let arrived = course.arrived;
        let admitted = course.admitted.unwrap_or(arrived);
        let first_token = course.first_token.unwrap_or(admitted);
        let last_token = course.last_token.unwrap_or(first_token);
        let decode_time = seconds(first_token, last_token);
        self.latency.observe(seconds(arrived, last_token));
        self.queue_time.observe(seconds(arrived, admitted));
        self.inference_time.observe(seconds(admitted, last_token));
        self.prefill_time.observe(seconds(admitted, first_token));
        self.decode_time.observe(decode_time);
        // vLLM counts 0 for an answer of one token, as its mean over no gaps.
        let gaps = course.generated.saturating_sub(1).max(1);
        self.time_per_output_token
            .observe(decode_time / f64::from(gaps));
        self.prompt_tokens.observe(f64::from(course.prompt_tokens));
        self.generation_tokens.observe(f64::from(course.generated));
    }
}

impl Course {
    /// A request that arrives now.
    pub(crate) const fn new(prompt_tokens: u32, arrived: Instant) -> Self {
        Self {
            prompt_tokens,
            generated: 0,
            arrived,
            admitted: None,
            first_token: None,
            last_token: None,
        }
    }

    /// It got a slot for the first time.
    pub(crate) const fn admit(&mut self, at: Instant) {
        self.admitted = Some(at);
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests;
