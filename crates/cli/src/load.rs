//! Sends a planned workload to one address and measures what comes back.
//!
//! Open loop: a message goes out when the plan says, however slow the answers to others are. Only
//! within a chat does a message wait for the answer before it, which it quotes.

mod answer;

use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, sleep_until, timeout};

use crate::client::{HttpClient, http_client};
use crate::workload::Session;
use answer::AnswerReader;

/// Where a workload goes and how fast.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// An OpenAI-compatible server.
    pub address: SocketAddr,
    /// The model that is asked for.
    pub model: String,
    /// How much faster than real time the plan runs.
    pub time_scale: f64,
    /// After this much real time nothing more is sent; what is running is finished.
    pub duration: Duration,
}

/// What happened to one message. All times are real time.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which session of the plan.
    pub session: usize,
    /// Which turn of the session.
    pub turn: usize,
    /// The answer, or why there is none.
    pub answer: Result<Answered, String>,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// From sending the request to the first content.
    pub first_content_after: Duration,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Those of them that the engine found in its cache.
    pub cached_tokens: u64,
    /// Which engine says that it answered.
    pub engine: String,
    text: String,
}

#[cfg(test)]
impl Answered {
    /// An answer without a text.
    pub(crate) fn new(
        first_content_after: Duration,
        prompt_tokens: u64,
        cached_tokens: u64,
        engine: &str,
    ) -> Self {
        Self {
            first_content_after,
            prompt_tokens,
            cached_tokens,
            engine: engine.to_owned(),
            text: String::new(),
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Real time since the start.
    pub elapsed: Duration,
    /// Messages answered or failed.
    pub finished: usize,
    /// Messages failed.
    pub failed: usize,
}

/// Sends `sessions` and returns the outcome of each message sent, in the order of their ends.
/// `report` is called several times a second.
pub async fn run(
    sessions: &[Session],
    options: &LoadOptions,
    mut report: impl FnMut(Progress),
) -> Result<Vec<Outcome>> {
    let start = Instant::now();
    let run = Arc::new(Run {
        client: http_client(),
        options: options.clone(),
        start,
    });
    let (sender, mut finished) = mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    for (index, session) in sessions.iter().cloned().enumerate() {
        let (run, sender) = (Arc::clone(&run), sender.clone());
        tasks.spawn(async move { run.session(index, &session, &sender).await });
    }
    drop(sender);
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut failed = 0;
    let mut ticks = interval(REPORT_INTERVAL);
    loop {
        tokio::select! {
            outcome = finished.recv() => match outcome {
                Some(outcome) => {
                    failed += usize::from(outcome.answer.is_err());
                    outcomes.push(outcome);
                }
                None => break,
            },
            _ = ticks.tick() => {}
        }
        report(Progress {
            elapsed: start.elapsed(),
            finished: outcomes.len(),
            failed,
        });
    }
    while let Some(joined) = tasks.join_next().await {
        joined.context("a chat of the load did not end by itself")?;
    }
    Ok(outcomes)
}

struct Run {
    client: HttpClient,
    options: LoadOptions,
    start: Instant,
}

impl Run {
    /// One chat; it ends early when a message fails, as the next one could not quote its answer.
    async fn session(
        &self,
        index: usize,
        session: &Session,
        outcomes: &mpsc::UnboundedSender<Outcome>,
    ) {
        let mut messages = vec![json!({ "role": "system", "content": &*session.system_prompt })];
        for (turn_index, turn) in session.turns.iter().enumerate() {
            sleep_until(self.start + turn.at.div_f64(self.options.time_scale)).await;
            if self.start.elapsed() >= self.options.duration {
                return;
            }
            messages.push(json!({ "role": "user", "content": turn.message }));
            let answer = self.ask(&messages, turn.answer_tokens).await;
            let text = answer.as_ref().ok().map(|answer| answer.text.clone());
            let outcome = Outcome {
                session: index,
                turn: turn_index,
                answer,
            };
            // Nobody listens any more when the run is given up.
            let _ = outcomes.send(outcome);
            let Some(text) = text else {
                return;
            };
            messages.push(json!({ "role": "assistant", "content": text }));
        }
    }

    async fn ask(&self, messages: &[Value], answer_tokens: u32) -> Result<Answered, String> {
        timeout(ANSWER_WAIT_MAX, self.ask_unbounded(messages, answer_tokens))
            .await
            .unwrap_or_else(|_| Err(format!("no complete answer within {ANSWER_WAIT_MAX:?}")))
    }

    async fn ask_unbounded(
        &self,
        messages: &[Value],
        answer_tokens: u32,
    ) -> Result<Answered, String> {
        let body = json!({
            "model": self.options.model,
            "messages": messages,
            "max_tokens": answer_tokens,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        let request = Request::post(format!(
            "http://{}/v1/chat/completions",
            self.options.address
        ))
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body.to_string())))
        .map_err(|error| error.to_string())?;
        let sent = Instant::now();
        let response = self.client.request(request).await;
        let response = response.map_err(|error| format!("no response: {}", with_causes(&error)))?;
        let (head, mut body) = response.into_parts();
        if head.status != StatusCode::OK {
            return Err(format!("status {}", head.status.as_u16()));
        }
        let mut reader = AnswerReader::default();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("cut off: {}", with_causes(&error)))?;
            if let Ok(data) = frame.into_data() {
                reader.feed(&data, sent.elapsed())?;
            }
        }
        let answer = reader.finish()?;
        Ok(Answered {
            first_content_after: answer.first_content_after,
            prompt_tokens: answer.prompt_tokens,
            cached_tokens: answer.cached_tokens,
            engine: head
                .headers
                .get(ENGINE_HEADER)
                .and_then(|value| value.to_str().ok())
                .unwrap_or("unknown")
                .to_owned(),
            text: answer.text,
        })
    }
}

fn with_causes(error: &dyn core::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// The header in which the engine stand-in says who it is.
const ENGINE_HEADER: &str = "x-pointsman-engine";

/// An answer that takes longer has failed.
const ANSWER_WAIT_MAX: Duration = Duration::from_secs(60);

const REPORT_INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
