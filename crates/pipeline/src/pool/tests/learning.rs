//! What the pool learns, and what it does with it.

use core::num::NonZeroU32;

use pointsman_domain::load::{Counters, EngineSample, PrefillRate};
use pointsman_domain::observation::{ObservationMode, Usage};
use pointsman_domain::units::Tokens;

use super::super::*;
use super::builders::*;

fn page(counters: Counters) -> Box<EngineSample> {
    Box::new(EngineSample {
        load: sample(0, 0),
        adapters: None,
        counters,
    })
}

fn read(pool: &mut TestPool, slot: u32, counters: Counters) {
    let endpoint = first_life(slot);
    pool.input(Input::ScrapeBegun(endpoint));
    pool.input(Input::ScrapeDone(endpoint, page(counters)));
}

fn prefill(tokens: f64, seconds: f64) -> Counters {
    Counters {
        prompt_tokens: Some(tokens),
        prefill_seconds: Some(seconds),
        ..Counters::default()
    }
}

/// A chat whose response is not seen.
fn unseen(block: u64) -> RequestFacts {
    let mut facts = chat(&[block]);
    facts.observation = ObservationMode::HeadersOnly;
    facts
}

#[test]
fn the_clock_goes_by_the_rate_that_the_engine_shows() {
    let mut slow = config();
    slow.prefill_rate = PrefillRate::new(NonZeroU32::MIN);
    let mut pool = pool_with(slow, 1);
    pool.at_millis(0);
    read(&mut pool, 0, prefill(0.0, 0.0));
    pool.at_millis(1000);
    // A thousand tokens a second, over so long that it is trusted.
    read(&mut pool, 0, prefill(1e9, 1e6));
    pool.pick(1, unseen(1));
    let own = |pool: &TestPool| pool.pool.endpoints(pool.now)[0].own;
    assert_eq!(own(&pool).uncached_tokens, Tokens(64));
    pool.at_millis(1032);
    assert_eq!(own(&pool).uncached_tokens, Tokens(32));
    pool.at_millis(1064);
    assert_eq!(own(&pool).before_first_token, 0);
}

#[test]
fn an_endpoint_of_which_nothing_is_known_has_the_pools_rate() {
    let mut pool = pool_of(3);
    for slot in [0, 1] {
        pool.at_millis(0);
        read(&mut pool, slot, prefill(0.0, 0.0));
    }
    for slot in [0, 1] {
        pool.at_millis(1000);
        read(&mut pool, slot, prefill(1e9, 1e6));
    }
    // Handed on a second later.
    pool.at_millis(2000);
    read(&mut pool, 0, prefill(1e9, 1e6));
    let subset = |slot: u32| {
        let entry = pointsman_domain::endpoint::SubsetEntry::parse(&address(slot).to_string());
        Some(vec![entry.unwrap()])
    };
    let mut facts = unseen(1);
    facts.subset = subset(2);
    assert_eq!(pool.pick(1, facts), first_life(2));
    pool.at_millis(2032);
    let own = pool.pool.endpoints(pool.now)[2].own;
    assert_eq!(own.uncached_tokens, Tokens(32));
}

fn cached(tokens: u64) -> Observation {
    Observation::Usage(Usage {
        prompt: Tokens(640),
        output: Tokens(1),
        cached: Some(Tokens(tokens)),
        reasoning: None,
    })
}

#[test]
fn what_an_engine_says_of_its_cache_corrects_what_is_believed_of_it() {
    let prompt: Vec<u64> = (0..100).collect();
    let mut pool = pool_of(1);
    let cached_tokens = |outputs: &[Output]| match events(outputs)[..] {
        [Event::Picked(picked)] => picked.cached_tokens,
        ref other => panic!("not picked: {other:?}"),
    };
    let offer = |id: u64, pool: &mut TestPool| cached_tokens(&pool.offer(id, chat(&prompt)));
    assert_eq!(offer(1, &mut pool), Tokens(0));
    assert_eq!(offer(2, &mut pool), Tokens(6400));
    // What was not believed to be there says nothing about the index.
    pool.observe(1, cached(0));
    assert_eq!(offer(3, &mut pool), Tokens(6400));
    pool.observe(2, cached(6400));
    assert_eq!(offer(4, &mut pool), Tokens(6400));
    for id in 5..100 {
        offer(id, &mut pool);
        pool.observe(id, cached(0));
    }
    assert!(offer(100, &mut pool) < Tokens(100));
}

#[test]
fn engines_that_preempt_again_and_again_are_spared_while_the_others_can_serve() {
    let preempted = |count| Counters {
        preemptions: Some(count),
        ..Counters::default()
    };
    let mut pool = pool_of(2);
    let tell = |pool: &mut TestPool, slot: u32, count: f64| read(pool, slot, preempted(count));
    for (millis, count) in [(0, 0.0), (500, 1.0), (1000, 2.0), (1500, 3.0)] {
        pool.at_millis(millis);
        tell(&mut pool, 0, count);
        tell(&mut pool, 1, 0.0);
    }
    for id in 0..8 {
        assert_eq!(pool.pick(id, chat(&[id])), first_life(1));
    }
    // If more than half of them do so, nobody is spared.
    for (millis, count) in [(2000, 1.0), (3000, 2.0), (3200, 3.0)] {
        pool.at_millis(millis);
        tell(&mut pool, 0, 3.0 + count);
        tell(&mut pool, 1, count);
    }
    for id in 10..14 {
        assert_eq!(pool.pick(id, chat(&[id])), first_life(0));
    }
}

#[test]
fn a_pool_tells_how_its_traffic_varies_and_how_far_its_knee_is() {
    let mut pool = pool_of(2);
    assert_eq!(pool.pool.statistics(), Statistics::default());
    pool.scrape(first_life(0), sample(0, 8));
    pool.scrape(first_life(1), sample(0, 12));
    pool.scrape(first_life(1), sample(0, 2));
    for (id, millis) in [(1, 1000), (2, 2000), (3, 3000)] {
        pool.at_millis(millis);
        pool.pick(id, chat(&[id]));
    }
    for (id, millis) in [(1, 5000), (2, 6000), (3, 7000)] {
        pool.at_millis(millis);
        pool.end(id);
    }
    let statistics = pool.pool.statistics();
    assert_eq!(statistics.arrival_gap, Duration::from_secs(1));
    assert_eq!(statistics.arrival_variability, Some(0.0));
    assert_eq!(statistics.service_time, Duration::from_secs(4));
    assert_eq!(statistics.service_variability, Some(0.0));
    assert_eq!(statistics.slots, 20);
    assert_eq!(statistics.utilization, Some(0.5));
    let knee = 3.0 / 3.5;
    assert_eq!(statistics.knee_distance, Some(knee - 0.5));
}
