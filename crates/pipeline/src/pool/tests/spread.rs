//! Decide and reserve are one step: a burst sees its own dispatches.

use pointsman_domain::endpoint::SubsetEntry;
use pointsman_domain::load::LoadSample;
use pointsman_domain::units::Unit;

use super::super::*;
use super::builders::*;

fn picks_per_endpoint(
    pool: &mut TestPool,
    requests: impl Iterator<Item = RequestFacts>,
) -> Vec<u32> {
    let mut picks = vec![0; pool.pool.sizes().endpoints];
    for (id, facts) in requests.enumerate() {
        picks[pool.pick(id as u64, facts).index()] += 1;
    }
    picks
}

/// A prompt of 20 blocks that shares none with another number's.
fn different(number: u64) -> RequestFacts {
    chat(
        &(0..20)
            .map(|block| number * 1000 + block)
            .collect::<Vec<_>>(),
    )
}

/// A prompt of 1,000 shared tokens (15 full blocks) and five blocks of its own.
fn sharing(number: u64) -> RequestFacts {
    let own = (0..5).map(|block| 1_000_000 + number * 1000 + block);
    chat(&(0..15).chain(own).collect::<Vec<_>>())
}

const SEEDS: core::ops::Range<u64> = 0..50;

#[test]
fn sixty_four_different_prompts_at_once_give_each_of_eight_endpoints_exactly_eight() {
    for seed in SEEDS {
        let picks = picks_per_endpoint(&mut seeded(seed, 8), (0..64).map(different));
        assert_eq!(picks, [8; 8], "seed {seed}");
    }
}

#[test]
fn sixty_four_prompts_with_one_prefix_give_no_endpoint_more_than_sixteen() {
    for seed in SEEDS {
        let picks = picks_per_endpoint(&mut seeded(seed, 8), (0..64).map(sharing));
        assert_eq!(picks.iter().sum::<u32>(), 64);
        assert!(picks.iter().all(|&n| n <= 16), "seed {seed}: {picks:?}");
    }
}

#[test]
fn a_prefix_buys_a_bounded_imbalance_also_under_high_load() {
    let mut pool = pool_of(2);
    let picks = picks_per_endpoint(&mut pool, (0..3000).map(sharing));
    assert!(picks.iter().all(|&n| n >= 1000), "{picks:?}");
}

#[test]
fn a_growing_conversation_stays_on_its_endpoint_while_load_allows() {
    let mut pool = pool_of(4);
    let mut turns: Vec<u64> = (0..20).collect();
    let home = pool.pick(0, chat(&turns));
    pool.end(0);
    for turn in 1..10 {
        turns.extend(turn * 100..turn * 100 + 3);
        assert_eq!(pool.pick(turn, chat(&turns)), home);
        pool.end(turn);
    }
}

#[test]
fn an_endpoint_with_a_long_queue_loses_to_an_idle_one() {
    let mut pool = pool_of(2);
    pool.scrape(first_life(0), sample(50, 50));
    pool.scrape(first_life(1), sample(0, 0));
    for id in 0..8 {
        assert_eq!(pool.pick(id, different(id)), first_life(1));
        pool.end(id);
    }
}

#[test]
fn a_full_kv_cache_loses_to_an_empty_one() {
    let mut pool = pool_of(2);
    for (number, used) in [(0, 0.95), (1, 0.05)] {
        let kv_usage = Some(Unit::clamped(used));
        pool.scrape(
            first_life(number),
            LoadSample {
                kv_usage,
                ..sample(0, 0)
            },
        );
    }
    assert_eq!(pool.pick(0, different(0)), first_life(1));
}

#[test]
fn only_endpoints_of_the_gateways_subset_are_picked() {
    let mut pool = pool_of(4);
    for id in 0..16 {
        let subset = Some(vec![SubsetEntry {
            ip: address(2).ip(),
            port: None,
        }]);
        let facts = RequestFacts {
            subset,
            ..different(id)
        };
        assert_eq!(pool.pick(id, facts), first_life(2));
    }
}

#[test]
fn b77_an_empty_subset_admits_nobody() {
    let facts = RequestFacts {
        subset: Some(Vec::new()),
        ..different(0)
    };
    let outputs = pool_of(4).offer(0, facts);
    let refused = Decision::Refused(Refusal::NoEndpoints);
    assert_eq!(decisions(&outputs), [(RequestId(0), refused)]);
}

#[test]
fn failure_stale_and_missing_reports_count_as_the_median_of_the_fresh_ones() {
    let mut pool = pool_of(3);
    pool.scrape(first_life(0), sample(0, 0));
    pool.at_millis(10_000);
    pool.scrape(first_life(1), sample(9, 9));
    // Endpoint 0's empty queue is ten seconds old: it is believed no more than endpoint 2's, which
    // has never been seen.
    let state = pool.pool.endpoints(pool.now);
    assert_eq!(state[0].load_age, Some(Duration::from_secs(10)));
    let picks = picks_per_endpoint(&mut pool, (0..30).map(different));
    assert!(picks[0].abs_diff(picks[2]) <= 1, "{picks:?}");
}

#[test]
fn failure_all_reports_stale_is_not_read_as_saturation() {
    let mut pool = pool_of(4);
    for number in 0..4 {
        pool.scrape(first_life(number), sample(100, 100));
    }
    pool.at_millis(60_000);
    assert_eq!(picks_per_endpoint(&mut pool, (0..8).map(different)), [2; 4]);
}

#[test]
fn the_list_of_destinations_is_as_long_as_configured_and_best_first() {
    let mut pool = pool_with(
        RuntimeConfig {
            destinations_max: 3,
            ..config()
        },
        4,
    );
    for number in 0..4 {
        let waiting = if number == 3 { 40 } else { 0 };
        pool.scrape(first_life(number), sample(waiting, waiting));
    }
    let outputs = pool.offer(0, different(0));
    let decided = decisions(&outputs);
    let [(_, Decision::Picked(pick))] = &decided[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(pick.destinations.len(), 3);
    assert!(
        pick.destinations
            .iter()
            .all(|d| d.endpoint != first_life(3))
    );
}

#[test]
fn an_explanation_shows_every_candidate_and_what_its_total_is_made_of() {
    let mut pool = pool_of(2);
    let facts = Box::new(different(0));
    let outputs = pool.input(Input::Offer {
        id: RequestId(0),
        facts,
        detail: Detail::Explained,
    });
    let [Event::Picked(picked)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    let scores = picked.scores.as_ref().unwrap();
    assert_eq!(scores.len(), 2);
    assert_eq!(scores[0].parts.len(), 4);
    let sum: f64 = scores[0]
        .parts
        .iter()
        .map(|part| part.score * part.weight)
        .sum();
    assert!((sum - scores[0].total).abs() < 1e-9);
}
