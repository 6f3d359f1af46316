use super::*;

fn values<const N: usize>(counts: [(&str, u64); N]) -> Values {
    Values(counts.map(|(name, count)| (name.to_owned(), count)).into())
}

/// The faults and hints of one function.
fn compared(stored: u64, now: u64) -> (Vec<String>, Vec<String>) {
    let (stored, now) = (values([("a/one", stored)]), values([("a/one", now)]));
    let comparison = Comparison::of(&stored, &now);
    (comparison.faults(), comparison.hints())
}

#[test]
fn a_count_that_rises_by_up_to_five_percent_passes() {
    for now in [100_000, 104_900, 105_000] {
        assert_eq!(compared(100_000, now), (vec![], vec![]), "{now}");
    }
}

#[test]
fn a_count_that_rises_by_more_than_five_percent_fails_and_tells_both_counts() {
    assert!(!compared(100_000, 105_001).0.is_empty());
    let (faults, hints) = compared(100_000, 105_100);
    assert_eq!(
        faults,
        [
            "a/one takes 105100 instructions, which is +5.10 % and so more than 5 % above the \
             stored 100000"
        ]
    );
    assert_eq!(hints, [""; 0]);
}

#[test]
fn a_count_that_falls_by_more_than_five_percent_passes_with_a_hint() {
    assert_eq!(compared(100_000, 95_000), (vec![], vec![]));
    let (faults, hints) = compared(100_000, 94_900);
    assert_eq!(faults, [""; 0]);
    assert_eq!(
        hints,
        ["a/one takes 94900 instructions, which is -5.10 %, and could rise again unseen"]
    );
}

#[test]
fn a_count_of_zero_or_of_any_size_can_be_compared() {
    assert_eq!(compared(0, 0), (vec![], vec![]));
    assert!(!compared(0, 1).0.is_empty());
    assert!(!compared(u64::MAX / 2, u64::MAX).0.is_empty());
    assert!(!compared(u64::MAX, 0).1.is_empty());
}

#[test]
fn a_function_without_a_stored_count_fails() {
    let (stored, now) = (values([("a/one", 1)]), values([("a/one", 1), ("b/two", 2)]));
    let faults = Comparison::of(&stored, &now).faults();
    assert_eq!(faults, ["b/two has no stored count"]);
}

#[test]
fn a_stored_count_without_a_function_fails() {
    let (stored, now) = (values([("a/one", 1), ("b/two", 2)]), values([("a/one", 1)]));
    let faults = Comparison::of(&stored, &now).faults();
    assert_eq!(faults, ["b/two is stored and was not counted"]);
}

#[test]
fn nothing_counted_fails_for_all_that_is_stored() {
    let (stored, now) = (values([("a/one", 1), ("b/two", 2)]), values([]));
    assert_eq!(Comparison::of(&stored, &now).faults().len(), 2);
}

#[test]
fn the_table_shows_every_function_with_its_change() {
    let stored = values([("a/one", 2000), ("b/gone", 7)]);
    let now = values([("a/one", 2050), ("c/new", 1_234_567)]);
    let table = Comparison::of(&stored, &now).to_string();
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines,
        [
            vec!["instructions", "of", "stored", "now", "change"],
            vec!["a/one", "2000", "2050", "+2.50", "%"],
            vec!["b/gone", "7", "none"],
            vec!["c/new", "none", "1234567"],
        ]
    );
}
