//! Request bodies of the two completion endpoints.
//!
//! Only what changes the stand-in's behaviour is read; every other member passes unlooked at, as an
//! engine that knows more would accept it.

use core::num::NonZeroU32;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::problem::Problem;
use super::prompt;

/// Which of the two endpoints is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Text,
}

/// What a client asks for.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) dialect: Dialect,
    pub(crate) model: String,
    /// One for each choice of the answer; none is empty.
    pub(crate) prompts: Vec<Vec<u8>>,
    /// The output length, if the client says it.
    pub(crate) output_tokens: Option<NonZeroU32>,
    pub(crate) stream: bool,
    pub(crate) include_usage: bool,
    pub(crate) cache_salt: Option<String>,
}

impl Ask {
    /// Reads a request body.
    pub(crate) fn parse(dialect: Dialect, body: &[u8]) -> Result<Self, Problem> {
        let body: Body<'_> = serde_json::from_slice(body)
            .map_err(|error| Problem::bad_request(format!("Invalid JSON: {error}"), None))?;
        let prompts = match dialect {
            Dialect::Chat => vec![body.chat_prompt()?],
            Dialect::Text => body.text_prompts()?,
        };
        if prompts.is_empty() || prompts.iter().any(Vec::is_empty) {
            return Err(Problem::bad_request("The prompt is empty.", Some("prompt")));
        }
        if prompts.len() > PROMPTS_MAX {
            let message = format!("At most {PROMPTS_MAX} prompts are taken at once.");
            return Err(Problem::bad_request(message, Some("prompt")));
        }
        if body.n.is_some_and(|n| n != 1) {
            return Err(Problem::bad_request("Only n=1 is supported.", Some("n")));
        }
        let output_tokens = body.output_tokens()?;
        Ok(Self {
            dialect,
            model: body.model.ok_or_else(|| missing("model"))?,
            prompts,
            output_tokens,
            stream: body.stream.unwrap_or_default(),
            include_usage: body
                .stream_options
                .and_then(|options| options.include_usage)
                .unwrap_or_default(),
            cache_salt: body.cache_salt,
        })
    }
}

#[derive(Deserialize)]
struct Body<'a> {
    model: Option<String>,
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    max_tokens: Option<i64>,
    max_completion_tokens: Option<i64>,
    n: Option<i64>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    cache_salt: Option<String>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

/// The legal shapes of `prompt`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Prompt {
    Text(String),
    Ids(Vec<u32>),
    Texts(Vec<String>),
    IdLists(Vec<Vec<u32>>),
}

impl Body<'_> {
    fn chat_prompt(&self) -> Result<Vec<u8>, Problem> {
        let messages = self.messages.ok_or_else(|| missing("messages"))?;
        let messages: Vec<prompt::Message<'_>> =
            serde_json::from_str(messages.get()).map_err(|error| {
                Problem::bad_request(format!("`messages`: {error}"), Some("messages"))
            })?;
        if messages.is_empty() {
            return Err(Problem::bad_request(
                "`messages` is empty.",
                Some("messages"),
            ));
        }
        Ok(prompt::render(&messages, self.tools).into_bytes())
    }

    fn text_prompts(&self) -> Result<Vec<Vec<u8>>, Problem> {
        let prompt = self.prompt.ok_or_else(|| missing("prompt"))?;
        let prompt: Prompt = serde_json::from_str(prompt.get()).map_err(|_| {
            Problem::bad_request(
                "`prompt` must be a text, a list of texts, a list of token ids, or a list of such \
                 lists.",
                Some("prompt"),
            )
        })?;
        Ok(match prompt {
            Prompt::Text(text) => vec![text.into_bytes()],
            Prompt::Texts(texts) => texts.into_iter().map(String::into_bytes).collect(),
            Prompt::Ids(ids) => vec![prompt::bytes_of_ids(&ids)],
            Prompt::IdLists(lists) => lists.iter().map(|ids| prompt::bytes_of_ids(ids)).collect(),
        })
    }

    fn output_tokens(&self) -> Result<Option<NonZeroU32>, Problem> {
        let Some(given) = self.max_completion_tokens.or(self.max_tokens) else {
            return Ok(None);
        };
        let tokens = u32::try_from(given).ok().and_then(NonZeroU32::new);
        tokens.map(Some).ok_or_else(|| {
            let message = format!("max_tokens must be at least 1 and fit 32 bits, got {given}.");
            Problem::bad_request(message, Some("max_tokens"))
        })
    }
}

fn missing(param: &'static str) -> Problem {
    Problem::bad_request(format!("Field required: `{param}`."), Some(param))
}

const PROMPTS_MAX: usize = 128;

#[cfg(test)]
mod tests;
