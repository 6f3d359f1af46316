use pointsman_domain::units::Tokens;
use proptest::prelude::*;

use super::super::Picker;
use super::super::tests::{loaded, picks, prompt, rng};
use super::*;
use crate::candidate::Candidate;

/// Endpoints with these loads and cached tokens.
fn holding(states: &[(u32, u64)]) -> Vec<Candidate> {
    let loads: Vec<_> = states.iter().map(|&(load, _)| load).collect();
    let mut candidates = loaded(&loads);
    for (candidate, &(_, cached)) in candidates.iter_mut().zip(states) {
        candidate.cached_tokens = Tokens(cached);
    }
    candidates
}

fn order(load_gap_max: u32, states: &[(u32, u64)], wanted: usize) -> Vec<usize> {
    let mut picker = Picker::PrefixAffinity(PrefixAffinity {
        load_gap_max,
        tie_break: TieBreak::First,
        ..PrefixAffinity::default()
    });
    let totals = vec![0.0; states.len()];
    picks(
        &mut picker,
        &prompt(&[]),
        &holding(states),
        &totals,
        wanted,
        &mut rng(),
    )
}

#[test]
fn a_holder_wins_until_it_has_more_than_the_gap_above_the_least_loaded() {
    assert_eq!(order(4, &[(0, 0), (4, 640), (1, 0)], 1), [1]);
    assert_eq!(order(4, &[(0, 0), (5, 640), (1, 0)], 1), [0]);
    assert_eq!(order(0, &[(2, 0), (2, 640)], 1), [1]);
}

#[test]
fn of_two_holders_the_one_with_more_wins_and_of_equal_ones_the_less_loaded() {
    assert_eq!(order(4, &[(0, 64), (3, 640)], 1), [1]);
    assert_eq!(order(4, &[(3, 640), (1, 640)], 1), [1]);
}

#[test]
fn after_the_best_come_the_other_holders_within_the_gap_and_then_the_rest_by_load() {
    let states = [(9, 640), (1, 0), (2, 64), (0, 0), (3, 640)];
    assert_eq!(order(4, &states, 5), [4, 2, 3, 1, 0]);
}

/// The rule of the article's re-simulation (`p_pa`): the least loaded of all holders, unless it has
/// more than the gap above the least loaded of all; then that one. Lowest index first.
fn least_loaded_holder(gap: u32, states: &[(u32, u64)]) -> usize {
    let load = |&(index, &(load, _)): &(usize, &(u32, u64))| (load, index);
    let all = || states.iter().enumerate();
    let least = all().min_by_key(load).unwrap();
    let holder = all()
        .filter(|(_, (_, cached))| *cached > 0)
        .min_by_key(load);
    match holder {
        Some(holder) if holder.1.0 - least.1.0 <= gap => holder.0,
        _ => least.0,
    }
}

/// The rule of the general re-simulation (`aff`): the lowest cost, which is the load less 1000 times
/// the cached share, and the share counts within the gap only. Gives all of the lowest cost.
fn lowest_cost(gap: u32, states: &[(u32, u64)], prompt_tokens: u64) -> Vec<usize> {
    let least = states.iter().map(|&(load, _)| load).min().unwrap();
    let costs: Vec<_> = states
        .iter()
        .map(|&(load, cached)| {
            let share = 1000.0 * cached as f64 / prompt_tokens as f64;
            f64::from(load) - if load - least <= gap { share } else { 0.0 }
        })
        .collect();
    let lowest = costs.iter().copied().fold(f64::INFINITY, f64::min);
    (0..costs.len())
        .filter(|&index| costs[index] <= lowest + 1e-9)
        .collect()
}

/// All lists of three states, each one of `of`.
fn triples<T: Copy>(of: &[T]) -> impl Iterator<Item = [T; 3]> {
    let count = of.len();
    (0..count * count * count).map(move |number| {
        [
            of[number % count],
            of[number / count % count],
            of[number / count / count],
        ]
    })
}

#[test]
fn where_holders_hold_the_same_it_is_the_articles_rule() {
    let states: Vec<_> = (0..7).flat_map(|load| [(load, 0), (load, 640)]).collect();
    for gap in 0..6 {
        for states in triples(&states) {
            assert_eq!(
                order(gap, &states, 1),
                [least_loaded_holder(gap, &states)],
                "{gap} {states:?}"
            );
        }
    }
}

#[test]
fn a_larger_share_wins_as_in_the_general_re_simulation() {
    let states: Vec<_> = (0..7)
        .flat_map(|load| [0, 16, 32, 640].map(|cached| (load, cached)))
        .collect();
    for gap in 0..6 {
        for states in triples(&states) {
            // Shares differ by 1000 * 16 / 640 = 25, which is above any gap.
            let lowest = lowest_cost(gap, &states, 640);
            let [picked] = order(gap, &states, 1)[..] else {
                panic!("one was wanted")
            };
            assert_eq!(Some(&picked), lowest.first(), "{gap} {states:?}");
        }
    }
}

proptest! {
    #[test]
    fn no_pick_has_more_than_the_gap_above_the_least_loaded(
        states in proptest::collection::vec((0u32..40, 0u64..4), 1..12),
        gap in 0u32..20,
    ) {
        let picked = order(gap, &states, 1)[0];
        let least = states.iter().map(|&(load, _)| load).min().unwrap();
        prop_assert!(states[picked].0 - least <= gap);
    }
}
