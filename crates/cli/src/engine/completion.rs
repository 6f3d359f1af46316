//! Requests that want answers of the model.

use core::num::NonZeroU32;
use core::sync::atomic::Ordering;
use std::sync::Arc;

use http::{HeaderMap, Response, StatusCode};
use http_body_util::Either;
use pointsman_domain::block::{BlockKey, PromptScope, SaltHash};
use pointsman_engine::config::Role;
use pointsman_engine::job::{AdapterId, Content, Job};

use super::answer::Answer;
use super::ask::{Ask, Dialect};
use super::driver::handle::{Generation, Gone, Submission};
use super::fault::Faults;
use super::measures::FinishReason;
use super::orca::Format;
use super::problem::Problem;
use super::prompt;
use super::routes::{Reply, Site, respond, response};
use super::stream::{EventStream, UsageEvent};

/// How long an answer is to be, and why it ends there.
#[derive(Clone, Copy, Debug)]
struct Length {
    tokens: NonZeroU32,
    reason: FinishReason,
}

impl Site {
    /// Answers `ask`, with a load report if `headers` want one.
    pub(crate) async fn complete(
        &self,
        ask: Ask,
        headers: &HeaderMap,
        faults: &Faults,
    ) -> Result<Response<Reply>, Problem> {
        let usage = if ask.include_usage {
            UsageEvent::Sent
        } else {
            UsageEvent::Omitted
        };
        let is_stream = ask.stream;
        let (generation, mut answer) = self.start(ask).await?;
        let mut response = if is_stream {
            let stream = EventStream::new(generation, answer, usage, faults.cut_after());
            let kind = "text/event-stream; charset=utf-8";
            response(StatusCode::OK, kind, Either::Right(stream))
        } else {
            finish(generation, &mut answer).await?;
            respond(StatusCode::OK, "application/json", answer.document())
        };
        if let Some(format) = Format::asked(headers) {
            let (name, value) = format.report(&self.driver.snapshot().await?.stats);
            response.headers_mut().insert(name, value);
        }
        Ok(response)
    }

    /// Writes the answers to a request and hands it to the engine.
    async fn start(&self, ask: Ask) -> Result<(Generation, Answer), Problem> {
        let (adapter, adapter_name) = self.adapter(&ask.model)?.unzip();
        let length = self.length(&ask);
        let scope = PromptScope {
            model: &ask.model,
            cache_salt: ask.cache_salt.as_deref().map(SaltHash::of),
            ..PromptScope::default()
        };
        let mut jobs = Vec::with_capacity(ask.prompts.len());
        let mut texts = Vec::with_capacity(ask.prompts.len());
        for prompt in &ask.prompts {
            let (mut job, text) = self.job(prompt, length.tokens, scope.root())?;
            job.adapter = adapter;
            jobs.push(job);
            texts.push(text);
        }
        let prompt_tokens = jobs.iter().map(|job| u64::from(job.prompt_tokens.get()));
        let answer = Answer {
            dialect: ask.dialect,
            id: self.answer_id(ask.dialect),
            created: super::unix_seconds() as u64,
            model: ask.model,
            finish_reason: length.reason,
            texts,
            output_tokens: length.tokens.get(),
            prompt_tokens: prompt_tokens.sum(),
            cached_tokens: 0,
            completion_tokens: 0,
        };
        let submission = Submission {
            jobs,
            finish_reason: length.reason,
            adapter_name,
        };
        let generation = self.driver.submit(submission).await??;
        Ok((generation, answer))
    }

    /// The adapter that goes by the name of a model; none for the model itself.
    fn adapter(&self, model: &str) -> Result<Option<(AdapterId, Arc<str>)>, Problem> {
        if self.models.iter().any(|served| served == model) {
            return Ok(None);
        }
        match self.adapters().find(model) {
            Some(adapter) => Ok(Some((adapter.id, Arc::clone(&adapter.name)))),
            None => Err(Problem::unknown_model(model)),
        }
    }

    fn length(&self, ask: &Ask) -> Length {
        match (self.config.role, ask.output_tokens) {
            // The rest is generated elsewhere.
            (Role::Prefill, _) => Length {
                tokens: NonZeroU32::MIN,
                reason: FinishReason::Length,
            },
            (_, Some(tokens)) => Length {
                tokens,
                reason: FinishReason::Length,
            },
            (_, None) => Length {
                tokens: self.output_tokens,
                reason: FinishReason::Stop,
            },
        }
    }

    /// The answer to one prompt, and what the engine has to do for it.
    fn job(
        &self,
        prompt: &[u8],
        output_tokens: NonZeroU32,
        root: BlockKey,
    ) -> Result<(Job, String), Problem> {
        let prompt_tokens = prompt::tokens_of(prompt)
            .ok_or_else(|| Problem::status(StatusCode::PAYLOAD_TOO_LARGE))?;
        self.config.check(prompt_tokens, output_tokens)?;
        let text = self.author.answer(prompt, output_tokens);
        let keys = self.author.keys(root, &[prompt, text.as_bytes()]);
        let job = Job {
            content: Content::Blocks(keys),
            prompt_tokens,
            output_tokens,
            adapter: None,
        };
        Ok((job, text))
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
