//! An exact index: one entry for each pair of endpoint and block.
//!
//! An entry is one node of a hash table and of its endpoint's list in the order of use. The table is
//! our own, as a budget in bytes needs a table that never grows by itself: a common open-addressing
//! map doubles when deletions have left it full of tombstones.

use pointsman_domain::block::BlockKey;
use pointsman_domain::endpoint::EndpointId;

use self::life::{LIFE_BYTES, Life};
use self::table::{ENTRIES_MAX, ENTRY_BYTES, Table};

mod life;
mod table;

/// Which endpoint holds which blocks.
#[derive(Debug)]
pub struct Index {
    bytes_max: usize,
    table: Table,
    /// Endpoints with at least one block, sorted by id.
    lives: Vec<Life>,
}

/// What a lookup found. Reused from lookup to lookup, so that a lookup allocates nothing.
#[derive(Debug, Default)]
pub struct Matches {
    /// Sorted by endpoint.
    found: Vec<(EndpointId, u32)>,
}

impl Matches {
    /// How many of the prompt's first blocks `endpoint` holds without a gap.
    pub fn blocks(&self, endpoint: EndpointId) -> u32 {
        self.found
            .binary_search_by_key(&endpoint, |&(id, _)| id)
            .ok()
            .and_then(|at| self.found.get(at))
            .map_or(0, |&(_, blocks)| blocks)
    }
}

impl Index {
    /// An empty index that never holds more than `bytes_max` bytes. Clients choose the content of
    /// blocks, so a `seed` that they do not know keeps them from filling one bucket of the table.
    pub const fn new(bytes_max: usize, seed: u64) -> Self {
        Self {
            bytes_max,
            table: Table::new(seed),
            lives: Vec::new(),
        }
    }

    /// Finds how long a run of `keys`, from the first one on, each endpoint holds.
    pub fn lookup(&self, keys: &[BlockKey], matches: &mut Matches) {
        let found = &mut matches.found;
        found.clear();
        let Some((&first, rest)) = keys.split_first() else {
            return;
        };
        found.extend(self.table.holders(first).map(|endpoint| (endpoint, 1)));
        found.sort_unstable();
        for (depth, &key) in (1..u32::MAX).zip(rest) {
            let mut longer = false;
            for endpoint in self.table.holders(key) {
                let at = found.binary_search_by_key(&endpoint, |&(id, _)| id);
                if let Some((_, blocks)) = at.ok().and_then(|at| found.get_mut(at))
                    && *blocks == depth
                {
                    *blocks = depth + 1;
                    longer = true;
                }
            }
            if !longer {
                return;
            }
        }
    }

    /// Notes that `endpoint` holds, or soon will hold, the blocks of one prompt.
    ///
    /// `blocks_max` is what fits the engine's own cache, if known: beyond that the endpoint's least
    /// recently used blocks leave. Where the budget is used up, the least recently used blocks of
    /// the endpoint that holds the most leave.
    pub fn insert(&mut self, endpoint: EndpointId, keys: &[BlockKey], blocks_max: Option<usize>) {
        let blocks_max = blocks_max.unwrap_or(usize::MAX);
        // From last to first: the head ends as the most recently used block.
        for &key in keys.iter().take(blocks_max).rev() {
            if !self.touch(endpoint, key) {
                self.trim(endpoint, blocks_max.saturating_sub(1));
                self.add(endpoint, key);
            }
        }
        self.trim(endpoint, blocks_max);
    }

    /// Notes that the blocks of a prompt were used at `endpoint`, as far as they are held for it. Adds
    /// none.
    pub fn refresh(&mut self, endpoint: EndpointId, keys: &[BlockKey]) {
        for &key in keys.iter().rev() {
            self.touch(endpoint, key);
        }
    }

    /// Forgets single blocks of an endpoint; those that are not held change nothing.
    pub fn forget(&mut self, endpoint: EndpointId, keys: &[BlockKey]) {
        for &key in keys {
            let Some(node) = self.table.find(endpoint, key) else {
                continue;
            };
            if let Some(life) = life::find(&mut self.lives, endpoint) {
                self.table.evict(life, node);
                if life.blocks == 0 {
                    self.lives.retain(|life| life.endpoint != endpoint);
                }
            }
        }
    }

