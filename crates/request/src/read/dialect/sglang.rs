//! `/generate`, SGLang's own form. It has no place for a model.

use pointsman_domain::facts::MediaKind;

use super::shared;
use crate::read::form::{
    Fact, Form, ModelRule, Row, SegmentKind, count, demanded, fact, inner, joined, optional,
    segment, template, template_and,
};

/// The table.
pub(super) static FORM: Form = Form::new(
    &joined::<{ count(GROUPS) }>(GROUPS),
    // The engine puts media where it finds its own marks for them in the text or among the ids, which
    // differ from model to model, so they come before both.
    &[
        optional(SegmentKind::Media(MediaKind::Image)),
        optional(SegmentKind::Media(MediaKind::Video)),
        optional(SegmentKind::Media(MediaKind::Audio)),
        demanded(SegmentKind::Prompts, "text", EXPECTED),
        demanded(
            SegmentKind::Ids,
            "input_ids",
            "an array of token ids or an array of such arrays, not empty",
        ),
    ],
    ModelRule::Unread,
);

const GROUPS: &[&[Row]] = &[&ROWS, &[shared::SGLANG_SESSION]];

const EXPECTED: &str = "a text or an array of texts, or else `input_ids`, not empty";

const ROWS: [Row; 16] = [
    segment("image_data", 0),
    segment("video_data", 1),
    segment("audio_data", 2),
    segment("text", 3),
    segment("input_ids", 4),
    template_and("input_embeds", Fact::PromptElsewhere),
    fact("stream", Fact::Stream),
    template_and("extra_key", Fact::Salt),
    template_and("cache_salt", Fact::Salt),
    template("lora_path"),
    inner("sampling_params", &["max_new_tokens"], Fact::OutputCap),
    inner("sampling_params", &["n"], Fact::Choices),
    inner("sampling_params", &["json_schema"], Fact::Format),
    inner("sampling_params", &["regex"], Fact::Format),
    inner("sampling_params", &["ebnf"], Fact::Format),
    inner("sampling_params", &["structural_tag"], Fact::Format),
];
