//! The endpoints of the index, each with the two ends of its list in the order of use.

#![allow(
    clippy::indexing_slicing,
    reason = "the position was just found or filled"
)]

use pointsman_domain::endpoint::EndpointId;

use super::table::NONE;

/// One life of an endpoint, while it holds blocks.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) endpoint: EndpointId,
    /// Length of the list.
    pub(super) blocks: usize,
    /// The most recently used node.
    pub(super) newest: u32,
    /// The least recently used node.
    pub(super) oldest: u32,
}

/// What one endpoint costs.
pub(super) const LIFE_BYTES: usize = size_of::<Life>();

/// The life in `lives`, which are sorted by endpoint.
pub(super) fn find(lives: &mut [Life], endpoint: EndpointId) -> Option<&mut Life> {
    let at = lives.binary_search_by_key(&endpoint, |life| life.endpoint);
    at.ok().and_then(|at| lives.get_mut(at))
}

/// The life in `lives`, which are sorted by endpoint; a new one without blocks if there is none.
pub(super) fn find_or_add(lives: &mut Vec<Life>, endpoint: EndpointId) -> &mut Life {
    let at = lives.partition_point(|life| life.endpoint < endpoint);
    if lives.get(at).is_none_or(|life| life.endpoint != endpoint) {
        lives.insert(
            at,
            Life {
                endpoint,
                blocks: 0,
                newest: NONE,
                oldest: NONE,
            },
        );
    }
    &mut lives[at]
}
