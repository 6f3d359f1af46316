//! What each request gets.

use core::error::Error;
use core::future::pending;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use pointsman_domain::block::PromptScope;
use pointsman_engine::config::EngineConfig;
use pointsman_engine::job::Job;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::watch;

use super::answer::Answer;
use super::ask::{Ask, Dialect};
use super::driver::{DriverHandle, FinishReason, Generation, Gone};
use super::exposition::Page;
use super::fault::{Fault, Faults};
use super::problem::Problem;
use super::prompt::{self, Author};
use super::stream::{EventStream, UsageEvent};

/// Everything that a request may need.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: HeaderValue,
    /// The names under which the model is served; never empty, the first one labels the metrics.
    pub(crate) models: Vec<String>,
    pub(crate) config: EngineConfig,
    pub(crate) output_tokens: NonZeroU32,
    pub(crate) author: Author,
    pub(crate) driver: DriverHandle,
    pub(crate) faults: watch::Sender<Faults>,
    /// When the engine started, as Unix time in seconds.
    pub(crate) start_seconds: f64,
    pub(crate) answers: AtomicU64,
}

/// A response body: all at once, or as a stream.
pub(crate) type Reply = Either<Full<Bytes>, EventStream>;

impl Site {
    /// Answers a request; an error closes the connection without an answer.
    pub(crate) async fn handle(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, io::Error> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let faults = self.faults.borrow().clone();
        let fault = faults.instead_of_answer().filter(|_| path != FAULT_PATH);
        if fault == Some(Fault::Refuse) {
            return Err(io::Error::other("the connection is refused"));
        }
        let body = read(body).await;
        let answered = match (fault, body) {
            (Some(Fault::Stall), _) => return pending().await,
            (Some(Fault::Error(status)), _) => Err(Problem::status(status)),
            (_, Err(problem)) => Err(problem),
            (_, Ok(body)) => self.route(&parts.method, path, &body, &faults).await,
        };
        let mut response = answered
            .unwrap_or_else(|problem| respond(problem.status, "application/json", problem.body()));
        response
            .headers_mut()
            .insert(ENGINE_HEADER, self.name.clone());
        Ok(response)
    }

    async fn route(
        &self,
        method: &Method,
        path: &str,
        body: &[u8],
        faults: &Faults,
    ) -> Result<Response<Reply>, Problem> {
        let wanted = match path {
            "/v1/chat/completions" | "/v1/completions" | FAULT_PATH => Method::POST,
            "/v1/models" | "/health" | "/metrics" => Method::GET,
            _ => return Err(Problem::status(StatusCode::NOT_FOUND)),
        };
        if *method != wanted {
            return Err(Problem::status(StatusCode::METHOD_NOT_ALLOWED));
        }
        match path {
            "/v1/chat/completions" => self.complete(Dialect::Chat, body, faults).await,
            "/v1/completions" => self.complete(Dialect::Text, body, faults).await,
            FAULT_PATH => self.change_faults(body),
            "/v1/models" => Ok(respond(
                StatusCode::OK,
                "application/json",
                self.model_list(),
            )),
            "/metrics" => self.metrics().await,
            _ => Ok(respond(StatusCode::OK, "text/plain", "")),
        }
    }

    async fn complete(
        &self,
        dialect: Dialect,
        body: &[u8],
        faults: &Faults,
    ) -> Result<Response<Reply>, Problem> {
        let ask = Ask::parse(dialect, body)?;
        if !self.models.contains(&ask.model) {
            return Err(Problem::unknown_model(&ask.model));
        }
        let usage = if ask.include_usage {
            UsageEvent::Sent
        } else {
            UsageEvent::Omitted
        };
        let is_stream = ask.stream;
        let (generation, mut answer) = self.start(ask).await?;
        if is_stream {
            let stream = EventStream::new(generation, answer, usage, faults.cut_after());
            let kind = "text/event-stream; charset=utf-8";
            return Ok(response(StatusCode::OK, kind, Either::Right(stream)));
        }
        finish(generation, &mut answer).await?;
        Ok(respond(
            StatusCode::OK,
            "application/json",
            answer.document(),
        ))
    }

