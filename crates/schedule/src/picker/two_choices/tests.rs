use rand_pcg::Pcg64Mcg;

use super::super::Picker;
use super::super::tests::{loaded, picks, prompt, rng};
use super::*;

fn order(picker: TwoChoices, loads: &[u32], wanted: usize, rng: &mut Pcg64Mcg) -> Vec<usize> {
    let totals = vec![0.0; loads.len()];
    let mut picker = Picker::TwoChoices(picker);
    picks(
        &mut picker,
        &prompt(&[]),
        &loaded(loads),
        &totals,
        wanted,
        rng,
    )
}

fn wins(picker: TwoChoices, loads: &[u32], rounds: u32) -> Vec<u32> {
    let mut rng = rng();
    let mut wins = vec![0; loads.len()];
    for _ in 0..rounds {
        wins[order(picker, loads, 1, &mut rng)[0]] += 1;
    }
    wins
}

#[test]
fn of_two_endpoints_the_less_loaded_is_picked() {
    assert_eq!(wins(TwoChoices::default(), &[4, 3], 200), [0, 200]);
}

#[test]
fn each_pair_is_drawn_as_often_so_the_busiest_never_wins() {
    // Six pairs of four: the least loaded is in three of them, the next in two that it wins.
    let wins = wins(TwoChoices::default(), &[3, 0, 2, 1], 6000);
    assert_eq!(wins[0], 0);
    for (index, expected) in [(1, 3000), (3, 2000), (2, 1000)] {
        assert!(wins[index].abs_diff(expected) < 150, "{wins:?}");
    }
}

#[test]
fn with_replacement_the_busiest_wins_when_it_is_drawn_twice() {
    let picker = TwoChoices {
        draw: Draw::WithReplacement,
        ..TwoChoices::default()
    };
    let wins = wins(picker, &[3, 0, 2, 1], 16_000);
    for (index, expected) in [(0, 1000), (2, 3000), (3, 5000), (1, 7000)] {
        assert!(wins[index].abs_diff(expected) < 300, "{wins:?}");
    }
}

#[test]
fn the_others_that_were_drawn_come_before_those_that_were_not() {
    let mut rng = rng();
    let loads = [5, 1, 4, 0, 3, 2];
    let picker = TwoChoices {
        choices: 3,
        ..TwoChoices::default()
    };
    for _ in 0..200 {
        let order = order(picker, &loads, 6, &mut rng);
        let by_load = |part: &[usize]| part.is_sorted_by_key(|&index| loads[index]);
        assert!(by_load(&order[..3]) && by_load(&order[3..]), "{order:?}");
    }
}

#[test]
fn where_all_are_drawn_it_is_least_outstanding() {
    let loads = [5, 1, 4, 0, 3, 2];
    for choices in [6, 16, 1000] {
        let picker = TwoChoices {
            choices,
            ..TwoChoices::default()
        };
        assert_eq!(order(picker, &loads, 6, &mut rng()), [3, 1, 5, 4, 2, 0]);
    }
}

#[test]
fn a_second_choice_keeps_the_fullest_of_many_bins_far_below_a_blind_draw() {
    // The article's lab: as many balls as bins. Here the loads of the bins are the requests.
    let fullest = |choices, draw| {
        let mut rng = rng();
        let mut bins = loaded(&[0; 2000]);
        let tie_break = TieBreak::Random;
        let load = LoadView::Own;
        let mut picker = Picker::TwoChoices(TwoChoices {
            choices,
            draw,
            load,
            tie_break,
        });
        for _ in 0..bins.len() {
            let bin = picks(&mut picker, &prompt(&[]), &bins, &[], 1, &mut rng)[0];
            bins[bin].own.requests += 1;
        }
        bins.iter().map(|bin| bin.own.requests).max().unwrap()
    };
    assert!((5..=8).contains(&fullest(1, Draw::Distinct)));
    assert!((3..=4).contains(&fullest(2, Draw::Distinct)));
    assert!((3..=4).contains(&fullest(2, Draw::WithReplacement)));
}
