//! KV memory: blocks that running requests hold, and the prefix cache in what remains.
//!
//! A block's contents do not matter here, so blocks are counted, not numbered. A block is *private*
//! while it has no key (not yet full, or of unknown content) and *cached* once it has one. A cached
//! block may have any number of holders; without one it is *idle* and can be evicted, the longest
//! idle first. Two requests that compute the same block at the same time end up sharing one.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use pointsman_domain::block::BlockKey;

use crate::cache_log::{CacheChange, CacheLog};
use crate::config::CacheReports;
use crate::key_hasher::BuildKeyHasher;

/// The KV memory of one engine.
#[derive(Debug)]
pub(crate) struct KvMemory {
    blocks: u32,
    private: u32,
    cached: HashMap<BlockKey, Cached, BuildKeyHasher>,
    /// Keys of idle blocks by the order in which they became idle.
    idle: BTreeMap<u64, BlockKey>,
    releases: u64,
    log: CacheLog,
}

/// What of a prompt is in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hit {
    /// Leading blocks that are cached.
    pub(crate) blocks: usize,
    /// Those of them that nobody holds.
    pub(crate) idle: usize,
}

#[derive(Clone, Copy, Debug)]
struct Cached {
    holders: u32,
    /// The block's place in `idle`; means nothing while it has holders.
    released: u64,
}

impl KvMemory {
    pub(crate) fn new(blocks: u32, reports: CacheReports) -> Self {
        Self {
            blocks,
            private: 0,
            cached: HashMap::default(),
            idle: BTreeMap::new(),
            releases: 0,
            log: CacheLog::new(reports),
        }
    }

    /// What has entered and left the cache.
    pub(crate) const fn log(&mut self) -> &mut CacheLog {
        &mut self.log
    }

    /// Blocks that running requests hold.
    pub(crate) fn held(&self) -> u32 {
        self.blocks.saturating_sub(self.available())
    }

    /// How many of the leading `keys` are cached.
    pub(crate) fn lookup(&self, keys: &[BlockKey]) -> Hit {
        let mut hit = Hit::default();
        for block in keys.iter().map_while(|key| self.cached.get(key)) {
            hit.blocks += 1;
            hit.idle += usize::from(block.holders == 0);
        }
        hit
    }

    /// Whether `count` private blocks can be had after `hit` is held.
    pub(crate) fn has_room(&self, count: u32, hit: Hit) -> bool {
        let reserved = u32::try_from(hit.idle).unwrap_or(u32::MAX);
        count.saturating_add(reserved) <= self.available()
    }

    /// Adds a holder to each of `keys`, all of which are cached.
    pub(crate) fn hold(&mut self, keys: &[BlockKey]) {
        for key in keys {
            let block = self.cached.get_mut(key);
            debug_assert!(block.is_some(), "only a cached block can be held");
            if let Some(block) = block {
                block.hold(&mut self.idle);
            }
        }
    }

    /// Takes `count` private blocks, evicting idle ones as needed; takes none if there is no room.
    pub(crate) fn allocate(&mut self, count: u32) -> bool {
        if !self.has_room(count, Hit::default()) {
            return false;
        }
        while self.free() < count {
            let Some((_, key)) = self.idle.pop_first() else {
                break;
            };
            self.cached.remove(&key);
            self.log.note(CacheChange::Evicted(key));
        }
        self.private += count;
        true
    }

    /// Gives a private block, now full, its key. If the key is cached already, the private block is
    /// given back and the cached one is held instead.
    pub(crate) fn publish(&mut self, key: BlockKey) {
        debug_assert!(self.private > 0, "only a private block can be published");
        self.private = self.private.saturating_sub(1);
        match self.cached.entry(key) {
            Entry::Occupied(mut block) => block.get_mut().hold(&mut self.idle),
            Entry::Vacant(place) => {
                place.insert(Cached {
                    holders: 1,
                    released: 0,
                });
                self.log.note(CacheChange::Cached(key));
            }
        }
    }

    /// Takes a holder from each of `keys` and frees `private` private blocks. Later blocks become
    /// idle before earlier ones, so that a prefix is evicted from its end.
    pub(crate) fn release(&mut self, keys: &[BlockKey], private: u32) {
        debug_assert!(private <= self.private, "more private blocks than are held");
        self.private = self.private.saturating_sub(private);
        for key in keys.iter().rev() {
            let Some(block) = self.cached.get_mut(key) else {
                debug_assert!(false, "a held block is never evicted");
                continue;
            };
            block.holders = block.holders.saturating_sub(1);
            if block.holders == 0 {
                self.releases += 1;
                block.released = self.releases;
                self.idle.insert(self.releases, *key);
            }
        }
    }

    fn free(&self) -> u32 {
        let cached = u32::try_from(self.cached.len()).unwrap_or(u32::MAX);
        self.blocks
            .saturating_sub(cached)
            .saturating_sub(self.private)
    }

    fn available(&self) -> u32 {
        self.free() + u32::try_from(self.idle.len()).unwrap_or(0)
    }
}

impl Cached {
    fn hold(&mut self, idle: &mut BTreeMap<u64, BlockKey>) {
        if self.holders == 0 {
            idle.remove(&self.released);
        }
        self.holders += 1;
    }
}

#[cfg(test)]
pub(crate) mod tests;
