//! `…/images/generations` in OpenAI's form, which has a model of its own where none is named.

use super::shared;
use crate::read::form::{Form, ModelRule, Row, SegmentKind, count, demanded, joined, segment};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[demanded(
        SegmentKind::Prompts,
        "prompt",
        "a text that is not empty",
    )],
    ModelRule::Optional,
);

const GROUPS: &[&[Row]] = &[&ROWS, &shared::COMMON];

const ROWS: [Row; 1] = [segment("prompt", 0)];
