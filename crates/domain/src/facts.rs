//! What the picker knows of a request, read once from its headers and body.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::block::{BlockHash, BlockKey, BlockSize, PromptScope, SaltHash};
use crate::endpoint::SubsetEntry;
use crate::observation::ObservationMode;
use crate::units::{Milliseconds, Tokens};

/// Names one request within this process. Never taken from a client's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u64);

/// The form of API that the request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `…/chat/completions` in OpenAI's form.
    ChatCompletions,
    /// `…/completions` in OpenAI's form.
    Completions,
    /// `…/embeddings` in OpenAI's form.
    Embeddings,
    /// `…/responses` in OpenAI's form.
    Responses,
    /// `…/conversations` in OpenAI's form.
    Conversations,
    /// `…/images/generations` in OpenAI's form.
    Images,
    /// `…/messages` in Anthropic's form.
    Messages,
    /// `…/messages/count_tokens` in Anthropic's form.
    CountTokens,
    /// vLLM's `…/inference/v1/generate`.
    Generate,
    /// SGLang's `/generate`.
    SglangGenerate,
    /// `Generate` of vLLM's gRPC service.
    GrpcGenerate,
    /// `Embed` of vLLM's gRPC service.
    GrpcEmbed,
    /// Rerank, score, classify, pooling, tokenize and their kin: routed by load; of the body only the
    /// model is read, where it names one.
    ByModel,
    /// Audio uploads in parts: as above.
    Multipart,
    /// Any other path, and any request without a body: routed by load, never read.
    Passthrough,
}

/// What the body says of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelName {
    /// The body was not read for a model: it has none, or its dialect has no place for one.
    #[default]
    Unread,
    /// The client names this one.
    Named(Box<str>),
    /// The body names none that we could read, and its dialect does not demand one.
    Absent,
    /// The body names none, although its dialect demands one.
    Missing,
}

impl ModelName {
    /// The name, if there is one.
    pub const fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Unread | Self::Absent | Self::Missing => None,
        }
    }

    /// The name itself.
    pub fn into_name(self) -> Option<Box<str>> {
        match self {
            Self::Named(name) => Some(name),
            Self::Unread | Self::Absent | Self::Missing => None,
        }
    }
}

/// A name that a client chose (of a user, a session, a cache), hashed where it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NameHash(pub u64);

impl NameHash {
    /// The hash of a name.
    pub fn of(name: &[u8]) -> Self {
        Self(xxh3_64(name))
    }
}

/// The conversation that a request belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Equal for the requests of one conversation.
    pub id: NameHash,
    /// Where that comes from.
    pub source: SessionSource,
}

/// Where a session's name comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionSource {
    /// A header names it.
    Header,
    /// A member of the body names it.
    Body,
    /// Nobody names it: it is the beginning of the prompt.
    Prompt,
}

/// How much the client wants the model to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasoning {
    /// The effort, where it is one of the known words.
    pub effort: Option<Effort>,
    /// The cap on tokens of thinking.
    pub budget: Option<Tokens>,
}

/// Known words for the effort of reasoning, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// No thinking.
    None,
    /// As little as can be.
    Minimal,
    /// Little.
    Low,
    /// The usual.
    Medium,
    /// Much.
    High,
    /// As much as can be.
    Max,
}

/// What a request asks for beside an answer to its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// Tools that the model may call.
    pub tools: u32,
    /// Whether the answer must have a form (JSON, a grammar, a choice).
    pub response_format: bool,
    /// Whether the chat template gets arguments.
    pub template_arguments: bool,
}

/// One image, sound, video or file of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MediaItem {
    /// What it is.
    pub kind: MediaKind,
    /// Hash of its content, or of the address where it lies.
    pub content: u64,
    /// How many tokens it is taken for.
    pub tokens: Tokens,
}

/// Kinds of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// A still image.
    Image,
    /// Sound.
    Audio,
    /// A film.
    Video,
    /// Anything else, as a document.
    File,
}

/// The latencies that a client asks for. What cannot be true counts as not asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyGoals {
    /// Time to first token.
    pub ttft: Option<Milliseconds>,
    /// Time per output token after the first.
    pub tpot: Option<Milliseconds>,
}

