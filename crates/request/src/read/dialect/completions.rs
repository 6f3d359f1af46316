//! `…/completions` in OpenAI's form: the prompt is a text or token ids, or a list of either.

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentKind, count, demanded, fact, joined, segment, template,
    template_and,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[demanded(
        SegmentKind::Prompts,
        "prompt",
        "a text, an array of texts, an array of token ids or an array of such arrays, not empty",
    )],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[
    &ROWS,
    &shared::COMMON,
    &[shared::SGLANG_SESSION],
    &shared::TOKENIZING,
    &shared::ANSWER_FORM,
];

const ROWS: [Row; 4] = [
    segment("prompt", 0),
    fact("max_tokens", Fact::OutputCap),
    template("suffix"),
    template_and("prompt_embeds", Fact::PromptElsewhere),
];
