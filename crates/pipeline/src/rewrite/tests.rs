use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{NameHash, Session};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

use super::*;

fn rule(matches: &[&str], targets: &[(&str, u32)]) -> RewriteRule {
    RewriteRule {
        matches: matches.iter().map(|&model| model.into()).collect(),
        targets: targets
            .iter()
            .map(|&(model, weight)| RewriteTarget {
                model: model.into(),
                weight,
            })
            .collect(),
    }
}

fn facts(model: ModelName) -> RequestFacts {
    RequestFacts {
        model,
        ..RequestFacts::passthrough(BlockSize::DEFAULT)
    }
}

fn named(model: &str) -> RequestFacts {
    facts(ModelName::Named(model.into()))
}

fn in_session(id: u64, source: SessionSource) -> RequestFacts {
    let id = NameHash::of(&id.to_le_bytes());
    RequestFacts {
        session: Some(Session { id, source }),
        ..named("m")
    }
}

fn with_override(facts: RequestFacts) -> RequestFacts {
    RequestFacts {
        model_override: Some("by-header".into()),
        ..facts
    }
}

fn target(rules: Vec<RewriteRule>, facts: &RequestFacts) -> Result<Option<String>, Refusal> {
    let rewrites = Rewrites::new(rules);
    let chosen = rewrites
        .target(facts, &mut Pcg64Mcg::seed_from_u64(1))
        .map(|target| target.map(str::to_owned));
    assert_eq!(rewrites.demand_model(facts).err(), chosen.clone().err());
    chosen
}

fn is(model: &str) -> Result<Option<String>, Refusal> {
    Ok(Some(model.to_owned()))
}

#[test]
fn a_rule_that_names_the_model_comes_before_one_for_all_then_the_first_one_counts() {
    let rules = || {
        vec![
            rule(&[], &[("all-1", 1)]),
            rule(&["a", "b"], &[("named-1", 1)]),
            rule(&["b", "c"], &[("named-2", 1)]),
            rule(&[], &[("all-2", 1)]),
        ]
    };
    for (model, expected) in [
        ("a", "named-1"),
        ("b", "named-1"),
        ("c", "named-2"),
        ("d", "all-1"),
        ("A", "all-1"),
    ] {
        assert_eq!(target(rules(), &named(model)), is(expected), "{model}");
    }
}

#[test]
fn a_rule_wins_over_the_header_and_the_header_over_the_body() {
    let rules = || vec![rule(&["a"], &[("by-rule", 1)])];
    assert_eq!(target(rules(), &with_override(named("a"))), is("by-rule"));
    assert_eq!(target(rules(), &with_override(named("b"))), is("by-header"));
    assert_eq!(target(rules(), &named("b")), is("b"));
}

#[test]
fn a_rule_goes_by_the_bodys_model_and_not_by_the_headers() {
    let rules = vec![rule(&["by-header"], &[("by-rule", 1)])];
    assert_eq!(target(rules, &with_override(named("a"))), is("by-header"));
}

#[test]
fn b09_a_request_that_names_no_model_gets_that_of_a_rule_for_all_or_of_the_header() {
    let for_all = || vec![rule(&[], &[("by-rule", 1)])];
    for model in [ModelName::Missing, ModelName::Absent] {
        assert_eq!(target(for_all(), &facts(model.clone())), is("by-rule"));
        let overridden = with_override(facts(model));
        assert_eq!(target(for_all(), &overridden), is("by-rule"));
        assert_eq!(target(Vec::new(), &overridden), is("by-header"));
    }
}

#[test]
fn a_request_without_a_model_is_refused_where_its_dialect_or_a_rule_reads_it() {
    let exact = || vec![rule(&["a"], &[("by-rule", 1)])];
    let refused = Err(Refusal::ModelMissing);
    assert_eq!(target(Vec::new(), &facts(ModelName::Missing)), refused);
    assert_eq!(target(exact(), &facts(ModelName::Missing)), refused);
    assert_eq!(target(exact(), &facts(ModelName::Absent)), refused);
    assert_eq!(target(Vec::new(), &facts(ModelName::Absent)), Ok(None));
    let overridden = with_override(facts(ModelName::Absent));
    assert_eq!(target(exact(), &overridden), is("by-header"));
}

