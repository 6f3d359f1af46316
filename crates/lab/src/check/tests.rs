use std::collections::BTreeMap;

use super::*;

struct Seeds(BTreeMap<(&'static str, &'static str), Vec<Measures>>);

impl Measured for Seeds {
    fn of(&self, case: &str, policy: &str) -> &[Measures] {
        let found = self.0.iter().find(|((c, p), _)| *c == case && *p == policy);
        found.map_or(&[], |(_, seeds)| seeds)
    }
}

fn seeds() -> Seeds {
    let of = |values: &[f64]| {
        let one = |&value: &f64| Measures::from_iter([("wait_ms".to_owned(), value)]);
        values.iter().map(one).collect::<Vec<_>>()
    };
    Seeds(BTreeMap::from([
        (("all", "good"), of(&[1.0, 2.0, 6.0])),
        (("all", "bad"), of(&[5.0, 10.0, 5.5])),
    ]))
}

fn judge(text: &str) -> Option<bool> {
    let value = serde_yaml::from_str::<serde_json::Value>(text).unwrap();
    let check: Check = serde_json::from_value(value).unwrap();
    check.judge(&seeds()).map(|verdict| verdict.holds)
}

#[test]
fn a_band_holds_within_its_ends() {
    let band = |over: &str, rest: &str| {
        judge(&format!(
            "band: {{policy: good, measure: wait_ms, over_seeds: {over}, {rest}}}"
        ))
    };
    assert_eq!(band("mean", "from: 3, to: 3"), Some(true));
    assert_eq!(band("median", "from: 2, to: 2"), Some(true));
    assert_eq!(band("least", "to: 1"), Some(true));
    assert_eq!(band("most", "from: 6.1"), Some(false));
    assert_eq!(band("mean", "from: 1, to: 2.9"), Some(false));
}

#[test]
fn an_order_a_ratio_and_a_share_of_seeds_compare_policies() {
    let falling = "falling: {policies: [bad, good], measure: wait_ms, over_seeds: mean}";
    assert_eq!(judge(falling), Some(true));
    let rising = "falling: {policies: [good, bad], measure: wait_ms, over_seeds: mean}";
    assert_eq!(judge(rising), Some(false));
    let ratio = "ratio: {policy: bad, to_policy: good, measure: wait_ms, over_seeds: median, from: 2.75, to: 2.75}";
    assert_eq!(judge(ratio), Some(true));
    let share = |from: f64| {
        judge(&format!(
            "lower_in_share: {{policy: good, than: bad, measure: wait_ms, from: {from}}}"
        ))
    };
    assert_eq!(share(0.66), Some(true));
    assert_eq!(share(0.67), Some(false));
}

#[test]
fn what_was_not_run_or_not_measured_is_not_judged() {
    for text in [
        "band: {policy: none, measure: wait_ms, over_seeds: mean, to: 9}",
        "band: {policy: good, measure: other, over_seeds: mean, to: 9}",
        "lower_in_share: {policy: none, than: bad, measure: wait_ms, from: 0}",
    ] {
        assert_eq!(judge(text), None, "{text}");
    }
}

#[test]
fn a_seed_without_a_number_holds_nothing() {
    let one = |value: f64| Measures::from_iter([("wait_ms".to_owned(), value)]);
    let seeds = [one(1.0), one(f64::NAN), one(2.0)];
    for over in [
        OverSeeds::Mean,
        OverSeeds::Median,
        OverSeeds::Least,
        OverSeeds::Most,
    ] {
        assert!(over.of(&seeds, "wait_ms").unwrap().is_nan(), "{over:?}");
    }
}

#[test]
fn a_number_that_is_none_holds_nothing() {
    assert!(!Verdict::band("x", f64::NAN, None, None).holds);
}
