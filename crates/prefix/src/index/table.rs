//! The hash table of entries: a slab of nodes and one chain of nodes per bucket.
//!
//! It grows and shrinks only when told to, there is one bucket per node, and a node that left is
//! used again, so its bytes follow from its capacity alone.

#![allow(
    clippy::indexing_slicing,
    reason = "node numbers come from this module and always name a node of the slab"
)]

use pointsman_domain::block::BlockKey;
use pointsman_domain::endpoint::EndpointId;

use super::life::Life;

/// What one entry costs: its node and its bucket.
pub(super) const ENTRY_BYTES: usize = size_of::<Node>() + size_of::<u32>();

/// How many entries node numbers can name.
pub(super) const ENTRIES_MAX: usize = NONE as usize;

/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// All entries. One block of one endpoint is found by its key, and all holders of a key are in the
/// chain of one bucket.
#[derive(Debug)]
pub(super) struct Table {
    nodes: Vec<Node>,
    /// First node of each bucket's chain.
    buckets: Vec<u32>,
    /// First node of the chain of unused nodes.
    unused: u32,
    len: usize,
    secret: u64,
    multiplier: u64,
}

#[derive(Debug)]
struct Node {
    key: BlockKey,
    endpoint: EndpointId,
    /// The next node of the bucket, or of the unused ones.
    next: u32,
    /// The neighbours in the endpoint's order of use.
    older: u32,
    newer: u32,
}

