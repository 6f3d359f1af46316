//! Model rewrite, as the pool's answers show it.

use pointsman_domain::facts::ModelName;
use pointsman_domain::units::Tokens;

use super::super::*;
use super::builders::*;
use crate::rewrite::{RewriteRule, RewriteTarget, Rewrites};

/// A configuration in which the engine is asked for `target` where a client names one of `matches`.
fn rewriting(config: RuntimeConfig, matches: &[&str], target: &str) -> RuntimeConfig {
    let rule = RewriteRule {
        matches: matches.iter().map(|&model| model.into()).collect(),
        targets: vec![RewriteTarget {
            model: target.into(),
            weight: 0,
        }],
    };
    RuntimeConfig {
        rewrites: Rewrites::new(vec![rule]),
        ..config
    }
}

fn of_model(model: ModelName, blocks: &[u64]) -> RequestFacts {
    RequestFacts {
        model,
        ..chat(blocks)
    }
}

fn named(model: &str, blocks: &[u64]) -> RequestFacts {
    of_model(ModelName::Named(model.into()), blocks)
}

/// The model that the answer demands, what the event tells of it, and what was found in cache.
fn answer(pool: &mut TestPool, id: u64, facts: RequestFacts) -> [Option<String>; 3] {
    let outputs = pool.offer(id, facts);
    let [(_, Decision::Picked(pick))] = &decisions(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    let [Event::Picked(picked)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    [&pick.model, &picked.model, &picked.target_model]
        .map(|name| name.as_deref().map(str::to_owned))
}

fn cached(pool: &mut TestPool, id: u64, facts: RequestFacts) -> Tokens {
    let outputs = pool.offer(id, facts);
    pool.end(id);
    let [Event::Picked(picked)] = events(&outputs)[..] else {
        panic!("{outputs:?}")
    };
    picked.cached_tokens
}

fn refused(id: u64, refusal: Refusal) -> [(RequestId, Decision); 1] {
    [(RequestId(id), Decision::Refused(refusal))]
}

#[test]
fn a_pick_names_the_model_only_where_it_is_another_one() {
    let mut pool = pool_with(rewriting(config(), &["a", "same"], "same"), 1);
    let some = |name: &str| Some(name.to_owned());
    let rewritten = answer(&mut pool, 1, named("a", &[]));
    assert_eq!(rewritten, [some("same"), some("a"), some("same")]);
    let same = answer(&mut pool, 2, named("same", &[]));
    assert_eq!(same, [None, some("same"), None]);
    let other = answer(&mut pool, 3, named("b", &[]));
    assert_eq!(other, [None, some("b"), None]);
    let unread = answer(&mut pool, 4, of_model(ModelName::Unread, &[]));
    assert_eq!(unread, [None, None, None]);
    let absent = RequestFacts {
        model_override: Some("c".into()),
        ..of_model(ModelName::Absent, &[])
    };
    assert_eq!(answer(&mut pool, 5, absent), [some("c"), None, some("c")]);
}

#[test]
fn prompts_share_cache_by_the_model_that_the_engine_is_asked_for() {
    let mut pool = pool_with(rewriting(config(), &["a", "b"], "c"), 1);
    assert_eq!(cached(&mut pool, 1, named("a", &[1, 2])), Tokens::ZERO);
    assert_eq!(cached(&mut pool, 2, named("b", &[1, 2])), Tokens(128));
    assert_eq!(cached(&mut pool, 3, named("c", &[1, 2])), Tokens(128));
    assert_eq!(cached(&mut pool, 4, named("d", &[1, 2])), Tokens::ZERO);
}

#[test]
fn failure_a_body_without_the_model_that_its_dialect_or_a_rule_reads_is_refused() {
    let mut plain = pool_of(1);
    let outputs = plain.offer(1, of_model(ModelName::Missing, &[]));
    assert_eq!(decisions(&outputs), refused(1, Refusal::ModelMissing));
    let mut with_rule = pool_with(rewriting(config(), &["a"], "b"), 1);
    let outputs = with_rule.offer(1, of_model(ModelName::Absent, &[]));
    assert_eq!(decisions(&outputs), refused(1, Refusal::ModelMissing));
    for pool in [&plain, &with_rule] {
        assert_eq!(pool.pool.sizes().in_flight, 0);
    }
}

#[test]
fn a_body_that_names_no_model_goes_by_load_where_nobody_reads_it() {
    let mut pool = pool_of(1);
    let absent = answer(&mut pool, 1, of_model(ModelName::Absent, &[1]));
    assert_eq!(absent, [None, None, None]);
    // Whose blocks these are is not known, so nobody shares them.
    assert_eq!(pool.pool.sizes().prefix_blocks, 0);
}

#[test]
fn a_request_without_a_model_is_refused_before_it_is_held() {
    let mut pool = pool_with(holding(), 0);
    let outputs = pool.offer(1, of_model(ModelName::Missing, &[]));
    assert_eq!(decisions(&outputs), refused(1, Refusal::ModelMissing));
    assert_eq!(pool.pool.sizes().held, 0);
}

#[test]
fn a_held_request_goes_by_the_rules_at_its_decision() {
    let mut pool = pool_with(rewriting(holding(), &[], "a"), 0);
    pool.offer(1, of_model(ModelName::Missing, &[]));
    pool.offer(2, named("b", &[]));
    pool.input(Input::Configure(Box::new(rewriting(
        holding(),
        &["b"],
        "c",
    ))));
    let outputs = pool.input(Input::Endpoints(vec![endpoint(0)]));
    let decided = decisions(&outputs);
    let [missing, (_, Decision::Picked(pick))] = &decided[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(*missing, refused(1, Refusal::ModelMissing)[0]);
    assert_eq!(pick.model.as_deref(), Some("c"));
    assert_eq!(pool.pool.sizes().in_flight, 1);
}

#[test]
fn a_process_that_ends_refuses_everyone_for_that() {
    let mut pool = pool_of(1);
    pool.input(Input::ShutDown);
    let outputs = pool.offer(1, of_model(ModelName::Missing, &[]));
    assert_eq!(decisions(&outputs), refused(1, Refusal::ShuttingDown));
}
