use core::net::SocketAddr;
use core::num::NonZeroU32;

use pointsman_domain::block::{BlockHash, BlockSize};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::facts::RequestFacts;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::Tokens;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::consistent_hash::{ConsistentHash, Overflow};
use super::least_outstanding::LeastOutstanding;
use super::max_score::MaxScore;
use super::prefix_affinity::PrefixAffinity;
use super::ranking::TieBreak;
use super::round_robin::RoundRobin;
use super::two_choices::{Draw, TwoChoices};
use super::*;
use crate::candidate::Candidate;
use crate::load_view::LoadView;

/// An endpoint with so many requests of ours.
pub(super) fn candidate(slot: u32, requests: u32) -> Candidate {
    Candidate {
        id: EndpointId {
            slot,
            generation: 0,
        },
        address: SocketAddr::from(((0x0a00_0001 + slot).to_be_bytes(), 8000)),
        load: EndpointLoad::default(),
        own: OwnLoad {
            requests,
            ..OwnLoad::default()
        },
        reported_requests: 0,
        foreign_requests: 0,
        own_at_report: 0,
        dispatched_since_report: 0,
        cached_tokens: Tokens::ZERO,
    }
}

/// Endpoints with these numbers of requests of ours.
pub(super) fn loaded(requests: &[u32]) -> Vec<Candidate> {
    (0..)
        .zip(requests)
        .map(|(slot, &n)| candidate(slot, n))
        .collect()
}

/// A request whose blocks have these contents.
pub(super) fn prompt(blocks: &[u64]) -> RequestFacts {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    facts.prompt.blocks = blocks.iter().copied().map(BlockHash).collect();
    facts
}

/// Asks for `wanted` of `candidates` for `request`.
pub(super) fn picks(
    picker: &mut Picker,
    request: &RequestFacts,
    candidates: &[Candidate],
    totals: &[f64],
    wanted: usize,
    rng: &mut Pcg64Mcg,
) -> Vec<usize> {
    let question = Question {
        request,
        keys: &request.block_keys(request.model.name()),
        candidates,
        pickers: NonZeroU32::MIN,
        wanted,
    };
    picker.pick(&question, totals, rng).to_vec()
}

pub(super) fn rng() -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(7)
}

#[test]
fn the_highest_total_comes_first() {
    let mut picker = Picker::MaxScore(MaxScore::default());
    let totals = [1.0, 4.0, 2.0, 3.0];
    let order = picks(
        &mut picker,
        &prompt(&[]),
        &loaded(&[0; 4]),
        &totals,
        3,
        &mut rng(),
    );
    assert_eq!(order, [1, 3, 2]);
}

#[test]
fn equal_totals_each_win_about_as_often_unless_the_first_is_to_win() {
    let mut wins = [0_u32; 4];
    let mut rng = rng();
    let mut winner = |tie_break| {
        let mut picker = Picker::MaxScore(MaxScore { tie_break });
        let candidates = loaded(&[0; 4]);
        picks(
            &mut picker,
            &prompt(&[]),
            &candidates,
            &[1.0; 4],
            1,
            &mut rng,
        )[0]
    };
    for _ in 0..4000 {
        wins[winner(TieBreak::Random)] += 1;
        assert_eq!(winner(TieBreak::First), 0);
    }
    assert!(
        wins.iter().all(|&won| (850..1150).contains(&won)),
        "{wins:?}"
    );
}

#[test]
fn round_robin_takes_turns_also_when_the_pool_changes() {
    let mut picker = Picker::RoundRobin(RoundRobin::default());
    let all = loaded(&[0; 3]);
    let mut turn = |candidates: &[Candidate]| {
        let order = picks(
            &mut picker,
            &prompt(&[]),
            candidates,
            &[0.0; 3],
            1,
            &mut rng(),
        );
        candidates[order[0]].id.slot
    };
    assert_eq!(
        [turn(&all), turn(&all), turn(&all), turn(&all)],
        [0, 1, 2, 0]
    );
    assert_eq!(turn(&all[2..]), 2);
    assert_eq!(turn(&all), 0);
}

#[test]
fn the_least_outstanding_comes_first_whatever_the_totals() {
    let mut picker = Picker::LeastOutstanding(LeastOutstanding::default());
    let candidates = loaded(&[3, 1, 2]);
    let order = picks(
        &mut picker,
        &prompt(&[]),
        &candidates,
        &[9.0, 0.0, 0.0],
        3,
        &mut rng(),
    );
    assert_eq!(order, [1, 2, 0]);
}

