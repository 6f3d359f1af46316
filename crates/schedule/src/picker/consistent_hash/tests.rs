use pointsman_domain::facts::{ModelName, RequestFacts};
use proptest::prelude::*;

use super::super::Picker;
use super::super::tests::{loaded, picks, prompt, rng};
use super::*;

fn order(
    picker: ConsistentHash,
    request: &RequestFacts,
    candidates: &[Candidate],
    wanted: usize,
) -> Vec<usize> {
    let totals = vec![0.0; candidates.len()];
    let mut picker = Picker::ConsistentHash(picker);
    picks(
        &mut picker,
        request,
        candidates,
        &totals,
        wanted,
        &mut rng(),
    )
}

/// Where a request goes when nobody is busy.
fn home(request: &RequestFacts, candidates: &[Candidate]) -> usize {
    order(ConsistentHash::default(), request, candidates, 1)[0]
}

fn overflowing(overflow: Overflow) -> ConsistentHash {
    ConsistentHash {
        overflow,
        tie_break: TieBreak::First,
        ..ConsistentHash::default()
    }
}

#[test]
fn the_cap_is_the_articles() {
    for (load_factor, total, count, expected) in [
        (1.25, 10, 4, 4),
        (1.25, 160, 4, 50),
        (1.1, 7, 3, 3),
        (2.0, 1, 3, 1),
        (1.1, 30, 3, 11),
    ] {
        assert_eq!(cap(load_factor, total, count), expected);
    }
}

#[test]
fn a_fifth_endpoint_takes_a_fifth_of_10_000_prefixes_and_no_other_moves() {
    let five = loaded(&[0; 5]);
    let mut moved = 0;
    for key in 0..10_000 {
        let request = prompt(&[key]);
        let (before, after) = (home(&request, &five[..4]), home(&request, &five));
        assert!(after == before || after == 4);
        moved += u32::from(after != before);
    }
    assert!((1700..=2300).contains(&moved), "{moved}");
}

#[test]
fn each_endpoint_is_home_to_about_as_many_prefixes() {
    let endpoints = loaded(&[0; 8]);
    let mut homes = [0_u32; 8];
    for key in 0..8000 {
        homes[home(&prompt(&[key]), &endpoints)] += 1;
    }
    assert!(homes.iter().all(|n| (850..1150).contains(n)), "{homes:?}");
}

#[test]
fn ten_thousand_requests_never_fill_an_endpoint_above_the_cap() {
    for overflow in [Overflow::Next, Overflow::LeastLoaded] {
        let mut endpoints = loaded(&[0; 4]);
        for placed in 1..=10_000_u64 {
            // One prefix in ten is as popular as all others.
            let key = if placed % 2 == 0 { 0 } else { placed % 9 };
            let picked = order(overflowing(overflow), &prompt(&[key]), &endpoints, 1)[0];
            endpoints[picked].own.requests += 1;
            let requests = u64::from(endpoints[picked].own.requests);
            assert!(requests <= cap(LOAD_FACTOR_DEFAULT, placed, 4), "{placed}");
        }
    }
}

#[test]
fn only_the_model_and_the_first_tokens_decide_where_the_home_is() {
    let endpoints = loaded(&[0; 16]);
    let long: Vec<u64> = (0..20).collect();
    let here = home(&prompt(&long), &endpoints);
    let mut other_tail = long.clone();
    other_tail[8] = 77;
    assert_eq!(home(&prompt(&other_tail), &endpoints), here);
    let homes: Vec<_> = (100..120)
        .map(|first| {
            let mut other_head = long.clone();
            other_head[7] = first;
            home(&prompt(&other_head), &endpoints)
        })
        .collect();
    assert!(homes.iter().any(|&home| home != here), "{homes:?}");
    let of_model = |model: &str| RequestFacts {
        model: ModelName::Named(model.into()),
        ..prompt(&long)
    };
    let models = (0..20).map(|number| home(&of_model(&number.to_string()), &endpoints));
    assert!(models.into_iter().any(|home| home != here));
}

#[test]
fn a_prefix_of_less_than_a_block_is_one_block() {
    let endpoints = loaded(&[0; 16]);
    let picker = ConsistentHash {
        prefix: Tokens(1),
        ..ConsistentHash::default()
    };
    let home = |blocks: &[u64]| order(picker, &prompt(blocks), &endpoints, 1)[0];
    assert!((0..20).all(|second| home(&[5, second]) == home(&[5])));
}

#[test]
fn a_full_home_passes_requests_to_the_next_of_its_order_or_to_the_least_loaded() {
    let idle = loaded(&[0; 4]);
    let request = prompt(&[1]);
    let ranking = order(ConsistentHash::default(), &request, &idle, 4);
    let mut busy = idle;
    // Of 9 with this one, no endpoint may have more than ceil(1.25 * 9 / 4) = 3.
    for (place, requests) in [3, 2, 2, 1].into_iter().enumerate() {
        busy[ranking[place]].own.requests = requests;
    }
    let next = order(overflowing(Overflow::Next), &request, &busy, 4);
    assert_eq!(next, [ranking[1], ranking[2], ranking[3], ranking[0]]);
    let least = order(overflowing(Overflow::LeastLoaded), &request, &busy, 1);
    assert_eq!(least, [ranking[3]]);
    // The average of 8 is 2, so that 2.5 are not too many yet.
    busy[ranking[0]].own.requests = 2;
    for overflow in [Overflow::Next, Overflow::LeastLoaded] {
        let order = order(overflowing(overflow), &request, &busy, 1);
        assert_eq!(order, [ranking[0]]);
    }
}

#[test]
fn a_prompt_without_a_full_block_goes_to_the_least_loaded() {
    let endpoints = loaded(&[3, 1, 2]);
    for overflow in [Overflow::Next, Overflow::LeastLoaded] {
        let order = order(overflowing(overflow), &prompt(&[]), &endpoints, 3);
        assert_eq!(order, [1, 2, 0]);
    }
}

#[test]
fn the_order_of_a_prefix_is_by_addresses_and_the_same_in_every_picker() {
    let key = BlockKey(0x0123_4567_89ab_cdef);
    let weight = |address: &str| weight(key, address.parse().unwrap());
    assert_eq!(weight("10.0.0.1:8000"), weight("[::ffff:10.0.0.1]:8000"));
    assert_ne!(weight("10.0.0.1:8000"), weight("10.0.0.1:8001"));
    // Pickers of two versions must agree while one replaces the other. These are from another
    // implementation of XXH3, over the key, the address as IPv6 and the port.
    assert_eq!(weight("10.0.0.1:8000"), 14_001_411_252_500_980_290);
    assert_eq!(weight("[fd00::1]:8000"), 15_195_992_146_918_128_435);
}

proptest! {
    /// There is always one with room, and the pick is one of those.
    #[test]
    fn a_pick_stays_within_the_cap_whatever_the_loads(
        loads in proptest::collection::vec(0u32..100, 1..20),
        key: u64,
        load_factor in 1.0001f64..4.0,
    ) {
        let endpoints = loaded(&loads);
        for overflow in [Overflow::Next, Overflow::LeastLoaded] {
            let picker = ConsistentHash { load_factor, ..overflowing(overflow) };
            let picked = order(picker, &prompt(&[key]), &endpoints, 1)[0];
            let total = loads.iter().map(|&load| u64::from(load)).sum::<u64>() + 1;
            let cap = cap(load_factor, total, loads.len() as u64);
            prop_assert!(u64::from(loads[picked]) < cap);
        }
    }
}
