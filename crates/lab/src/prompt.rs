//! From the pieces of a planned prompt to block hashes, as the picker and the engine see them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use pointsman_domain::block::{BlockHash, BlockKey, BlockSize, chain};
use pointsman_domain::facts::{Dialect, ModelName, Prompt, RequestFacts};
use pointsman_domain::units::Tokens;

use crate::workload::Plan;

/// The content of the prompt's full blocks. Two prompts share a block if and only if they share all
/// pieces up to the one that the block's last token belongs to.
///
/// `own` names what the request shares with nobody.
pub(crate) fn blocks(plan: &Plan, own: u64, size: BlockSize, blocks_max: usize) -> Vec<BlockHash> {
    let block = size.tokens().0;
    let count = u64::from(plan.prompt_tokens.get()) / block;
    let count = usize::try_from(count).unwrap_or(usize::MAX).min(blocks_max);
    let mut pieces = plan.pieces.iter().peekable();
    let mut end = 0;
    let content = |index: u64| {
        end += block;
        while pieces
            .next_if(|piece| u64::from(piece.end_tokens) < end)
            .is_some()
        {}
        let source = pieces.peek().map_or(own, |piece| piece.key.0);
        BlockHash(mixed(source, index))
    };
    (0..count as u64).map(content).collect()
}

/// What the picker is told of the request. Clients ask for an adapter in the place of the model.
pub(crate) fn facts(plan: &Plan, blocks: Vec<BlockHash>, size: BlockSize) -> RequestFacts {
    let adapter = plan.adapter.map(|adapter| format!("adapter-{}", adapter.0));
    RequestFacts {
        dialect: Dialect::ChatCompletions,
        model: adapter.map_or(ModelName::Unread, |name| ModelName::Named(name.into())),
        stream: true,
        prompt: Prompt {
            blocks,
            block_size: size,
            tokens: Tokens(u64::from(plan.prompt_tokens.get())),
            is_counted: true,
        },
        ..RequestFacts::passthrough(size)
    }
}

/// How many of the prompt's full blocks belong to its first `end_tokens` tokens.
fn full_blocks(end_tokens: u32, size: BlockSize) -> usize {
    usize::try_from(u64::from(end_tokens) / size.tokens().0).unwrap_or(usize::MAX)
}

/// The name of what the request at this place of the plan shares with nobody.
pub(crate) fn own_content(plan: usize) -> u64 {
    mixed(OWN_CONTENT, plan as u64)
}

/// The keys as an engine chains them, whose blocks may have another size than the picker's, each with
/// the end of its block in tokens.
pub(crate) fn engine_keys(
    plan: &Plan,
    own: u64,
    root: BlockKey,
    size: BlockSize,
) -> Vec<(BlockKey, u32)> {
    let blocks = blocks(plan, own, size, usize::MAX);
    let block = u32::try_from(size.tokens().0).unwrap_or(u32::MAX);
    let ends = (1..).map(|count: u32| count.saturating_mul(block));
    chain(root, &blocks).into_iter().zip(ends).collect()
}

/// Notes what the picker calls the parts of the prompt that an engine names by keys of its own:
/// pieces, or blocks of a size of its own. A block of the picker's belongs to the part in which it ends.
pub(crate) fn name_keys(
    parts: impl Iterator<Item = (BlockKey, u32)>,
    keys: &[BlockKey],
    size: BlockSize,
    names: &mut BTreeMap<BlockKey, Vec<BlockKey>>,
) {
    let mut begin = 0;
    for (key, end_tokens) in parts {
        let end = full_blocks(end_tokens, size).min(keys.len());
        if let Entry::Vacant(place) = names.entry(key) {
            place.insert(keys.get(begin..end).unwrap_or_default().to_vec());
        }
        begin = end;
    }
}

/// A finalizer that spreads small numbers over all bits.
pub(crate) fn mixed(source: u64, index: u64) -> u64 {
    let mut bits = source ^ index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

const OWN_CONTENT: u64 = 0x6f77_6e20_636f_6e74;

#[cfg(test)]
mod tests;