#[test]
fn what_has_no_place_for_a_model_is_neither_rewritten_nor_refused() {
    let unread = facts(ModelName::Unread);
    for rules in [
        Vec::new(),
        vec![rule(&[], &[("all", 1)]), rule(&["a"], &[("b", 1)])],
    ] {
        assert_eq!(target(rules.clone(), &unread), Ok(None));
        assert_eq!(target(rules, &with_override(unread.clone())), Ok(None));
    }
}

/// How often each target is chosen for so many requests.
fn counts(targets: &[(&str, u32)], requests: &[RequestFacts]) -> Vec<usize> {
    let rewrites = Rewrites::new(vec![rule(&[], targets)]);
    let mut rng = Pcg64Mcg::seed_from_u64(7);
    let mut counts = vec![0; targets.len()];
    for request in requests {
        let chosen = rewrites.target(request, &mut rng).unwrap().unwrap();
        let mut models = targets.iter().map(|(model, _)| *model);
        counts[models.position(|model| model == chosen).unwrap()] += 1;
    }
    counts
}

/// Whether each count is near its share of ten thousand.
fn are_near(counts: &[usize], expected: &[usize]) -> bool {
    let mut pairs = counts.iter().zip(expected);
    pairs.all(|(count, expected)| count.abs_diff(*expected) < 200)
}

#[test]
fn targets_are_chosen_by_weight_alike_without_any_and_never_without_one_of_their_own() {
    let sessions: Vec<_> = (0..10_000)
        .map(|id| in_session(id, SessionSource::Header))
        .collect();
    let strangers = vec![named("m"); 10_000];
    for requests in [&sessions, &strangers] {
        for (weights, expected) in [
            ([90, 10, 0], [9000, 1000, 0]),
            ([0, 0, 0], [3333, 3333, 3333]),
            ([0, 1, 1], [0, 5000, 5000]),
            ([1_000_000; 3], [3333, 3333, 3333]),
        ] {
            let targets = [("a", weights[0]), ("b", weights[1]), ("c", weights[2])];
            let counts = counts(&targets, requests);
            assert!(are_near(&counts, &expected), "{weights:?} {counts:?}");
            let never = expected.iter().zip(&counts).filter(|(e, _)| **e == 0);
            assert!(never.clone().all(|(_, count)| *count == 0), "{counts:?}");
        }
    }
}

#[test]
fn a_conversation_that_names_itself_stays_on_its_side() {
    let targets = [("a", 50), ("b", 50)];
    for source in [SessionSource::Header, SessionSource::Body] {
        for id in 0..50 {
            let mut counts = counts(&targets, &vec![in_session(id, source); 40]);
            counts.sort_unstable();
            assert_eq!(counts, [0, 40]);
        }
    }
}

#[test]
fn clients_with_the_same_beginning_of_a_prompt_are_split_all_the_same() {
    let alike = vec![in_session(1, SessionSource::Prompt); 10_000];
    let counts = counts(&[("a", 90), ("b", 10)], &alike);
    assert!(are_near(&counts, &[9000, 1000]), "{counts:?}");
}

#[test]
fn a_rule_without_targets_is_none() {
    let rules = vec![rule(&[], &[]), rule(&["a"], &[])];
    assert_eq!(Rewrites::new(rules), Rewrites::default());
}

proptest! {
    #[test]
    fn a_target_is_always_one_of_the_rules_that_has_a_share(
        weights in proptest::collection::vec(prop_oneof![Just(0u32), any::<u32>()], 1..6),
        id: u64,
        seed: u64,
    ) {
        let targets = weights.iter().enumerate().map(|(index, &weight)| RewriteTarget {
            model: index.to_string().into(),
            weight,
        });
        let rule = RewriteRule { matches: Vec::new(), targets: targets.collect() };
        let rewrites = Rewrites::new(vec![rule]);
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        for request in [in_session(id, SessionSource::Header), named("m")] {
            let chosen: usize = rewrites.target(&request, &mut rng).unwrap().unwrap().parse().unwrap();
            prop_assert!(weights[chosen] > 0 || weights.iter().all(|&weight| weight == 0));
        }
    }
}
