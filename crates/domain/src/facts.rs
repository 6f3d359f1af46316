//! What the picker knows of a request, read once from its headers and body.

use serde::{Deserialize, Serialize};

use crate::block::{BlockHash, BlockKey, BlockSize, PromptScope, SaltHash};
use crate::endpoint::SubsetEntry;
use crate::units::Tokens;

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
    /// Any other path, and any request without a body: routed by load, never read.
    Passthrough,
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
    /// Length of the whole prompt, partial block included; an estimate unless token ids were given.
    pub tokens: Tokens,
}

impl Prompt {
    /// A prompt that says nothing: no blocks and no length.
    pub const fn unknown(block_size: BlockSize) -> Self {
        Self {
            blocks: Vec::new(),
            block_size,
            tokens: Tokens::ZERO,
        }
    }
}

/// Facts of one request. Holds neither the text of the prompt nor that of the salt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestFacts {
    /// The form of API.
    pub dialect: Dialect,
    /// The model that the client names.
    pub model: Option<Box<str>>,
    /// Whether the client asks for a streamed answer.
    pub stream: bool,
    /// The prompt.
    pub prompt: Prompt,
    /// The client's cap on output.
    pub output_tokens_max: Option<Tokens>,
    /// The client's cache salt, hashed.
    pub cache_salt: Option<SaltHash>,
    /// Hash of the template inputs (tools, response format, reasoning effort and the like).
    pub template_inputs: u64,
    /// Name of the inference objective.
    pub objective: Option<Box<str>>,
    /// The flow (tenant) that the request belongs to.
    pub fairness_id: Option<Box<str>>,
    /// The gateway's subset hint; `Some` and empty admits nothing.
    pub subset: Option<Vec<SubsetEntry>>,
    /// Bytes of body that are held until the decision.
    pub body_bytes: u64,
}

impl RequestFacts {
    /// Facts of a request of which only the form is known.
    pub const fn passthrough(block_size: BlockSize) -> Self {
        Self {
            dialect: Dialect::Passthrough,
            model: None,
            stream: false,
            prompt: Prompt::unknown(block_size),
            output_tokens_max: None,
            cache_salt: None,
            template_inputs: 0,
            objective: None,
            fairness_id: None,
            subset: None,
            body_bytes: 0,
        }
    }

    /// The keys of the prompt's full blocks.
    pub fn block_keys(&self) -> Vec<BlockKey> {
        let scope = PromptScope {
            model: self.model.as_deref().unwrap_or_default(),
            cache_salt: self.cache_salt,
            tenant: None,
            template_inputs: self.template_inputs,
        };
        crate::block::chain(scope.root(), &self.prompt.blocks)
    }
}
