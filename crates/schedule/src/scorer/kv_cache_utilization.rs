//! `kv-cache-utilization-scorer`.

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use super::{Score, each};
use crate::candidate::Candidate;

/// Prefers engines with free KV memory: 1 minus the share of KV blocks in use (llm-d's formula).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCacheUtilization;

impl Score for KvCacheUtilization {
    fn score(&self, _: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        each(candidates, scores, |candidate| {
            Unit::clamped(1.0 - candidate.load.kv_usage.value())
        });
    }
}
