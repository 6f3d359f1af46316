//! `…/messages/count_tokens` in Anthropic's form: as messages, but an engine that needs no model to
//! count is not kept from it.

use super::{messages, shared};
use crate::read::form::{Form, ModelRule, Row, count, joined};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &messages::SEGMENTS,
    ModelRule::Optional,
);

const GROUPS: &[&[Row]] = &[
    &messages::PROMPT,
    &messages::ROWS,
    &shared::COMMON,
    &shared::REASONING,
    &shared::CHAT_TEMPLATE,
];
