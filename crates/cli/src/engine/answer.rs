//! What is sent back, in the shapes of OpenAI and vLLM.

use serde::Serialize;

use super::ask::Dialect;
use super::driver::handle::Progress;
use super::measures::FinishReason;
use super::prompt;

/// One answer, as far as it has come.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) dialect: Dialect,
    pub(crate) id: String,
    /// Unix time in seconds.
    pub(crate) created: u64,
    pub(crate) model: String,
    pub(crate) finish_reason: FinishReason,
    /// The whole text of each choice.
    pub(crate) texts: Vec<String>,
    /// Tokens that each choice will have.
    pub(crate) output_tokens: u32,
    /// Tokens of all prompts.
    pub(crate) prompt_tokens: u64,
    pub(crate) cached_tokens: u64,
    pub(crate) completion_tokens: u64,
}

/// Token counts, as clients are billed by them.
#[derive(Clone, Copy, Debug, Serialize)]
struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: PromptTokensDetails,
}

#[derive(Clone, Copy, Debug, Serialize)]
struct PromptTokensDetails {
    cached_tokens: u64,
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    #[serde(flatten)]
    content: Content<'a>,
    logprobs: (),
    finish_reason: Option<&'static str>,
    /// Present (and null) once the choice is finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: Option<()>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Content<'a> {
    Delta(Turn<'a>),
    Message(Turn<'a>),
    Text(&'a str),
}

#[derive(Serialize)]
struct Turn<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    content: &'a str,
}

impl Answer {
    /// Takes note of what happened; true once the answer is complete.
    pub(crate) fn note(&mut self, progress: Progress) -> bool {
        match progress {
            Progress::Admitted { cached_tokens } => self.cached_tokens += u64::from(cached_tokens),
            Progress::Token { .. } => self.completion_tokens += 1,
        }
        self.completion_tokens >= u64::from(self.output_tokens) * self.texts.len() as u64
    }

    /// Writes the stream events of one token.
    pub(crate) fn write_token(&self, choice: usize, index: u32, buffer: &mut Vec<u8>) {
        let text = self.texts.get(choice).map_or("", String::as_str);
        let word = prompt::word(text, index);
        let finish = (index + 1 >= self.output_tokens).then_some(self.finish_reason);
        let content = match self.dialect {
            Dialect::Text => Content::Text(word),
            Dialect::Chat => {
                if index == 0 {
                    let opening = Content::Delta(Turn::new(Some("assistant"), ""));
                    self.write_event(vec![Choice::new(choice, opening, None)], None, buffer);
                }
                Content::Delta(Turn::new(None, word))
            }
        };
        self.write_event(vec![Choice::new(choice, content, finish)], None, buffer);
    }

    /// Writes the event that carries the usage.
    pub(crate) fn write_usage(&self, buffer: &mut Vec<u8>) {
        self.write_event(Vec::new(), Some(self.usage()), buffer);
    }

    /// The complete answer as one document.
    pub(crate) fn document(&self) -> Vec<u8> {
        let choices = self.texts.iter().enumerate().map(|(index, text)| {
            let content = match self.dialect {
                Dialect::Chat => Content::Message(Turn::new(Some("assistant"), text)),
                Dialect::Text => Content::Text(text),
            };
            Choice::new(index, content, Some(self.finish_reason))
        });
        let object = match self.dialect {
            Dialect::Chat => "chat.completion",
            Dialect::Text => "text_completion",
        };
        let mut document = Vec::new();
        let envelope = self.envelope(object, choices.collect(), Some(self.usage()));
        write_json(&envelope, &mut document);
        document
    }

    fn write_event(&self, choices: Vec<Choice<'_>>, usage: Option<Usage>, buffer: &mut Vec<u8>) {
        let object = match self.dialect {
            Dialect::Chat => "chat.completion.chunk",
            Dialect::Text => "text_completion",
        };
        buffer.extend_from_slice(b"data: ");
        write_json(&self.envelope(object, choices, usage), buffer);
        buffer.extend_from_slice(b"\n\n");
    }

    fn envelope<'a>(
        &'a self,
        object: &'static str,
        choices: Vec<Choice<'a>>,
        usage: Option<Usage>,
    ) -> Envelope<'a> {
        Envelope {
            id: &self.id,
            object,
            created: self.created,
            model: &self.model,
            choices,
            usage,
        }
    }

    fn usage(&self) -> Usage {
        Usage {
            prompt_tokens: self.prompt_tokens,
            total_tokens: self.prompt_tokens + self.completion_tokens,
            completion_tokens: self.completion_tokens,
            prompt_tokens_details: PromptTokensDetails {
                cached_tokens: self.cached_tokens,
            },
        }
    }
}

impl<'a> Choice<'a> {
    const fn new(index: usize, content: Content<'a>, finish: Option<FinishReason>) -> Self {
        let (finish_reason, stop_reason) = match finish {
            None => (None, None),
            Some(FinishReason::Stop) => (Some("stop"), Some(())),
            Some(FinishReason::Length) => (Some("length"), Some(())),
        };
        Self {
            index,
            content,
            logprobs: (),
            finish_reason,
            stop_reason,
        }
    }
}

impl<'a> Turn<'a> {
    const fn new(role: Option<&'static str>, content: &'a str) -> Self {
        Self { role, content }
    }
}

fn write_json(value: &impl Serialize, buffer: &mut Vec<u8>) {
    let written = serde_json::to_writer(buffer, value);
    debug_assert!(written.is_ok(), "plain data into memory: {written:?}");
}

#[cfg(test)]
mod tests;