impl Table {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            nodes: Vec::new(),
            buckets: Vec::new(),
            unused: NONE,
            len: 0,
            secret: mixed(seed),
            multiplier: mixed(!seed) | 1,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.len
    }

    pub(super) const fn capacity(&self) -> usize {
        self.nodes.capacity()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.len == self.nodes.capacity()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.buckets.capacity() * size_of::<u32>()
    }

    /// The endpoints that hold a block, each once, in no order.
    pub(super) fn holders(&self, key: BlockKey) -> impl Iterator<Item = EndpointId> {
        self.chain(key)
            .map(|node| &self.nodes[node as usize])
            .filter(move |node| node.key == key)
            .map(|node| node.endpoint)
    }

    /// The node of an entry.
    pub(super) fn find(&self, endpoint: EndpointId, key: BlockKey) -> Option<u32> {
        self.chain(key).find(|&node| {
            let node = &self.nodes[node as usize];
            node.key == key && node.endpoint == endpoint
        })
    }

    /// Adds an entry that does not exist yet to a table that is not full. Its node is in no
    /// endpoint's list yet.
    pub(super) fn link(&mut self, endpoint: EndpointId, key: BlockKey) -> u32 {
        debug_assert!(!self.is_full());
        let bucket = self.bucket(key);
        let fresh = Node {
            key,
            endpoint,
            next: self.buckets[bucket],
            older: NONE,
            newer: NONE,
        };
        let node = if self.unused == NONE {
            self.nodes.push(fresh);
            (self.nodes.len() - 1) as u32
        } else {
            let node = self.unused;
            self.unused = self.nodes[node as usize].next;
            self.nodes[node as usize] = fresh;
            node
        };
        self.buckets[bucket] = node;
        self.len += 1;
        node
    }

    /// Makes a node that is in no list the most recently used one of its endpoint.
    pub(super) fn attach_newest(&mut self, life: &mut Life, node: u32) {
        self.nodes[node as usize].older = life.newest;
        self.nodes[node as usize].newer = NONE;
        match life.newest {
            NONE => life.oldest = node,
            newest => self.nodes[newest as usize].newer = node,
        }
        life.newest = node;
        life.blocks += 1;
    }

    /// Takes a node out of its endpoint's list.
    pub(super) fn detach(&mut self, life: &mut Life, node: u32) {
        let Node { older, newer, .. } = self.nodes[node as usize];
        match older {
            NONE => life.oldest = newer,
            older => self.nodes[older as usize].newer = newer,
        }
        match newer {
            NONE => life.newest = older,
            newer => self.nodes[newer as usize].older = older,
        }
        life.blocks -= 1;
    }

    /// Removes an entry of an endpoint.
    pub(super) fn evict(&mut self, life: &mut Life, node: u32) {
        self.detach(life, node);
        self.unlink(node);
    }

    /// Makes room for `capacity` entries in all. The table must be full.
    pub(super) fn grow(&mut self, capacity: usize) {
        debug_assert!(self.is_full() && capacity <= ENTRIES_MAX);
        // The buckets follow from the nodes, so the old ones go before the new ones come.
        self.buckets = Vec::new();
        self.nodes.reserve_exact(capacity - self.nodes.len());
        self.fill_buckets(capacity);
    }

    /// Moves all entries into room for `capacity` entries, which must suffice.
    pub(super) fn shrink(&mut self, capacity: usize, lives: &mut [Life]) {
        debug_assert!(self.len <= capacity);
        let mut nodes = Vec::with_capacity(capacity);
        for life in lives {
            let mut from = life.oldest;
            life.oldest = nodes.len() as u32;
            while from != NONE {
                let node = &self.nodes[from as usize];
                let at = nodes.len() as u32;
                nodes.push(Node {
                    key: node.key,
                    endpoint: node.endpoint,
                    next: NONE,
                    older: if at == life.oldest { NONE } else { at - 1 },
                    newer: if node.newer == NONE { NONE } else { at + 1 },
                });
                life.newest = at;
                from = node.newer;
            }
        }
        self.nodes = nodes;
        self.unused = NONE;
        self.buckets = Vec::new();
        self.fill_buckets(capacity);
    }

    /// Chains all nodes, none of which is unused, into `count` new buckets.
    fn fill_buckets(&mut self, count: usize) {
        self.buckets.reserve_exact(count);
        self.buckets.resize(count, NONE);
        for node in 0..self.nodes.len() {
            let bucket = self.bucket(self.nodes[node].key);
            self.nodes[node].next = self.buckets[bucket];
            self.buckets[bucket] = node as u32;
        }
    }

    /// Takes a node out of its bucket's chain and keeps it for later use.
    fn unlink(&mut self, node: u32) {
        let Node { key, next, .. } = self.nodes[node as usize];
        let bucket = self.bucket(key);
        let before = self.chain(key).take_while(|&before| before != node).last();
        match before {
            None => self.buckets[bucket] = next,
            Some(before) => self.nodes[before as usize].next = next,
        }
        self.nodes[node as usize].next = self.unused;
        self.unused = node;
        self.len -= 1;
    }

    /// The nodes of a key's bucket.
    fn chain(&self, key: BlockKey) -> impl Iterator<Item = u32> {
        self.bucket_chain(self.bucket(key))
    }

    fn bucket_chain(&self, bucket: usize) -> impl Iterator<Item = u32> {
        let first = self.buckets.get(bucket).copied();
        let known = |node: u32| (node != NONE).then_some(node);
        std::iter::successors(first.and_then(known), move |&node| {
            known(self.nodes[node as usize].next)
        })
    }

    /// A folded product with a secret factor, brought into the range of the buckets.
    fn bucket(&self, key: BlockKey) -> usize {
        let product = u128::from(key.0 ^ self.secret) * u128::from(self.multiplier);
        let hash = (product >> 64) as u64 ^ product as u64;
        ((u128::from(hash) * self.buckets.len() as u128) >> 64) as usize
    }
}

/// One step of splitmix64, so that seeds which differ little give secrets that differ much.
const fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_differ_only_in_high_or_low_bits_spread_over_the_buckets() {
        let endpoint = EndpointId {
            slot: 0,
            generation: 0,
        };
        for shift in [0, 16, 32, 48] {
            let mut table = Table::new(7);
            table.grow(1024);
            for key in 0..1024 {
                table.link(endpoint, BlockKey(key << shift));
            }
            let longest = (0..1024).map(|bucket| table.bucket_chain(bucket).count());
            let longest = longest.max().unwrap();
            assert!(longest < 12, "{longest}");
        }
    }
}
