//! Chats: what is asked and what is answered.

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use crate::client::Reply;

/// A conversation.
#[derive(Clone, Debug)]
pub struct Chat {
    messages: Vec<Value>,
    output_tokens: u32,
}

/// How an answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As one document.
    Plain,
    /// As server-sent events.
    Stream,
}

/// A complete answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The engine that says it answered.
    pub engine: String,
    /// The text.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Those of them that the engine found in its cache.
    pub cached_tokens: u64,
    /// Tokens of the text.
    pub output_tokens: u64,
}

impl Chat {
    /// A conversation that begins with `text` and wants answers of so many tokens.
    pub fn new(text: &str, output_tokens: u32) -> Self {
        let mut chat = Self {
            messages: Vec::new(),
            output_tokens,
        };
        chat.say(text);
        chat
    }

    /// The user goes on.
    pub fn say(&mut self, text: &str) {
        self.messages
            .push(json!({ "role": "user", "content": text }));
    }

    /// An answer becomes part of the conversation.
    pub fn quote(&mut self, answer: &Answer) {
        self.messages
            .push(json!({ "role": "assistant", "content": answer.text }));
    }

    /// The request body.
    pub fn body(&self, form: Form) -> Bytes {
        let (stream, options) = match form {
            Form::Plain => (false, Value::Null),
            Form::Stream => (true, json!({ "include_usage": true })),
        };
        let body = json!({
            "model": MODEL,
            "messages": self.messages,
            "max_tokens": self.output_tokens,
            "stream": stream,
            "stream_options": options,
        });
        Bytes::from(body.to_string())
    }
}

impl Answer {
    /// Reads a complete answer; anything but a whole one with status 200 is an error.
    pub fn read(form: Form, reply: &Reply) -> Result<Self> {
        ensure!(
            reply.status == StatusCode::OK,
            "status {}: {}",
            reply.status,
            reply.body.escape_ascii()
        );
        let (text, usage) = match form {
            Form::Plain => document(&reply.json()?)?,
            Form::Stream => events(&reply.body)?,
        };
        let count = |place: &str| {
            let value = usage.pointer(place).and_then(Value::as_u64);
            value.with_context(|| format!("the usage has no {place}: {usage}"))
        };
        Ok(Self {
            engine: reply
                .header(ENGINE)
                .context("no engine says it answered")?
                .to_owned(),
            text,
            prompt_tokens: count("/prompt_tokens")?,
            cached_tokens: count("/prompt_tokens_details/cached_tokens")?,
            output_tokens: count("/completion_tokens")?,
        })
    }
}

/// The body of a chat request of exactly so many bytes, at least a few hundred.
pub fn body_of(bytes: usize) -> Bytes {
    let empty = Chat::new("", 1).body(Form::Plain).len();
    let text: String = "word"
        .chars()
        .cycle()
        .take(bytes.saturating_sub(empty))
        .collect();
    Chat::new(&text, 1).body(Form::Plain)
}

fn document(answer: &Value) -> Result<(String, Value)> {
    let text = answer.pointer("/choices/0/message/content");
    let text = text.and_then(Value::as_str);
    let text = text.with_context(|| format!("the answer has no text: {answer}"))?;
    let usage = answer.get("usage").cloned().unwrap_or_default();
    Ok((text.to_owned(), usage))
}

/// The text and the usage of a stream, which must end with its end mark.
fn events(stream: &[u8]) -> Result<(String, Value)> {
    let stream = core::str::from_utf8(stream)?;
    let Some(stream) = stream.strip_suffix("data: [DONE]\n\n") else {
        bail!("the stream has no end mark: {stream}");
    };
    let (mut text, mut usage) = (String::new(), Value::Null);
    for event in stream.split_terminator("\n\n") {
        let data = event
            .strip_prefix("data: ")
            .with_context(|| format!("no event: {event}"))?;
        let chunk: Value = serde_json::from_str(data)?;
        let content = chunk.pointer("/choices/0/delta/content");
        text.push_str(content.and_then(Value::as_str).unwrap_or_default());
        if let Some(told) = chunk.get("usage").filter(|usage| usage.is_object()) {
            usage = told.clone();
        }
    }
    Ok((text, usage))
}

/// Where chats are sent to.
pub const PATH: &str = "/v1/chat/completions";

/// The model that the engines serve.
pub const MODEL: &str = "stand-in";

/// The header in which an engine says who it is.
pub const ENGINE: &str = "x-pointsman-engine";
