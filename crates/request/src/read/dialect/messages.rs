//! `…/messages` in Anthropic's form, and what vLLM adds to it.

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentForm, SegmentKind, count, demanded, fact, inner, joined,
    optional, segment, template,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &SEGMENTS,
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[
    &PROMPT,
    &ROWS,
    &shared::COMMON,
    &shared::REASONING,
    &shared::CHAT_TEMPLATE,
];

/// Its prompt. Clients send the system prompt and the tools after the messages.
pub(super) const SEGMENTS: [SegmentForm; 3] = [
    optional(SegmentKind::Tools),
    optional(SegmentKind::System),
    demanded(SegmentKind::Messages, "messages", shared::MESSAGES_EXPECTED),
];

/// The members that hold it.
pub(super) const PROMPT: [Row; 3] = [
    Row {
        fact: Some(Fact::Tools),
        ..segment("tools", 0)
    },
    segment("system", 1),
    segment("messages", 2),
];

/// Further members that change it, or give facts.
pub(super) const ROWS: [Row; 9] = [
    fact("max_tokens", Fact::OutputCap),
    inner("metadata", &["user_id"], Fact::User),
    template("output_config"),
    inner("output_config", &["effort"], Fact::Effort),
    inner("output_config", &["format", "type"], Fact::FormatName),
    template("output_format"),
    inner("output_format", &["type"], Fact::FormatName),
    template("mcp_servers"),
    template("context_management"),
];
