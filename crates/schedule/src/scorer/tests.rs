use pointsman_domain::block::{BlockHash, BlockSize};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::{Tokens, Unit};

use super::*;
use crate::candidate::Candidate;

fn candidate(slot: u32) -> Candidate {
    Candidate {
        id: EndpointId {
            slot,
            generation: 0,
        },
        address: format!("10.0.0.{}:8000", slot + 1).parse().unwrap(),
        load: EndpointLoad::default(),
        own: OwnLoad::default(),
        reported_requests: 0,
        foreign_requests: 0,
        own_at_report: 0,
        dispatched_since_report: 0,
        cached_tokens: Tokens::ZERO,
    }
}

fn waiting(waiting: u32) -> Candidate {
    Candidate {
        load: EndpointLoad {
            waiting,
            ..EndpointLoad::default()
        },
        ..candidate(0)
    }
}

fn own(requests: u32) -> Candidate {
    Candidate {
        own: OwnLoad {
            requests,
            ..OwnLoad::default()
        },
        ..candidate(0)
    }
}

fn request(blocks: usize) -> RequestFacts {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    facts.prompt.blocks = vec![BlockHash(1); blocks];
    facts
}

fn scores(scorer: &impl Score, request: &RequestFacts, candidates: &[Candidate]) -> Vec<f64> {
    let mut scores = vec![Unit::ZERO; candidates.len()];
    scorer.score(request, candidates, &mut scores);
    scores.into_iter().map(Unit::value).collect()
}

#[test]
fn the_shortest_queue_scores_one_and_the_longest_zero() {
    let candidates = [waiting(0), waiting(5), waiting(10)];
    assert_eq!(
        scores(&queue::Queue, &request(0), &candidates),
        [1.0, 0.5, 0.0]
    );
}

#[test]
fn equal_queues_all_score_one() {
    assert_eq!(
        scores(&queue::Queue, &request(0), &[waiting(7), waiting(7)]),
        [1.0, 1.0]
    );
}

#[test]
fn free_kv_memory_is_the_score() {
    let used = |share: f64| Candidate {
        load: EndpointLoad {
            kv_usage: Unit::clamped(share),
            ..EndpointLoad::default()
        },
        ..candidate(0)
    };
    let scorer = kv_cache_utilization::KvCacheUtilization;
    assert_eq!(
        scores(&scorer, &request(0), &[used(0.0), used(0.75), used(1.0)]),
        [1.0, 0.25, 0.0]
    );
}

#[test]
fn the_cached_share_of_full_blocks_is_the_prefix_score() {
    let cached = |tokens: u64| Candidate {
        cached_tokens: Tokens(tokens),
        ..candidate(0)
    };
    let scorer = prefix_cache::PrefixCache::default();
    let candidates = [cached(0), cached(128), cached(256)];
    assert_eq!(scores(&scorer, &request(4), &candidates), [0.0, 0.5, 1.0]);
    assert_eq!(scores(&scorer, &request(0), &candidates), [0.0, 0.0, 0.0]);
}

#[test]
fn the_length_of_a_match_counts_squared_where_it_has_weight() {
    let scorer = prefix_cache::PrefixCache {
        match_length_weight: Unit::ONE,
        match_length_scale: Tokens(256),
    };
    let candidates = [Candidate {
        cached_tokens: Tokens(128),
        ..candidate(0)
    }];
    assert_eq!(scores(&scorer, &request(4), &candidates), [0.25]);
}

#[test]
fn active_requests_count_against_the_busiest() {
    let scorer = active_request::ActiveRequest::default();
    assert_eq!(
        scores(&scorer, &request(0), &[own(0), own(1), own(4)]),
        [1.0, 0.75, 0.0]
    );
    let lenient = active_request::ActiveRequest {
        idle_threshold: 1,
        busy_score_max: Unit::clamped(0.5),
    };
    assert_eq!(
        scores(&lenient, &request(0), &[own(1), own(2), own(4)]),
        [1.0, 0.25, 0.0]
    );
}

#[test]
fn own_requests_and_those_of_others_halve_the_score_at_the_half_point() {
    let scorer = own_inflight::OwnInflight::default();
    let foreign = Candidate {
        foreign_requests: 3,
        ..own(1)
    };
    assert_eq!(
        scores(&scorer, &request(0), &[own(0), own(4), foreign]),
        [1.0, 0.5, 0.5]
    );
}

#[test]
fn under_high_load_the_ratio_to_the_least_loaded_is_what_counts() {
    let scorer = own_inflight::OwnInflight::default();
    assert_eq!(
        scores(&scorer, &request(0), &[own(96), own(196)]),
        [1.0, 0.5]
    );
    assert_eq!(
        scores(&scorer, &request(0), &[own(96), own(96)]),
        [1.0, 1.0]
    );
}

#[test]
fn a_request_just_dispatched_lowers_the_score_at_once() {
    let scorer = own_inflight::OwnInflight::default();
    let scores = scores(&scorer, &request(0), &[own(0), own(1)]);
    assert!(scores[1] < scores[0]);
}

#[test]
fn tokens_to_compute_before_the_first_one_count_up_to_the_threshold() {
    let scorer = token_load::TokenLoad {
        threshold: Tokens(1000),
    };
    let prefilling = |tokens: u64, cached: u64| Candidate {
        own: OwnLoad {
            requests: 1,
            before_first_token: 1,
            uncached_tokens: Tokens(tokens),
        },
        cached_tokens: Tokens(cached),
        ..candidate(0)
    };
    let mut facts = request(4);
    facts.prompt.tokens = Tokens(250);
    let candidates = [
        prefilling(0, 256),
        prefilling(0, 0),
        prefilling(250, 0),
        prefilling(250, 128),
        prefilling(750, 0),
        prefilling(u64::MAX, 0),
    ];
    assert_eq!(
        scores(&scorer, &facts, &candidates),
        [1.0, 0.75, 0.5, 0.628, 0.0, 0.0]
    );
}

#[test]
fn no_candidates_is_no_panic() {
    assert!(scores(&queue::Queue, &request(0), &[]).is_empty());
    assert!(scores(&active_request::ActiveRequest::default(), &request(0), &[]).is_empty());
}
