//! `…/embeddings` in OpenAI's form. vLLM takes a chat in the place of the input, and SGLang a list of
//! objects with text and media.

use super::shared;
use crate::read::form::{Form, ModelRule, Row, SegmentKind, count, demanded, joined, segment};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[
        demanded(
            SegmentKind::PromptsOrObjects,
            "input",
            "a text, an array of texts, an array of token ids or an array of such arrays, not empty",
        ),
        demanded(SegmentKind::Messages, "messages", shared::MESSAGES_EXPECTED),
    ],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[
    &ROWS,
    &shared::COMMON,
    &shared::CHAT_TEMPLATE,
    &shared::TOKENIZING,
];

const ROWS: [Row; 2] = [segment("input", 0), segment("messages", 1)];