    /// Forgets one life of an endpoint.
    pub fn remove(&mut self, endpoint: EndpointId) {
        self.trim(endpoint, 0);
    }

    /// Bytes that the index has allocated.
    pub const fn bytes(&self) -> usize {
        self.table.bytes() + self.lives.capacity() * LIFE_BYTES
    }

    /// The budget.
    pub const fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Changes the budget. A smaller one is in force at once; the table then moves to a smaller
    /// allocation, and for that moment both exist.
    pub fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max;
        if self.bytes() > bytes_max {
            self.evict_down_to(self.entries_affordable());
            self.lives.shrink_to_fit();
            let capacity = self.entries_affordable();
            self.table.shrink(capacity, &mut self.lives);
        }
    }

    /// Entries held: pairs of endpoint and block.
    pub const fn blocks(&self) -> usize {
        self.table.len()
    }

    /// Makes an entry the most recently used of its endpoint; `false` if there is none.
    fn touch(&mut self, endpoint: EndpointId, key: BlockKey) -> bool {
        let Some(node) = self.table.find(endpoint, key) else {
            return false;
        };
        if let Some(life) = life::find(&mut self.lives, endpoint) {
            self.table.detach(life, node);
            self.table.attach_newest(life, node);
        }
        true
    }

    /// Adds an entry that does not exist yet, if the budget allows any at all.
    fn add(&mut self, endpoint: EndpointId, key: BlockKey) {
        if !self.make_room_for_life(endpoint) || !self.make_room_for_entry() {
            return;
        }
        let node = self.table.link(endpoint, key);
        self.table
            .attach_newest(life::find_or_add(&mut self.lives, endpoint), node);
    }

    /// Lets the least recently used blocks of an endpoint leave until `blocks_max` are left.
    fn trim(&mut self, endpoint: EndpointId, blocks_max: usize) {
        while let Some(life) = life::find(&mut self.lives, endpoint)
            && life.blocks > blocks_max
        {
            self.table.evict(life, life.oldest);
            if life.blocks == 0 {
                self.lives.retain(|life| life.endpoint != endpoint);
            }
        }
    }

    /// Lets one block leave: the least recently used one of the endpoint that holds the most.
    fn evict(&mut self) -> bool {
        // The lowest id wins among equals.
        let Some(life) = self.lives.iter().rev().max_by_key(|life| life.blocks) else {
            return false;
        };
        self.trim(life.endpoint, life.blocks.saturating_sub(1));
        true
    }

    fn evict_down_to(&mut self, entries: usize) {
        while self.table.len() > entries && self.evict() {}
    }

    /// Entries that the budget pays for beside the list of endpoints.
    fn entries_affordable(&self) -> usize {
        let lives = self.lives.capacity() * LIFE_BYTES;
        (self.bytes_max.saturating_sub(lives) / ENTRY_BYTES).min(ENTRIES_MAX)
    }

    /// Ensures that one more entry fits without an allocation.
    fn make_room_for_entry(&mut self) -> bool {
        if !self.table.is_full() {
            return true;
        }
        let capacity = self.table.capacity();
        let wanted = capacity.saturating_mul(2).max(ENTRIES_MIN);
        let wanted = wanted.min(self.entries_affordable());
        if wanted > capacity {
            self.table.grow(wanted);
            return true;
        }
        self.evict()
    }

    /// Ensures that the endpoint is listed, or that one more fits without an allocation.
    fn make_room_for_life(&mut self, endpoint: EndpointId) -> bool {
        let listed = self.lives.len();
        if listed < self.lives.capacity() || life::find(&mut self.lives, endpoint).is_some() {
            return true;
        }
        let wanted = listed.saturating_mul(2).max(LIVES_MIN);
        let left = self.bytes_max.saturating_sub(wanted * LIFE_BYTES);
        let entries = left / ENTRY_BYTES;
        if entries == 0 {
            return self.evict() && self.lives.len() < self.lives.capacity();
        }
        if self.table.capacity() > entries {
            self.evict_down_to(entries);
            self.table.shrink(entries, &mut self.lives);
        }
        self.lives.reserve_exact(wanted - self.lives.len());
        true
    }
}

/// Entries that the first allocation holds.
const ENTRIES_MIN: usize = 64;

/// Endpoints that the first allocation holds.
const LIVES_MIN: usize = 8;

#[cfg(test)]
mod tests;
