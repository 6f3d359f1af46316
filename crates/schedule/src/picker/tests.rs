use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::Tokens;
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;

fn candidate(slot: u32, requests: u32) -> Candidate {
    Candidate {
        id: EndpointId {
            slot,
            generation: 0,
        },
        address: "10.0.0.1:8000".parse().unwrap(),
        load: EndpointLoad::default(),
        own: OwnLoad {
            requests,
            ..OwnLoad::default()
        },
        foreign_requests: 0,
        cached_tokens: Tokens::ZERO,
    }
}

fn rng() -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(7)
}

#[test]
fn the_highest_total_comes_first() {
    let candidates: Vec<_> = (0..4).map(|slot| candidate(slot, 0)).collect();
    let order = Picker::MaxScore.pick(&candidates, &[1.0, 4.0, 2.0, 3.0], 3, &mut rng());
    assert_eq!(order.as_slice(), [1, 3, 2]);
}

#[test]
fn equal_totals_each_win_about_as_often() {
    let candidates: Vec<_> = (0..4).map(|slot| candidate(slot, 0)).collect();
    let mut rng = rng();
    let mut wins = [0_u32; 4];
    for _ in 0..4000 {
        wins[Picker::MaxScore.pick(&candidates, &[1.0; 4], 1, &mut rng)[0]] += 1;
    }
    assert!(
        wins.iter().all(|&won| (850..1150).contains(&won)),
        "{wins:?}"
    );
}

#[test]
fn round_robin_takes_turns_also_when_the_pool_changes() {
    let mut picker = Picker::RoundRobin(round_robin::RoundRobin::default());
    let all: Vec<_> = (0..3).map(|slot| candidate(slot, 0)).collect();
    let mut turn = |candidates: &[Candidate]| {
        candidates[picker.pick(candidates, &[], 1, &mut rng())[0]]
            .id
            .slot
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
    let candidates = [candidate(0, 3), candidate(1, 1), candidate(2, 2)];
    let order = Picker::LeastOutstanding.pick(&candidates, &[9.0, 0.0, 0.0], 3, &mut rng());
    assert_eq!(order.as_slice(), [1, 2, 0]);
}

proptest! {
    #[test]
    fn a_pick_holds_candidates_only_and_each_once(
        loads in proptest::collection::vec(0u32..5, 0..12),
        wanted in 0usize..5,
        seed: u64,
    ) {
        let candidates: Vec<_> =
            loads.iter().enumerate().map(|(slot, &n)| candidate(slot as u32, n)).collect();
        let totals: Vec<_> = loads.iter().map(|&n| f64::from(n)).collect();
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        for mut picker in [
            Picker::MaxScore,
            Picker::Random,
            Picker::LeastOutstanding,
            Picker::RoundRobin(round_robin::RoundRobin::default()),
        ] {
            let order = picker.pick(&candidates, &totals, wanted, &mut rng);
            prop_assert_eq!(order.len(), wanted.min(candidates.len()));
            let mut seen = order.to_vec();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), order.len());
            prop_assert!(order.iter().all(|&index| index < candidates.len()));
        }
    }
}