/// The prompt, as far as routing needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Content hashes of the full blocks, in order, of at most the first
    /// [`BLOCKS_MAX`](crate::block::BLOCKS_MAX).
    pub blocks: Vec<BlockHash>,
    /// The size of those blocks.
    pub block_size: BlockSize,
    /// Length of the whole prompt, partial block included.
    pub tokens: Tokens,
    /// Whether that is a count of token ids that the client gave, and no estimate.
    pub is_counted: bool,
}

impl Prompt {
    /// A prompt that says nothing: no blocks and no length.
    pub const fn unknown(block_size: BlockSize) -> Self {
        Self {
            blocks: Vec::new(),
            block_size,
            tokens: Tokens::ZERO,
            is_counted: false,
        }
    }
}

/// Facts of one request. Holds neither the text of the prompt nor that of the salt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFacts {
    /// The form of API.
    pub dialect: Dialect,
    /// The model that the body names.
    pub model: ModelName,
    /// The model to ask the engine for in its place, as a header of the system says.
    pub model_override: Option<Box<str>>,
    /// Whether the client asks for a streamed answer.
    pub stream: bool,
    /// How many answers the client asks for, to all of its prompts together.
    pub choices: NonZeroU32,
    /// The prompt.
    pub prompt: Prompt,
    /// The client's cap on output.
    pub output_tokens_max: Option<Tokens>,
    /// How much the client wants the model to think.
    pub reasoning: Reasoning,
    /// What else the client asks for.
    pub features: Features,
    /// Images and the like in the prompt, in order, the first [`MEDIA_MAX`].
    pub media: Vec<MediaItem>,
    /// The client's cache salt, hashed.
    pub cache_salt: Option<SaltHash>,
    /// The name under which the client wants prompts to share cache.
    pub prompt_cache_key: Option<NameHash>,
    /// Hash of the template inputs (response format, reasoning effort and the like).
    pub template_inputs: u64,
    /// The client's own user.
    pub user: Option<NameHash>,
    /// The conversation.
    pub session: Option<Session>,
    /// The latencies that the client asks for.
    pub goals: LatencyGoals,
    /// Name of the inference objective.
    pub objective: Option<Box<str>>,
    /// The flow (tenant) that the request belongs to.
    pub fairness_id: Option<Box<str>>,
    /// The gateway's subset hint; `Some` and empty admits nothing.
    pub subset: Option<Vec<SubsetEntry>>,
    /// Bytes of body that are held until the decision.
    pub body_bytes: u64,
    /// How much of the response will be seen.
    pub observation: ObservationMode,
}

impl RequestFacts {
    /// Facts of a request of which only the form is known.
    pub const fn passthrough(block_size: BlockSize) -> Self {
        Self {
            dialect: Dialect::Passthrough,
            model: ModelName::Unread,
            model_override: None,
            stream: false,
            choices: NonZeroU32::MIN,
            prompt: Prompt::unknown(block_size),
            output_tokens_max: None,
            reasoning: Reasoning {
                effort: None,
                budget: None,
            },
            features: Features {
                tools: 0,
                response_format: false,
                template_arguments: false,
            },
            media: Vec::new(),
            cache_salt: None,
            prompt_cache_key: None,
            template_inputs: 0,
            user: None,
            session: None,
            goals: LatencyGoals {
                ttft: None,
                tpot: None,
            },
            objective: None,
            fairness_id: None,
            subset: None,
            body_bytes: 0,
            observation: ObservationMode::Full,
        }
    }

    /// The keys of the prompt's full blocks, where `model` is the one that the engine is asked for.
    /// None without a model in a dialect that has a place for one: only blocks of the same model are
    /// alike, and of which these are is not known.
    pub fn block_keys(&self, model: Option<&str>) -> Vec<BlockKey> {
        if model.is_none() && self.model != ModelName::Unread {
            return Vec::new();
        }
        let scope = PromptScope {
            model: model.unwrap_or_default(),
            cache_salt: self.cache_salt,
            tenant: None,
            template_inputs: self.template_inputs,
        };
        crate::block::chain(scope.root(), &self.prompt.blocks)
    }
}

/// Images and the like of one prompt that are told of; more change its blocks all the same.
pub const MEDIA_MAX: usize = 64;
