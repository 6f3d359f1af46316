//! What a profile is asked.

use core::num::NonZeroU32;

use pointsman_domain::block::BlockKey;
use pointsman_domain::facts::RequestFacts;

use crate::candidate::Candidate;

/// One request and those who may serve it.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The request.
    pub request: &'a RequestFacts,
    /// The keys of its prompt's full blocks.
    pub keys: &'a [BlockKey],
    /// Who may serve it, in the order of their slots.
    pub candidates: &'a [Candidate],
    /// How many pickers serve this pool, this one included.
    pub pickers: NonZeroU32,
    /// How many candidates an answer lists at most.
    pub wanted: usize,
}
