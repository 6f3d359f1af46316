//! Media in the places of token ids.
//!
//! The ids there are the same whatever is put there, so what is put there changes the block in which it
//! begins. The blocks behind that one depend on it by their keys, and those before it stay.

use pointsman_domain::block::{BlockHash, BlockKey, BlockSize};
use pointsman_domain::units::Tokens;

/// Ids that stand for a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The index of the first.
    pub(crate) offset: u32,
    /// How many they are.
    pub(crate) length: u32,
}

impl Place {
    /// Whether a prompt has all of these ids.
    pub(crate) fn is_within(self, ids: u64) -> bool {
        let (offset, length) = (u64::from(self.offset), u64::from(self.length));
        offset < ids && offset + length <= ids
    }

    /// The ids as tokens.
    pub(crate) fn tokens(self) -> Tokens {
        Tokens(self.length.into())
    }
}

/// Makes each block depend on the media that begin in it, each given with the hash of its content. Their
/// order does not count.
pub(crate) fn put_into(blocks: &mut [BlockHash], size: BlockSize, mut media: Vec<(Place, u64)>) {
    media.sort_unstable();
    for (place, content) in media {
        let block = u64::from(place.offset) / size.tokens().0;
        // Behind the last full block nothing is in the cache anyway.
        let block = usize::try_from(block).ok();
        if let Some(block) = block.and_then(|block| blocks.get_mut(block)) {
            let place = u64::from(place.offset) << u32::BITS | u64::from(place.length);
            let BlockKey(mixed) = BlockKey(block.0)
                .then(BlockHash(place))
                .then(BlockHash(content));
            *block = BlockHash(mixed);
        }
    }
}

/// Media of one prompt whose places are kept. Where there are more, media change the whole prompt's
/// keys.
pub(crate) const PLACES_MAX: usize = 1024;
