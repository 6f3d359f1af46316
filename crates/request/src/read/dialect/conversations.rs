//! `…/conversations` in OpenAI's form: keeps items for later, and may come with none and without a
//! model, as nothing is computed.

use super::shared;
use crate::read::form::{Form, ModelRule, Row, SegmentKind, count, joined, optional, segment};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[optional(SegmentKind::Messages)],
    ModelRule::Kept,
);

const GROUPS: &[&[Row]] = &[&ROWS, &shared::COMMON];

const ROWS: [Row; 1] = [segment("items", 0)];