#[test]
fn the_load_that_counts_is_the_one_that_was_chosen() {
    let mut candidates = loaded(&[5, 0]);
    candidates[1].reported_requests = 9;
    let winner = |load| {
        let tie_break = TieBreak::First;
        let mut picker = Picker::LeastOutstanding(LeastOutstanding { load, tie_break });
        picks(
            &mut picker,
            &prompt(&[]),
            &candidates,
            &[0.0; 2],
            1,
            &mut rng(),
        )[0]
    };
    assert_eq!(winner(LoadView::Own), 1);
    assert_eq!(winner(LoadView::Reported), 0);
}

/// One of each picker that chooses by its input alone when the first wins a tie.
fn deterministic() -> Vec<Picker> {
    let tie_break = TieBreak::First;
    let load = LoadView::default();
    let hashing = |overflow| {
        Picker::ConsistentHash(ConsistentHash {
            overflow,
            tie_break,
            ..ConsistentHash::default()
        })
    };
    vec![
        hashing(Overflow::Next),
        hashing(Overflow::LeastLoaded),
        Picker::LeastOutstanding(LeastOutstanding { load, tie_break }),
        Picker::MaxScore(MaxScore { tie_break }),
        Picker::PrefixAffinity(PrefixAffinity {
            tie_break,
            ..PrefixAffinity::default()
        }),
    ]
}

fn every() -> Vec<Picker> {
    let two_choices = |choices, draw| {
        Picker::TwoChoices(TwoChoices {
            choices,
            draw,
            ..TwoChoices::default()
        })
    };
    let mut pickers = deterministic();
    pickers.extend([
        Picker::ConsistentHash(ConsistentHash::default()),
        Picker::LeastOutstanding(LeastOutstanding::default()),
        Picker::MaxScore(MaxScore::default()),
        Picker::PrefixAffinity(PrefixAffinity::default()),
        Picker::Random,
        Picker::RoundRobin(RoundRobin::default()),
        two_choices(2, Draw::Distinct),
        two_choices(2, Draw::WithReplacement),
        two_choices(16, Draw::Distinct),
        two_choices(16, Draw::WithReplacement),
    ]);
    pickers
}

proptest! {
    #[test]
    fn a_pick_holds_candidates_only_and_each_once(
        states in proptest::collection::vec((0u32..5, 0u64..3), 0..12),
        blocks in proptest::collection::vec(any::<u64>(), 0..12),
        wanted in 0usize..5,
        seed: u64,
    ) {
        let mut candidates = loaded(&states.iter().map(|&(n, _)| n).collect::<Vec<_>>());
        for (candidate, &(_, cached)) in candidates.iter_mut().zip(&states) {
            candidate.cached_tokens = Tokens(cached * 64);
        }
        let totals: Vec<_> = states.iter().map(|&(n, _)| f64::from(n)).collect();
        let request = prompt(&blocks);
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        for mut picker in every() {
            let order = picks(&mut picker, &request, &candidates, &totals, wanted, &mut rng);
            prop_assert_eq!(order.len(), wanted.min(candidates.len()), "{:?}", picker);
            let mut seen = order.clone();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), order.len(), "{:?}", picker);
            prop_assert!(order.iter().all(|&index| index < candidates.len()));
        }
    }

    #[test]
    fn where_the_first_wins_a_tie_chance_has_no_part(
        states in proptest::collection::vec((0u32..3, 0u64..2), 1..12),
        blocks in proptest::collection::vec(any::<u64>(), 0..12),
        seeds: [u64; 2],
    ) {
        let mut candidates = loaded(&states.iter().map(|&(n, _)| n).collect::<Vec<_>>());
        for (candidate, &(_, cached)) in candidates.iter_mut().zip(&states) {
            candidate.cached_tokens = Tokens(cached * 64);
        }
        let totals: Vec<_> = states.iter().map(|&(n, _)| f64::from(n)).collect();
        let request = prompt(&blocks);
        for picker in deterministic() {
            let [one, other] = seeds.map(|seed| {
                let mut rng = Pcg64Mcg::seed_from_u64(seed);
                picks(&mut picker.clone(), &request, &candidates, &totals, 3, &mut rng)
            });
            prop_assert_eq!(one, other, "{:?}", picker);
        }
    }

    /// The first wins among equals, in each place of the order.
    #[test]
    fn equal_endpoints_come_in_the_order_of_their_slots(count in 1usize..12) {
        let candidates = loaded(&vec![0; count]);
        for mut picker in deterministic() {
            // Without a full block of prompt there is no hash to go by.
            let totals = vec![1.0; count];
            let order = picks(&mut picker, &prompt(&[]), &candidates, &totals, 4, &mut rng());
            prop_assert_eq!(order, (0..count.min(4)).collect::<Vec<_>>(), "{:?}", picker);
        }
    }
}
