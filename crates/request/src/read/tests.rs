mod bounds;
mod dialects;
mod facts;
mod keys;
mod model;
mod order;
mod pieces;
mod rejections;
mod sessions;

use pointsman_domain::block::BlockKey;
use pointsman_domain::facts::{ModelName, Prompt};
use pointsman_domain::units::Tokens;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";
const EMBEDDINGS: &str = "/v1/embeddings";
const RESPONSES: &str = "/v1/responses";
const MESSAGES: &str = "/v1/messages";

/// A path of each dialect whose body is JSON, with a body that is all it needs.
const SMALLEST: [(&str, &str); 12] = [
    (
        CHAT,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#,
    ),
    (COMPLETIONS, r#"{"model":"m","prompt":"x"}"#),
    (EMBEDDINGS, r#"{"model":"m","input":"x"}"#),
    (RESPONSES, r#"{"model":"m","input":"x"}"#),
    ("/v1/conversations", "{}"),
    ("/v1/images/generations", r#"{"prompt":"x"}"#),
    (
        MESSAGES,
        r#"{"model":"m","messages":[{"role":"user","content":"x"}]}"#,
    ),
    (
        "/v1/messages/count_tokens",
        r#"{"messages":[{"role":"user","content":"x"}]}"#,
    ),
    ("/inference/v1/generate", r#"{"model":"m","token_ids":[1]}"#),
    ("/generate", r#"{"text":"x"}"#),
    ("/v1/rerank", "{}"),
    ("/v1/audio/transcriptions", "{}"),
];

fn post(path: &str) -> Head {
    let mut head = Head::new();
    head.header(":method", b"POST");
    head.header(":path", path.as_bytes());
    head
}

fn reading(path: &str, body: &str) -> Result<Reading, Rejection> {
    let body = Bytes::copy_from_slice(body.as_bytes());
    // Blocks of one token, so that nearly every byte of the prompt is in one.
    with_body(&post(path), &[body], BlockSize::new(1).unwrap())
}

fn read(path: &str, body: &str) -> RequestFacts {
    reading(path, body).unwrap().facts
}

fn read_json(path: &str, body: &Value) -> RequestFacts {
    read(path, &body.to_string())
}

fn chat(members: &str) -> RequestFacts {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"hi"}}]{members}}}"#);
    read(CHAT, &body)
}

/// A body with further members.
fn with(body: &Value, members: &Value) -> Value {
    let mut body = body.clone();
    let members = members.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

/// The keys of all blocks under the model that the body names.
fn keys(facts: &RequestFacts) -> Vec<BlockKey> {
    facts.block_keys(facts.model.name())
}

/// How many blocks two prompts share.
fn shared(one: &RequestFacts, other: &RequestFacts) -> usize {
    let (one, other) = (keys(one), keys(other));
    one.iter().zip(&other).take_while(|(a, b)| a == b).count()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "user|text|image|none|x-anthropic-billing-header".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop::sample::select(NAMES.as_slice());
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

const NAMES: [&str; 24] = [
    "content",
    "text",
    "role",
    "type",
    "image_url",
    "url",
    "source",
    "data",
    "file",
    "tool_calls",
    "cache_control",
    "model",
    "messages",
    "system",
    "tools",
    "input",
    "prompt",
    "token_ids",
    "reasoning",
    "effort",
    "features",
    "mm_hashes",
    "max_tokens",
    "other",
];

fn cut(bytes: &[u8], cuts: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let mut from = 0;
    cuts.into_iter()
        .map(|to| Bytes::copy_from_slice(&bytes[std::mem::replace(&mut from, to)..to]))
        .collect()
}

#[test]
fn a_request_without_a_body_has_the_facts_of_its_headers() {
    let mut head = post(CHAT);
    head.header("x-llm-d-inference-fairness-id", b"tenant-a");
    head.header("x-gateway-inference-objective", b"batch");
    head.header("x-llm-d-model-name-rewrite", b"m2");
    head.header("x-llm-d-slo-ttft-ms", b"50");
    head.header("x-session-id", b"s");
    let facts = without_body(&head, BlockSize::DEFAULT);
    assert_eq!(facts.dialect, Dialect::Passthrough);
    assert_eq!(facts.fairness_id.as_deref(), Some("tenant-a"));
    assert_eq!(facts.objective.as_deref(), Some("batch"));
    assert_eq!(facts.model_override.as_deref(), Some("m2"));
    assert!(facts.goals.ttft.is_some());
    assert_eq!(facts.session.unwrap().source, SessionSource::Header);
    let empty = with_body(&head, &[Bytes::new()], BlockSize::DEFAULT).unwrap();
    assert_eq!(empty.facts, facts);
    assert_eq!(empty.model_place, None);
}

#[test]
fn other_paths_are_never_read_and_never_refused() {
    let body = [Bytes::from((0..=255).collect::<Vec<u8>>())];
    let reading = with_body(&post("/v2/models/m/infer"), &body, BlockSize::DEFAULT).unwrap();
    let unread = RequestFacts {
        body_bytes: 256,
        ..RequestFacts::passthrough(BlockSize::DEFAULT)
    };
    assert_eq!(reading.facts, unread);
    assert_eq!(reading.model_place, None);
}

#[test]
fn a_body_in_an_unknown_coding_keeps_its_dialect_and_is_not_read() {
    for (path, model) in [
        (CHAT, ModelName::Absent),
        ("/v1/rerank", ModelName::Absent),
        ("/generate", ModelName::Unread),
    ] {
        let mut head = post(path);
        head.header("content-encoding", b"br");
        let body = [Bytes::from_static(b"\x1f\x8b")];
        let reading = with_body(&head, &body, BlockSize::DEFAULT).unwrap();
        assert_eq!(reading.facts.dialect, head.dialect());
        assert_eq!(reading.facts.model, model, "{path}");
        assert_eq!(reading.facts.prompt, Prompt::unknown(BlockSize::DEFAULT));
        assert_eq!(reading.facts.body_bytes, 2);
        assert_eq!(reading.model_place, None);
    }
}

#[test]
fn a_body_that_does_not_decode_is_routed_by_load_and_never_refused() {
    for coding in ["gzip", "zstd"] {
        let mut head = post(CHAT);
        head.header("content-encoding", coding.as_bytes());
        let body = [Bytes::from_static(br#"{"model":"m"}"#)];
        let facts = with_body(&head, &body, BlockSize::DEFAULT).unwrap().facts;
        assert_eq!(facts.model, ModelName::Absent);
        assert_eq!(facts.prompt, Prompt::unknown(BlockSize::DEFAULT));
    }
}
