//! `…/inference/v1/generate`, vLLM's own form: token ids, and media by the hashes of what is put in
//! their places, or by where they lie.

use pointsman_domain::facts::MediaKind;

use super::shared;
use crate::read::form::{
    Fact, Form, Listing, ModelRule, Row, SegmentKind, count, demanded, inner, joined, listing,
    optional, segment,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    &[
        // Their places are where the engine finds its own marks for them among the ids, which differ
        // from model to model, so they come before the ids.
        optional(SegmentKind::Media(MediaKind::File)),
        demanded(
            SegmentKind::Ids,
            "token_ids",
            "an array of token ids, not empty",
        ),
    ],
    ModelRule::Demanded,
);

const GROUPS: &[&[Row]] = &[&ROWS, &shared::COMMON];

const ROWS: [Row; 8] = [
    segment("content_parts", 0),
    segment("token_ids", 1),
    listing("features", &["mm_hashes"], Listing::Hashes),
    listing("features", &["mm_placeholders"], Listing::Places),
    inner("sampling_params", &["max_tokens"], Fact::OutputCap),
    inner("sampling_params", &["n"], Fact::Choices),
    inner("sampling_params", &["structured_outputs"], Fact::Format),
    inner("sampling_params", &["guided_decoding"], Fact::Format),
];
