//! What an event means for the progress of an answer.

use crate::sight::{Answers, Facts, Shape};

/// What an event tells of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The token that it carries, if any.
    pub(crate) token: Token,
    pub(crate) finish: Finish,
    pub(crate) last: Last,
}

/// Whether an event is the last one that may report counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is not.
    No,
    /// It is, if it finishes the last answer: in its dialect each answer ends with its counts.
    IfFinished,
    /// It is.
    Yes,
}

/// A token, as a reader of the answer sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Token {
    /// There is none.
    None,
    /// A thought, or a part of a character.
    Hidden,
    /// Text, or a call of a tool.
    Visible,
}

/// What is finished with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Nothing.
    Nothing,
    /// These of the answers.
    Answers(Answers),
    /// All of them.
    All,
}

impl Event {
    const SILENT: Self = Self {
        token: Token::None,
        finish: Finish::Nothing,
        last: Last::No,
    };

    /// Whatever is written in no form that is known, by an engine that must mean something by it.
    pub(crate) const UNKNOWN: Self = Self {
        token: Token::Visible,
        ..Self::SILENT
    };

    /// The mark after the last event of OpenAI's forms.
    pub(crate) const DONE: Self = Self {
        token: Token::None,
        finish: Finish::All,
        last: Last::Yes,
    };

    /// The meaning of an event that says `facts`, and reports a usage or does not.
    pub(crate) fn of(facts: &Facts, has_usage: bool) -> Self {
        if facts.error {
            return Self::SILENT;
        }
        let kind = facts.kind.bytes().unwrap_or_default();
        match (facts.choices, facts.shape) {
            (Some(0), _) if has_usage => Self::DONE,
            (Some(_), _) => Self::of_answers(facts),
            (None, Shape::Known) if !kind.is_empty() => Self::of_kind(kind, facts),
            (None, Shape::Known) if has_usage => Self::DONE,
            (None, Shape::Known) => Self::of_answers(facts),
            (None, Shape::Empty) => Self::SILENT,
            (None, Shape::Unknown | Shape::Array | Shape::Scalar) => Self::UNKNOWN,
        }
    }

    fn of_answers(facts: &Facts) -> Self {
        Self {
            token: match facts {
                Facts { visible: true, .. } => Token::Visible,
                Facts { output: true, .. } => Token::Hidden,
                _ => Token::None,
            },
            finish: Finish::Answers(facts.finished),
            last: match facts.choices {
                Some(_) => Last::No,
                None => Last::IfFinished,
            },
        }
    }

    fn of_kind(kind: &[u8], facts: &Facts) -> Self {
        if let Some(kind) = kind.strip_prefix(b"response.") {
            return Self::of_response(kind, facts);
        }
        let subject = facts.subject.bytes().unwrap_or_default();
        let is_thought = [&b"thinking"[..], b"signature", b"redacted_thinking"]
            .iter()
            .any(|thought| subject.starts_with(thought));
        match kind {
            b"ping" | b"error" | b"message_start" | b"content_block_stop" => Self::SILENT,
            b"content_block_start" => {
                let is_plain = matches!(subject, b"text" | b"thinking" | b"");
                let is_token = !is_plain || facts.subject_has_text;
                Self::token(if !is_token {
                    Token::None
                } else if is_thought {
                    Token::Hidden
                } else {
                    Token::Visible
                })
            }
            b"content_block_delta" if is_thought => Self::token(Token::Hidden),
            b"message_delta" if facts.stopped => Self {
                token: Token::Hidden,
                finish: Finish::All,
                last: Last::No,
            },
            b"message_delta" => Self::SILENT,
            b"message_stop" => Self::DONE,
            _ if kind.ends_with(b".completed") || kind.ends_with(b".done") => Self {
                token: Token::Visible,
                ..Self::DONE
            },
            _ => Self::UNKNOWN,
        }
    }

    fn of_response(kind: &[u8], facts: &Facts) -> Self {
        let subject = facts.subject.bytes().unwrap_or_default();
        match kind {
            b"completed" | b"incomplete" => Self {
                token: Token::Hidden,
                ..Self::DONE
            },
            b"failed" | b"cancelled" => Self::DONE,
            b"output_item.added" if subject.ends_with(b"_call") => Self::token(Token::Visible),
            b"created" | b"queued" | b"in_progress" => Self::SILENT,
            _ if kind.ends_with(b".added") || kind.ends_with(b".in_progress") => Self::SILENT,
            b"content_part.done" => Self::token(Token::Hidden),
            b"output_item.done" if subject == b"reasoning" => Self::token(Token::Hidden),
            _ if kind.starts_with(b"reasoning") => Self::token(Token::Hidden),
            _ => Self::UNKNOWN,
        }
    }

    const fn token(token: Token) -> Self {
        Self {
            token,
            ..Self::SILENT
        }
    }
}