    /// Writes the answers to a request and hands it to the engine.
    async fn start(&self, ask: Ask) -> Result<(Generation, Answer), Problem> {
        let output_tokens = ask.output_tokens.unwrap_or(self.output_tokens);
        let finish_reason = match ask.output_tokens {
            Some(_) => FinishReason::Length,
            None => FinishReason::Stop,
        };
        let scope = PromptScope {
            model: &ask.model,
            cache_salt: ask.cache_salt.as_deref(),
            ..PromptScope::default()
        };
        let mut jobs = Vec::with_capacity(ask.prompts.len());
        let mut texts = Vec::with_capacity(ask.prompts.len());
        for prompt in &ask.prompts {
            let prompt_tokens = prompt::tokens_of(prompt)
                .ok_or_else(|| Problem::status(StatusCode::PAYLOAD_TOO_LARGE))?;
            self.config.check(prompt_tokens, output_tokens)?;
            let text = self.author.answer(prompt, output_tokens);
            jobs.push(Job {
                keys: self.author.keys(scope.root(), &[prompt, text.as_bytes()]),
                prompt_tokens,
                output_tokens,
            });
            texts.push(text);
        }
        let prompt_tokens = jobs.iter().map(|job| u64::from(job.prompt_tokens.get()));
        let answer = Answer {
            dialect: ask.dialect,
            id: self.answer_id(ask.dialect),
            created: super::unix_seconds() as u64,
            model: ask.model,
            finish_reason,
            texts,
            output_tokens: output_tokens.get(),
            prompt_tokens: prompt_tokens.sum(),
            cached_tokens: 0,
            completion_tokens: 0,
        };
        let generation = self.driver.submit(jobs, finish_reason).await??;
        Ok((generation, answer))
    }

    fn answer_id(&self, dialect: Dialect) -> String {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        // The start keeps apart the answers of several engines, and of one that was restarted.
        let start = self.start_seconds.to_bits();
        let prefix = match dialect {
            Dialect::Chat => "chatcmpl",
            Dialect::Text => "cmpl",
        };
        format!("{prefix}-{start:016x}{number:016x}")
    }

    async fn metrics(&self) -> Result<Response<Reply>, Problem> {
        let page = Page {
            model: self.models.first().map_or("", String::as_str),
            config: &self.config,
            snapshot: self.driver.snapshot().await?,
            start_seconds: self.start_seconds,
        };
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok(respond(StatusCode::OK, kind, page.to_string()))
    }

    fn model_list(&self) -> String {
        let models: Vec<_> = self
            .models
            .iter()
            .map(|model| {
                json!({
                    "id": model,
                    "object": "model",
                    "created": self.start_seconds as u64,
                    "owned_by": "vllm",
                    "root": model,
                    "parent": null,
                    "max_model_len": self.config.tokens_max(),
                })
            })
            .collect();
        json!({ "object": "list", "data": models }).to_string()
    }

    /// Replaces the faults in force; answers with those that are in force now.
    fn change_faults(&self, body: &[u8]) -> Result<Response<Reply>, Problem> {
        let wanted: FaultList = serde_json::from_slice(body)
            .map_err(|error| Problem::bad_request(format!("Invalid JSON: {error}"), None))?;
        let faults = wanted.faults.iter().map(|text| text.parse());
        let faults: Vec<Fault> = faults
            .collect::<Result<_, _>>()
            .map_err(|problem: String| Problem::bad_request(problem, Some("faults")))?;
        let in_force: Vec<String> = faults.iter().map(Fault::to_string).collect();
        self.faults.send_replace(Faults(faults));
        let body = json!({ "faults": in_force }).to_string();
        Ok(respond(StatusCode::OK, "application/json", body))
    }
}

#[derive(Deserialize)]
struct FaultList {
    faults: Vec<String>,
}

impl From<Gone> for Problem {
    fn from(_: Gone) -> Self {
        Self::status(StatusCode::SERVICE_UNAVAILABLE)
    }
}

/// Waits for the last token.
async fn finish(mut generation: Generation, answer: &mut Answer) -> Result<(), Gone> {
    while let Some(progress) = generation.progress.recv().await {
        if answer.note(progress) {
            return Ok(());
        }
    }
    Err(Gone)
}

async fn read(body: Incoming) -> Result<Bytes, Problem> {
    let too_large = || Problem::status(StatusCode::PAYLOAD_TOO_LARGE);
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(unreadable(error.as_ref())),
    }
}

fn unreadable(error: &(dyn Error + 'static)) -> Problem {
    Problem::bad_request(format!("The body cannot be read: {error}"), None)
}

fn respond(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Reply> {
    response(status, kind, Either::Left(Full::new(body.into())))
}

fn response(status: StatusCode, kind: &'static str, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Says which engine answered.
const ENGINE_HEADER: HeaderName = HeaderName::from_static("x-pointsman-engine");

/// Where faults are set; it is answered whatever fault is in force.
const FAULT_PATH: &str = "/fault";

const BODY_BYTES_MAX: usize = 64 << 20;
