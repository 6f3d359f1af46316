//! `…/responses` in OpenAI's form. What the server remembers of earlier turns is not in the body; the
//! names by which it is called change the whole prompt.

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentKind, count, demanded, fact, inner, joined, optional,
    segment, template, template_and,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[
        optional(SegmentKind::Tools),
        optional(SegmentKind::System),
        demanded(
            SegmentKind::Input,
            "input",
            "a text or an array of items, not empty",
        ),
    ],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[
    &ROWS,
    &shared::COMMON,
    &EARLIER_TURNS,
    &shared::REASONING,
    &shared::CHAT_TEMPLATE,
    &shared::TOKENIZING,
    &ANSWER_FORM,
];

const ROWS: [Row; 4] = [
    Row {
        fact: Some(Fact::Tools),
        ..segment("tools", 0)
    },
    segment("instructions", 1),
    segment("input", 2),
    fact("max_output_tokens", Fact::OutputCap),
];

/// What the server puts before the input from what it keeps, and how it shortens the whole. The name of
/// a conversation is the same at each of its turns, so it is the session too; that of the response before
/// is new at each turn.
const EARLIER_TURNS: [Row; 8] = [
    fact("conversation", Fact::Session),
    inner("conversation", &["id"], Fact::Session),
    template_and("conversation", Fact::PromptElsewhere),
    template_and("previous_response_id", Fact::PromptElsewhere),
    template_and("prompt", Fact::PromptElsewhere),
    template("previous_input_messages"),
    template("truncation"),
    template("context_management"),
];

const ANSWER_FORM: [Row; 4] = [
    template("text"),
    inner("text", &["format", "type"], Fact::FormatName),
    fact("structured_outputs", Fact::Format),
    fact("guided_json", Fact::Format),
];
