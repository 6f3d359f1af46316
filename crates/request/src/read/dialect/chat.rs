//! `…/chat/completions` in OpenAI's form, and what vLLM and SGLang add to it.

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentKind, count, demanded, fact, joined, optional, segment,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[
        optional(SegmentKind::Tools),
        demanded(SegmentKind::Messages, "messages", shared::MESSAGES_EXPECTED),
    ],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[
    &ROWS,
    &shared::COMMON,
    &[shared::SGLANG_SESSION],
    &shared::REASONING,
    &shared::CHAT_TEMPLATE,
    &shared::TOKENIZING,
    &shared::ANSWER_FORM,
];

const ROWS: [Row; 4] = [
    Row {
        fact: Some(Fact::Tools),
        ..segment("tools", 0)
    },
    segment("messages", 1),
    fact("max_completion_tokens", Fact::OutputCap),
    fact("max_tokens", Fact::OutputCap),
];
