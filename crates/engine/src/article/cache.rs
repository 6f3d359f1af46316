//! A prefix cache of pieces of any length, outside the KV memory.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use pointsman_domain::block::BlockKey;

use crate::cache_log::{CacheChange, CacheLog};
use crate::config::{CacheReports, EngineConfig};
use crate::job::{Content, Job, Piece};
use crate::key_hasher::BuildKeyHasher;

/// Pieces of prompts, each with the tokens that it adds to the piece before it. The least recently
/// used ones leave; the last piece stays, however large it is.
#[derive(Debug)]
pub(super) struct PieceCache {
    tokens_max: u64,
    tokens: u64,
    pieces: HashMap<BlockKey, Cached, BuildKeyHasher>,
    /// Keys of pieces by the order in which they were used.
    by_use: BTreeMap<u64, BlockKey>,
    uses: u64,
    log: CacheLog,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    tokens: u32,
    /// The piece's place in `by_use`.
    used: u64,
}

impl PieceCache {
    pub(super) fn new(tokens_max: u64, reports: CacheReports) -> Self {
        Self {
            tokens_max,
            tokens: 0,
            pieces: HashMap::default(),
            by_use: BTreeMap::new(),
            uses: 0,
            log: CacheLog::new(reports),
        }
    }

    /// What has entered and left the cache.
    pub(super) const fn log(&mut self) -> &mut CacheLog {
        &mut self.log
    }

    /// Tokens of the leading pieces of `job` that are cached. These become the most recently used.
    pub(super) fn look_up(&mut self, job: &Job, config: &EngineConfig) -> u32 {
        let mut found = 0;
        for piece in pieces(job, config) {
            if !self.touch(piece.key) {
                break;
            }
            found = piece.end_tokens;
        }
        found
    }

    /// Puts all pieces of `job` in, as the most recently used.
    pub(super) fn enter(&mut self, job: &Job, config: &EngineConfig) {
        let mut begin_tokens = 0;
        for piece in pieces(job, config) {
            let tokens = piece.end_tokens.saturating_sub(begin_tokens);
            begin_tokens = piece.end_tokens;
            if !self.touch(piece.key) {
                self.insert(piece.key, tokens);
            }
        }
        while self.tokens > self.tokens_max && self.pieces.len() > 1 {
            self.evict();
        }
    }

    /// Makes a piece the most recently used; false if it is not cached.
    fn touch(&mut self, key: BlockKey) -> bool {
        let Some(piece) = self.pieces.get_mut(&key) else {
            return false;
        };
        self.by_use.remove(&piece.used);
        self.uses += 1;
        piece.used = self.uses;
        self.by_use.insert(self.uses, key);
        true
    }

    fn insert(&mut self, key: BlockKey, tokens: u32) {
        self.uses += 1;
        let used = self.uses;
        self.pieces.insert(key, Cached { tokens, used });
        self.by_use.insert(used, key);
        self.tokens += u64::from(tokens);
        self.log.note(CacheChange::Cached(key));
    }

    fn evict(&mut self) {
        let Some((_, key)) = self.by_use.pop_first() else {
            return;
        };
        if let Some(piece) = self.pieces.remove(&key) {
            self.tokens -= u64::from(piece.tokens);
            self.log.note(CacheChange::Evicted(key));
        }
    }
}

/// The pieces of a prompt; each of its full blocks is one.
fn pieces(job: &Job, config: &EngineConfig) -> impl Iterator<Item = Piece> {
    let (blocks, pieces): (&[BlockKey], &[Piece]) = match &job.content {
        Content::Blocks(keys) => (keys, &[]),
        Content::Pieces(pieces) => (&[], pieces),
    };
    let full = config.full_blocks(job.prompt_tokens.get());
    let config = *config;
    let blocks = blocks.iter().take(full).enumerate();
    let blocks = blocks.map(move |(place, &key)| Piece {
        key,
        end_tokens: config.tokens_in(place + 1),
    });
    blocks.chain(pieces.iter().copied())
}

#[cfg(test)]
mod tests;
