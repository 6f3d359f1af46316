//! Rerank, score, classify, pooling, tokenize and their kin: whose body names a model, it says all
//! that we ask for.

use crate::read::form::{Fact, Form, ModelRule, Row, count, fact, joined};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[],
    ModelRule::Optional,
);

const GROUPS: &[&[Row]] = &[&ROWS];

const ROWS: [Row; 1] = [fact("model", Fact::Model)];
