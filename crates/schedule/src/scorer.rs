//! Scorers: what each gives to each candidate. This file is the registry.

pub mod active_request;
pub mod kv_cache_utilization;
pub mod own_inflight;
pub mod prefix_cache;
pub mod queue;
pub mod token_load;

use pointsman_domain::facts::RequestFacts;
use pointsman_domain::units::Unit;

use crate::candidate::Candidate;

/// What every scorer does.
pub trait Score {
    /// Writes one score for each candidate, in their order.
    ///
    /// `scores` has the length of `candidates`. A scorer sees all candidates at once, as most of the
    /// formulas that users know compare them with each other.
    fn score(&self, request: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]);
}

/// The built-in scorers.
#[derive(Clone, Debug, PartialEq)]
pub enum Scorer {
    /// `active-request-scorer`
    ActiveRequest(active_request::ActiveRequest),
    /// `kv-cache-utilization-scorer`
    KvCacheUtilization(kv_cache_utilization::KvCacheUtilization),
    /// `own-inflight-scorer`
    OwnInflight(own_inflight::OwnInflight),
    /// `prefix-cache-scorer`
    PrefixCache(prefix_cache::PrefixCache),
    /// `queue-scorer`
    Queue(queue::Queue),
    /// `token-load-scorer`
    TokenLoad(token_load::TokenLoad),
}

impl Score for Scorer {
    fn score(&self, request: &RequestFacts, candidates: &[Candidate], scores: &mut [Unit]) {
        match self {
            Self::ActiveRequest(scorer) => scorer.score(request, candidates, scores),
            Self::KvCacheUtilization(scorer) => scorer.score(request, candidates, scores),
            Self::OwnInflight(scorer) => scorer.score(request, candidates, scores),
            Self::PrefixCache(scorer) => scorer.score(request, candidates, scores),
            Self::Queue(scorer) => scorer.score(request, candidates, scores),
            Self::TokenLoad(scorer) => scorer.score(request, candidates, scores),
        }
    }
}

/// Writes `rule(candidate)` for each candidate.
fn each(candidates: &[Candidate], scores: &mut [Unit], rule: impl Fn(&Candidate) -> Unit) {
    for (candidate, score) in candidates.iter().zip(scores) {
        *score = rule(candidate);
    }
}

#[cfg(test)]
mod tests;
