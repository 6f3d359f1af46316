//! `consistent-hash-picker`: the same prefix to the same endpoint, as far as load allows.
//!
//! It needs no memory of what endpoints hold: pickers that know nothing of each other agree.

use core::cmp::Reverse;
use core::net::{IpAddr, SocketAddr};

use pointsman_domain::block::BlockKey;
use pointsman_domain::units::Tokens;
use rand::Rng;
use xxhash_rust::xxh3::xxh3_64;

use super::ranking::{Order, TieBreak, largest};
use crate::candidate::Candidate;
use crate::load_view::LoadView;
use crate::question::Question;

/// Picks by a hash of the prompt's first blocks and each endpoint's address, highest first
/// (rendezvous hashing): when an endpoint joins `n` others, it takes `1 / (n + 1)` of the prefixes and
/// no other prefix moves. An endpoint with too much load is passed over, as [`Overflow`] says.
///
/// The prefix is named by its block key, so it is one model's, and what keeps prompts from sharing
/// cache keeps them apart here too. A prompt without a full block goes to the least loaded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConsistentHash {
    /// How much of the prompt is the prefix: so many whole blocks as fit, and at least one.
    pub prefix: Tokens,
    /// How much more than its equal part of the load an endpoint may have; above 1.
    pub load_factor: f64,
    /// What happens at too much load.
    pub overflow: Overflow,
    /// What counts as load.
    pub load: LoadView,
    /// What decides among equal loads.
    pub tie_break: TieBreak,
}

/// When an endpoint has too much load, and where its requests go then. `m` is the load of all `n`
/// candidates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// To the next of the prefix's order. No load comes above `ceil(load_factor * (m + 1) / n)`, where
    /// 1 is this request.
    #[default]
    Next,
    /// To the least loaded, where the load is above `load_factor * m / n` (SGLang's `prefix_hash`).
    LeastLoaded,
}

impl Default for ConsistentHash {
    fn default() -> Self {
        Self {
            prefix: PREFIX_DEFAULT,
            load_factor: LOAD_FACTOR_DEFAULT,
            overflow: Overflow::default(),
            load: LoadView::default(),
            tie_break: TieBreak::default(),
        }
    }
}

impl ConsistentHash {
    /// Picks by hash and load.
    pub(super) fn pick(&self, question: &Question<'_>, rng: &mut impl Rng) -> Order {
        let load = |candidate: &Candidate| self.load.requests(candidate, question.pickers);
        let candidates = question.candidates.iter();
        let by_load = candidates.clone().map(|candidate| Reverse(load(candidate)));
        let Some(key) = self.key(question) else {
            return largest(by_load, question.wanted, self.tie_break, rng);
        };
        let count = question.candidates.len() as u64;
        let total: u64 = candidates.clone().map(|c| u64::from(load(c))).sum();
        match self.overflow {
            Overflow::Next => {
                let cap = cap(self.load_factor, total + 1, count);
                let ranks = candidates.map(|candidate| {
                    let has_room = u64::from(load(candidate)) < cap;
                    (has_room, weight(key, candidate.address))
                });
                largest(ranks, question.wanted, self.tie_break, rng)
            }
            Overflow::LeastLoaded => {
                let fair = self.load_factor * total as f64 / count as f64;
                let owner = candidates
                    .clone()
                    .max_by_key(|candidate| weight(key, candidate.address))
                    .filter(|&owner| f64::from(load(owner)) <= fair)
                    .map(|owner| owner.id);
                let ranks = candidates
                    .zip(by_load)
                    .map(|(candidate, by_load)| (Some(candidate.id) == owner, by_load));
                largest(ranks, question.wanted, self.tie_break, rng)
            }
        }
    }

    /// The key of the prompt's first blocks; `None` if it has no full block.
    fn key(&self, question: &Question<'_>) -> Option<BlockKey> {
        let block_tokens = question.request.prompt.block_size.tokens().0.max(1);
        let blocks = usize::try_from(self.prefix.0 / block_tokens).unwrap_or(usize::MAX);
        let last = blocks.min(question.keys.len()).max(1) - 1;
        question.keys.get(last).copied()
    }
}

/// What an endpoint's place in a prefix's order is by. Must be the same in every picker.
fn weight(key: BlockKey, address: SocketAddr) -> u64 {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut bytes = [0; 26];
    let (name, rest) = bytes.split_at_mut(8);
    let (host, port) = rest.split_at_mut(16);
    name.copy_from_slice(&key.0.to_le_bytes());
    host.copy_from_slice(&ip.octets());
    port.copy_from_slice(&address.port().to_le_bytes());
    xxh3_64(&bytes)
}

/// The most requests that one of `count` endpoints may have while `total` are placed among them.
fn cap(load_factor: f64, total: u64, count: u64) -> u64 {
    let part = load_factor * total as f64 / count as f64;
    // Some products that are whole come out a little above, as 1.1 * 30 does.
    (part - ROUNDING).ceil() as u64
}

/// How much of a prompt is its prefix where nothing else is set.
pub const PREFIX_DEFAULT: Tokens = Tokens(512);

/// The load factor where nothing else is set.
pub const LOAD_FACTOR_DEFAULT: f64 = 1.25;

/// Far below the distance between two caps that differ, far above an error of the arithmetic.
const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests;
