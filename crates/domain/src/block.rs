//! Prompt blocks and their keys.
//!
//! A prompt is cut into blocks of equal size. [`BlockHash`] names the content of one block and needs
//! only the bytes; [`BlockKey`] names a block together with all that comes before it, and with
//! everything else that changes what the engine computes (model, adapter, salt, tenant, template
//! inputs). Only full blocks count, so a growing conversation keeps the keys of its earlier blocks;
//! of a very long prompt only the first [`BLOCKS_MAX`] do.

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

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

    /// The same of a salt that was hashed as it came.
    pub const fn of_hash(xxh3_64: u64) -> Self {
        Self(xxh3_64)
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
    /// Hash of the template inputs: response format, reasoning effort and the like.
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
    /// Bytes that the partial block lacks; none where no further block is hashed.
    room: usize,
    partial: Vec<u8>,
    hashes: Vec<BlockHash>,
    /// All bytes but those of the partial block.
    bytes: u64,
    checkpoint: Option<Checkpoint>,
}

/// How far a hasher had come.
#[derive(Debug)]
struct Checkpoint {
    partial_bytes: usize,
    blocks: usize,
    bytes: u64,
    /// The partial block, once it is no longer the beginning of the current one.
    partial: Option<Vec<u8>>,
}

impl BlockHasher {
    /// A hasher of the first `blocks_max` blocks of `size`.
    pub const fn new(size: BlockSize, blocks_max: usize) -> Self {
        let block_bytes = size.text_bytes();
        Self {
            block_bytes,
            blocks_max,
            room: if blocks_max == 0 { 0 } else { block_bytes },
            partial: Vec::new(),
            hashes: Vec::new(),
            bytes: 0,
            checkpoint: None,
        }
    }

    /// Takes the next piece of the prompt.
    #[inline]
    pub fn push(&mut self, piece: &[u8]) {
        if piece.len() < self.room {
            self.room -= piece.len();
            self.partial.extend_from_slice(piece);
        } else {
            self.push_to_end_of_block(piece);
        }
    }

    /// Takes a piece that fills the partial block, or lies beyond the last one.
    fn push_to_end_of_block(&mut self, mut piece: &[u8]) {
        self.bytes = self.bytes().saturating_add(piece.len() as u64);
        if self.is_full() {
            return;
        }
        self.keep_for_checkpoint();
        if !self.partial.is_empty() {
            let (head, rest) = piece.split_at(self.room.min(piece.len()));
            self.partial.extend_from_slice(head);
            self.hashes.push(BlockHash(xxh3_64(&self.partial)));
            self.partial.clear();
            piece = rest;
        }
        let blocks = piece.chunks_exact(self.block_bytes);
        let rest = blocks.remainder();
        let left = self.blocks_max.saturating_sub(self.hashes.len());
        self.hashes
            .extend(blocks.take(left).map(|block| BlockHash(xxh3_64(block))));
        self.make_room();
        if self.room > 0 {
            self.partial.reserve(self.block_bytes.min(PARTIAL_BYTES));
            self.partial.extend_from_slice(rest);
            self.room -= rest.len();
            self.bytes -= rest.len() as u64;
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

    /// Ends a part of the prompt, so that what comes next begins a block of its own, whose hash does
    /// not depend on how long this part was. A partial block becomes one that is like no full one, and
    /// counts like a full one.
    pub fn close(&mut self) {
        self.keep_for_checkpoint();
        if !self.partial.is_empty() {
            let seed = self.partial.len() as u64;
            self.hashes
                .push(BlockHash(xxh3_64_with_seed(&self.partial, seed)));
            self.bytes = self.bytes();
            self.partial.clear();
        }
        self.make_room();
        self.bytes = self
            .bytes
            .checked_next_multiple_of(self.block_bytes as u64)
            .unwrap_or(u64::MAX);
    }

    /// Forgets all that was taken, and keeps the room for it.
    pub fn clear(&mut self) {
        self.partial.clear();
        self.partial.reserve(self.block_bytes.min(PARTIAL_BYTES));
        self.hashes.clear();
        self.bytes = 0;
        self.checkpoint = None;
        self.make_room();
    }

    /// Remembers how far it has come. Only the last checkpoint counts.
    pub fn set_checkpoint(&mut self) {
        self.checkpoint = Some(Checkpoint {
            partial_bytes: self.partial.len(),
            blocks: self.hashes.len(),
            bytes: self.bytes,
            partial: None,
        });
    }

    /// Forgets what was taken since the last checkpoint, which is used up by that.
    pub fn rewind(&mut self) {
        let Some(checkpoint) = self.checkpoint.take() else {
            return;
        };
        match checkpoint.partial {
            Some(partial) => self.partial = partial,
            None => self.partial.truncate(checkpoint.partial_bytes),
        }
        self.hashes.truncate(checkpoint.blocks);
        self.bytes = checkpoint.bytes;
        self.make_room();
    }

    /// Keeps the partial block for the checkpoint before it is hashed. A checkpoint costs nothing
    /// until then, so that many of them in one block are no work.
    fn keep_for_checkpoint(&mut self) {
        if let Some(checkpoint) = &mut self.checkpoint
            && checkpoint.partial.is_none()
        {
            let partial = self.partial.get(..checkpoint.partial_bytes);
            checkpoint.partial = partial.map(<[u8]>::to_vec);
        }
    }

    /// Finds out how much the partial block lacks.
    const fn make_room(&mut self) {
        self.room = if self.is_full() {
            0
        } else {
            self.block_bytes.saturating_sub(self.partial.len())
        };
    }

    /// Whether no further block is hashed.
    const fn is_full(&self) -> bool {
        self.hashes.len() >= self.blocks_max
    }

    /// Bytes taken so far, hashed or not.
    pub const fn bytes(&self) -> u64 {
        self.bytes.saturating_add(self.partial.len() as u64)
    }

    /// The hashes of the full blocks so far.
    pub fn hashes(&self) -> &[BlockHash] {
        &self.hashes
    }

    /// One hash of all that was taken so far. Of what lies beyond the last block only the length counts.
    pub fn digest(&self) -> u64 {
        let hashes = self.hashes.iter().map(|hash| hash.0);
        let parts = [xxh3_64(&self.partial), self.bytes()];
        let bytes = hashes.chain(parts).flat_map(u64::to_le_bytes);
        xxh3_64(&bytes.collect::<Vec<u8>>())
    }

    /// The hashes of the first full blocks; a last partial block is left out.
    pub fn finish(self) -> Vec<BlockHash> {
        self.hashes
    }
}

/// Room that is made for a partial block at once; one of a larger size grows as it is filled.
const PARTIAL_BYTES: usize = 4096;

/// Blocks of one prompt that are hashed. The pool looks each of them up while it holds its lock, so a
/// prompt of many megabytes would keep all other requests waiting. At the default size these are
/// 131,072 tokens, which is what llm-d matches at most by default.
pub const BLOCKS_MAX: usize = 2048;

#[cfg(test)]
mod tests;
