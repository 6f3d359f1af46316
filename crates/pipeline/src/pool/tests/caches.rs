//! Reports on engines' caches, and what the index learns from.

use pointsman_domain::event::Late;
use pointsman_domain::units::Tokens;

use super::super::*;
use super::builders::*;

fn learning_from(prefix_source: PrefixSource) -> RuntimeConfig {
    RuntimeConfig {
        prefix_source,
        ..config()
    }
}

fn keys(blocks: &[u64]) -> Vec<BlockKey> {
    chat(blocks).block_keys(Some("m"))
}

fn stored(endpoint: EndpointId, keys: &[BlockKey]) -> Input {
    Input::CacheStored {
        endpoint,
        keys: keys.to_vec(),
    }
}

fn removed(endpoint: EndpointId, keys: &[BlockKey]) -> Input {
    Input::CacheRemoved {
        endpoint,
        keys: keys.to_vec(),
    }
}

/// Offers a request and gives what of its prompt was taken to be cached where it goes.
fn cached(pool: &mut TestPool, id: u64, blocks: &[u64]) -> Tokens {
    let outputs = pool.offer(id, chat(blocks));
    pool.end(id);
    let picked = events(&outputs).into_iter().find_map(|event| match event {
        Event::Picked(picked) => Some(picked.cached_tokens),
        _ => None,
    });
    picked.unwrap()
}

#[test]
fn where_only_reports_count_a_dispatch_predicts_nothing() {
    let mut pool = pool_with(learning_from(PrefixSource::Reported), 1);
    assert_eq!(cached(&mut pool, 0, &[1, 2, 3]), Tokens::ZERO);
    assert_eq!(cached(&mut pool, 1, &[1, 2, 3]), Tokens::ZERO);
    assert_eq!(pool.pool.sizes().prefix_blocks, 0);
}

#[test]
fn a_prefix_is_worth_what_the_reports_say_of_it() {
    let mut pool = pool_with(learning_from(PrefixSource::Reported), 2);
    let keys = keys(&[1, 2, 3]);
    assert!(pool.input(stored(first_life(1), &keys)).is_empty());
    for id in 0..10 {
        assert_eq!(pool.pick(id, chat(&[1, 2, 3, id])), first_life(1));
        pool.end(id);
    }
    assert_eq!(cached(&mut pool, 10, &[1, 2, 3]), Tokens(192));
    pool.input(removed(first_life(1), &keys[2..]));
    assert_eq!(cached(&mut pool, 11, &[1, 2, 3]), Tokens(128));
    pool.input(Input::CacheCleared(first_life(1)));
    assert_eq!(cached(&mut pool, 12, &[1, 2, 3]), Tokens::ZERO);
}

#[test]
fn where_both_count_a_prediction_stays_until_a_report_takes_it_back() {
    let mut pool = pool_with(learning_from(PrefixSource::ReportedAndPredicted), 1);
    assert_eq!(cached(&mut pool, 0, &[1, 2]), Tokens::ZERO);
    assert_eq!(cached(&mut pool, 1, &[1, 2]), Tokens(128));
    pool.input(removed(first_life(0), &keys(&[1, 2])[1..]));
    assert_eq!(cached(&mut pool, 2, &[1, 2, 3]), Tokens(64));
}

#[test]
fn where_dispatches_count_reports_change_nothing() {
    let mut pool = pool_of(1);
    pool.input(stored(first_life(0), &keys(&[1, 2])));
    assert_eq!(cached(&mut pool, 0, &[1, 2]), Tokens::ZERO);
    pool.input(Input::CacheCleared(first_life(0)));
    assert_eq!(cached(&mut pool, 1, &[1, 2]), Tokens(128));
}

#[test]
fn a_report_of_an_earlier_life_is_dropped_and_counted() {
    let mut pool = pool_with(learning_from(PrefixSource::Reported), 1);
    pool.input(stored(first_life(0), &keys(&[1])));
    pool.input(Input::Endpoints(Vec::new()));
    pool.input(Input::Endpoints(vec![endpoint(0)]));
    let late = [
        stored(first_life(0), &keys(&[1])),
        removed(first_life(0), &keys(&[1])),
        Input::CacheCleared(first_life(0)),
    ];
    for input in late {
        let outputs = pool.input(input);
        let what = Late::CacheReport;
        assert_eq!(events(&outputs), [&Event::Dropped { what }]);
    }
    assert_eq!(pool.pool.sizes().prefix_blocks, 0);
}

#[test]
fn what_was_predicted_is_forgotten_when_only_reports_count_from_now_on() {
    let mut pool = pool_of(1);
    let configure = |pool: &mut TestPool, source| {
        pool.input(Input::Configure(Box::new(learning_from(source))));
        pool.pool.sizes().prefix_blocks
    };
    cached(&mut pool, 0, &[1, 2]);
    assert_eq!(configure(&mut pool, PrefixSource::ReportedAndPredicted), 2);
    assert_eq!(configure(&mut pool, PrefixSource::Predicted), 2);
    assert_eq!(configure(&mut pool, PrefixSource::Reported), 0);
    // What is reported stays while predictions are added, and leaves with them: nothing tells the two
    // apart, and a prediction that never came true would stay for ever.
    pool.input(stored(first_life(0), &keys(&[1])));
    assert_eq!(configure(&mut pool, PrefixSource::ReportedAndPredicted), 1);
    assert_eq!(configure(&mut pool, PrefixSource::Reported), 0);
}
