//! Prompt blocks and their keys.
//!
//! A prompt is cut into blocks of equal size. [`BlockHash`] names the content of one block and needs
//! only the bytes; [`BlockKey`] names a block together with all that comes before it, and with
//! everything else that changes what the engine computes (model, adapter, salt, tenant, template
//! inputs). Only full blocks count, so a growing conversation keeps the keys of its earlier blocks;
//! of a very long prompt only the first [`BLOCKS_MAX`] do.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::units::{BYTES_PER_TOKEN, Tokens};

/// How many tokens make one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockSize(NonZeroU32);

impl BlockSize {
    /// 64 tokens, the floor that today's approximate pickers use.
    pub const DEFAULT: Self = Self(NonZeroU32::MIN.saturating_add(63));

    /// A block of `tokens` tokens; `None` for 0.
    pub fn new(tokens: u32) -> Option<Self> {
        NonZeroU32::new(tokens).map(Self)
    }

    /// Tokens in a block.
    pub const fn tokens(self) -> Tokens {
        Tokens(self.0.get() as u64)
    }

    /// Text bytes in a block where no tokenizer was asked.
    pub const fn text_bytes(self) -> usize {
        self.0.get() as usize * BYTES_PER_TOKEN as usize
    }
}

/// The content of one full block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockHash(pub u64);

/// A prefix: one block and all blocks before it, under one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlockKey(pub u64);

/// The client's cache salt, hashed where the body is read: a salt is a secret of its client's, and no
/// stage needs its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SaltHash(u64);

impl SaltHash {
    /// The hash of a salt.
    pub fn of(salt: &str) -> Self {
        Self(xxh3_64(salt.as_bytes()))
    }
}

/// Everything besides the prompt's text that must agree for two prompts to share cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptScope<'a> {
    /// The model that the engine is asked for (a LoRA adapter's name counts as a model).
    pub model: &'a str,
    /// The client's cache salt.
    pub cache_salt: Option<SaltHash>,
    /// The tenant, where isolation between tenants is on.
    pub tenant: Option<&'a str>,
    /// Hash of the template inputs: tools, response format, reasoning effort and the like.
    pub template_inputs: u64,
}

impl PromptScope<'_> {
    /// The key that the first block is chained to.
    pub fn root(&self) -> BlockKey {
        let mut key = BlockKey(xxh3_64(self.model.as_bytes()));
        let salt = self.cache_salt.map(|SaltHash(hash)| hash);
        let tenant = self.tenant.map(|text| xxh3_64(text.as_bytes()));
        for part in [salt, tenant] {
            // A mark for presence keeps an absent part apart from an empty one.
            key = key.then(BlockHash(part.map_or(0, |hash| hash | 1)));
        }
        key.then(BlockHash(self.template_inputs))
    }
}

impl BlockKey {
    /// The key of the prefix that `block` adds to this one.
    pub fn then(self, block: BlockHash) -> Self {
        let mut bytes = [0; 16];
        let (parent, content) = bytes.split_at_mut(8);
        parent.copy_from_slice(&self.0.to_le_bytes());
        content.copy_from_slice(&block.0.to_le_bytes());
        Self(xxh3_64(&bytes))
    }
}

/// The keys of a prompt's full blocks, first to last.
pub fn chain(root: BlockKey, blocks: &[BlockHash]) -> Vec<BlockKey> {
    blocks
        .iter()
        .scan(root, |key, &block| {
            *key = key.then(block);
            Some(*key)
        })
        .collect()
}

/// Hashes a prompt's bytes as they come, in pieces of any size, into the hashes of its full blocks, up
/// to a number of them. Bytes beyond those are counted and neither hashed nor stored.
#[derive(Debug)]
pub struct BlockHasher {
    block_bytes: usize,
    blocks_max: usize,
    partial: Vec<u8>,
    hashes: Vec<BlockHash>,
    bytes: u64,
}

impl BlockHasher {
    /// A hasher of the first `blocks_max` blocks of `size`.
    pub fn new(size: BlockSize, blocks_max: usize) -> Self {
        Self {
            block_bytes: size.text_bytes(),
            blocks_max,
            partial: Vec::new(),
            hashes: Vec::new(),
            bytes: 0,
        }
    }

    /// Takes the next piece of the prompt.
    pub fn push(&mut self, mut piece: &[u8]) {
        self.bytes = self.bytes.saturating_add(piece.len() as u64);
        if self.is_full() {
            return;
        }
        if !self.partial.is_empty() {
            let wanted = self.block_bytes.saturating_sub(self.partial.len());
            let (head, rest) = piece.split_at(wanted.min(piece.len()));
            self.partial.extend_from_slice(head);
            if self.partial.len() < self.block_bytes {
                return;
            }
            self.hashes.push(BlockHash(xxh3_64(&self.partial)));
            self.partial.clear();
            piece = rest;
        }
        let blocks = piece.chunks_exact(self.block_bytes);
        let rest = blocks.remainder();
        let room = self.blocks_max.saturating_sub(self.hashes.len());
        self.hashes
            .extend(blocks.take(room).map(|block| BlockHash(xxh3_64(block))));
        if !self.is_full() {
            self.partial.extend_from_slice(rest);
        }
    }

    /// Takes `piece` as often as `times` says. What lies beyond the last block costs nothing, however
    /// often the piece comes.
    pub fn repeat(&mut self, piece: &[u8], times: u64) {
        let mut left = if piece.is_empty() { 0 } else { times };
        while left > 0 && !self.is_full() {
            self.push(piece);
            left -= 1;
        }
        let bytes = left.saturating_mul(piece.len() as u64);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether no further block is hashed.
    fn is_full(&self) -> bool {
        self.hashes.len() >= self.blocks_max
    }

    /// Bytes taken so far, hashed or not.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The hashes of the first full blocks; a last partial block is left out.
    pub fn finish(self) -> Vec<BlockHash> {
        self.hashes
    }
}

/// Blocks of one prompt that are hashed. The pool looks each of them up while it holds its lock, so a
/// prompt of many megabytes would keep all other requests waiting. At the default size these are
/// 131,072 tokens, which is what llm-d matches at most by default.
pub const BLOCKS_MAX: usize = 2048;

#[cfg(test)]
mod tests;
