//! `…/inference/v1/generate`, vLLM's own form: token ids, and media by the hashes of what is put in
//! their places.

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentKind, count, demanded, inner, joined, optional, segment,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[
        optional(SegmentKind::MediaHashes),
        demanded(
            SegmentKind::Ids,
            "token_ids",
            "an array of token ids, not empty",
        ),
    ],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[&ROWS, &shared::COMMON];

const ROWS: [Row; 6] = [
    // The ids in the places of media are the same whatever is put there.
    Row {
        inner: &["mm_hashes"],
        is_template: true,
        ..segment("features", 0)
    },
    segment("token_ids", 1),
    inner("sampling_params", &["max_tokens"], Fact::OutputCap),
    inner("sampling_params", &["n"], Fact::Choices),
    inner("sampling_params", &["structured_outputs"], Fact::Format),
    inner("sampling_params", &["guided_decoding"], Fact::Format),
];
