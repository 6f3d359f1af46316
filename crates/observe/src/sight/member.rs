//! The members that are looked at, and where they stand.

use crate::counts::Count;
use crate::sight::Scope;

/// What a value is, by the names on the way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    /// Not looked at.
    Ignored,
    /// The whole text.
    Root,
    /// One of several answers of SGLang, each an object with its `meta_info`.
    BatchItem,
    /// The list of answers in OpenAI's form.
    Choices,
    /// One of those.
    Choice,
    /// What is new of an answer.
    Delta,
    /// Who speaks.
    Role,
    /// Text or a call of a tool, or a list of such.
    Text,
    /// Text that is a thought.
    Thought,
    /// Why an answer is finished.
    Finish,
    /// Which answer it is.
    Index,
    /// The kind of an event.
    Kind,
    /// What an event of Anthropic's form or of responses is about.
    Subject,
    /// The kind of that.
    SubjectKind,
    /// Text of that.
    SubjectText,
    /// Why an answer of Anthropic's form is finished.
    Stop,
    /// An error.
    Error,
    /// The counts.
    Usage,
    /// The whole response or message in an event.
    Envelope,
    /// The counts of that.
    EnvelopeUsage,
    /// What SGLang says of an answer.
    Meta,
    /// More about one of the counts.
    Details,
    /// A count.
    Count(Count),
}

impl Member {
    /// What the member `name` of a container is.
    pub(super) fn of(container: Self, name: &[u8], scope: Scope) -> Self {
        match container {
            Self::Root => match (name, scope) {
                (b"usage", _) => Self::Usage,
                (b"response" | b"message", _) => Self::Envelope,
                (b"meta_info", _) => Self::Meta,
                (_, Scope::Counts) => Self::Ignored,
                (b"choices", _) => Self::Choices,
                (b"type", _) => Self::Kind,
                (b"delta" | b"content_block" | b"item", _) => Self::Subject,
                (b"text" | b"output_ids" | b"token_ids", _) => Self::Text,
                (b"index", _) => Self::Index,
                (b"error", _) => Self::Error,
                _ => Self::Ignored,
            },
            Self::BatchItem if name == b"meta_info" => Self::Meta,
            Self::Choice => match name {
                b"delta" | b"message" => Self::Delta,
                b"text" | b"token_ids" => Self::Text,
                b"finish_reason" => Self::Finish,
                b"index" => Self::Index,
                _ => Self::Ignored,
            },
            Self::Delta => match name {
                b"role" => Self::Role,
                b"content" | b"refusal" | b"audio" | b"tool_calls" | b"function_call" => Self::Text,
                b"reasoning_content" | b"reasoning" | b"reasoning_details" | b"thinking" => {
                    Self::Thought
                }
                _ => Self::Ignored,
            },
            Self::Subject => match name {
                b"type" => Self::SubjectKind,
                b"text" | b"thinking" => Self::SubjectText,
                b"stop_reason" => Self::Stop,
                _ => Self::Ignored,
            },
            Self::Envelope if name == b"usage" => Self::EnvelopeUsage,
            Self::Meta if name == b"finish_reason" => Self::Finish,
            Self::Usage | Self::EnvelopeUsage | Self::Meta => Self::count(name),
            Self::Details => match name {
                b"cached_tokens" => Self::Count(Count::Cached),
                b"reasoning_tokens" => Self::Count(Count::Reasoning),
                _ => Self::Ignored,
            },
            _ => Self::Ignored,
        }
    }

    fn count(name: &[u8]) -> Self {
        Self::Count(match name {
            b"prompt_tokens" => Count::Prompt,
            b"completion_tokens" => Count::Completion,
            b"total_tokens" => Count::Total,
            b"input_tokens" => Count::Input,
            b"output_tokens" => Count::Output,
            b"cached_tokens" => Count::Cached,
            b"reasoning_tokens" => Count::Reasoning,
            b"cache_read_input_tokens" => Count::CacheRead,
            b"cache_creation_input_tokens" => Count::CacheCreation,
            b"prompt_tokens_details"
            | b"input_tokens_details"
            | b"completion_tokens_details"
            | b"output_tokens_details" => return Self::Details,
            _ => return Self::Ignored,
        })
    }
}
