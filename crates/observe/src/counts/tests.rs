use super::*;

fn counts(pairs: &[(Count, u64)]) -> Counts {
    let mut counts = Counts::NONE;
    for (count, number) in pairs {
        counts.set(*count, *number);
    }
    counts
}

fn chat(pairs: &[(Count, u64)]) -> Option<(u64, u64, Option<u64>, Option<u64>)> {
    usage(pairs, Dialect::ChatCompletions)
}

fn usage(pairs: &[(Count, u64)], dialect: Dialect) -> Option<(u64, u64, Option<u64>, Option<u64>)> {
    let usage = counts(pairs).usage(dialect)?;
    let number = |tokens: Tokens| tokens.0;
    Some((
        usage.prompt.0,
        usage.output.0,
        usage.cached.map(number),
        usage.reasoning.map(number),
    ))
}

#[test]
fn both_spellings_of_the_counts_make_a_usage() {
    use Count::{Cached, Completion, Input, Output, Prompt, Reasoning, Total};
    assert_eq!(
        chat(&[(Prompt, 7), (Completion, 10), (Total, 17)]),
        Some((7, 10, None, None))
    );
    assert_eq!(
        chat(&[(Input, 7), (Output, 10), (Cached, 4), (Reasoning, 3)]),
        Some((7, 10, Some(4), Some(3)))
    );
    assert_eq!(
        chat(&[(Prompt, 7), (Input, 8), (Completion, 10), (Output, 11)]),
        Some((7, 10, None, None))
    );
}

#[test]
fn a_usage_needs_both_counts_unless_the_dialect_has_no_answers() {
    use Count::{Completion, Prompt, Total};
    assert_eq!(chat(&[(Prompt, 7), (Total, 7)]), None);
    assert_eq!(chat(&[(Completion, 7), (Total, 7)]), None);
    for dialect in [Dialect::Embeddings, Dialect::ByModel, Dialect::GrpcEmbed] {
        let only_prompt = Some((7, 0, None, None));
        assert_eq!(usage(&[(Prompt, 7), (Total, 7)], dialect), only_prompt);
        assert_eq!(usage(&[(Total, 7)], dialect), only_prompt);
        assert_eq!(usage(&[(Completion, 7)], dialect), None);
    }
}

#[test]
fn in_anthropics_form_the_prompt_is_what_is_in_no_cache_and_what_is() {
    use Count::{CacheCreation, CacheRead, Input, Output, Prompt};
    assert_eq!(
        chat(&[
            (Input, 3),
            (CacheRead, 100),
            (CacheCreation, 20),
            (Output, 5)
        ]),
        Some((123, 5, Some(100), None))
    );
    assert_eq!(
        chat(&[(Input, 3), (CacheRead, 0), (CacheCreation, 0), (Output, 5)]),
        Some((3, 5, Some(0), None))
    );
    // Where the whole prompt is counted, it is not added to.
    assert_eq!(
        chat(&[(Prompt, 120), (Input, 3), (CacheRead, 100), (Output, 5)]),
        Some((120, 5, Some(100), None))
    );
}

#[test]
fn a_share_that_is_more_than_the_whole_is_not_believed() {
    use Count::{Cached, Completion, Prompt, Reasoning};
    assert_eq!(
        chat(&[(Prompt, 7), (Completion, 10), (Cached, 8), (Reasoning, 11)]),
        Some((7, 10, None, None))
    );
    assert_eq!(
        chat(&[(Prompt, 7), (Completion, 10), (Cached, 7), (Reasoning, 10)]),
        Some((7, 10, Some(7), Some(10)))
    );
}

#[test]
fn a_count_that_no_request_has_is_not_believed() {
    use Count::{CacheRead, Cached, Completion, Input, Output, Prompt};
    let most = TOKENS_MAX;
    assert_eq!(
        chat(&[(Prompt, most), (Completion, most), (Cached, most)]),
        Some((most, most, Some(most), None))
    );
    for wrong in [most + 1, u64::MAX] {
        assert_eq!(chat(&[(Prompt, wrong), (Completion, 1)]), None);
        assert_eq!(chat(&[(Prompt, 1), (Completion, wrong)]), None);
        assert_eq!(
            chat(&[(Prompt, 1), (Completion, 1), (Cached, wrong)]),
            Some((1, 1, None, None))
        );
    }
    assert_eq!(chat(&[(Input, most), (CacheRead, 1), (Output, 1)]), None);
}

#[test]
fn b36_only_whole_numbers_are_counts() {
    for wrong in [
        "",
        "-3",
        "7.5",
        "7.0",
        "1e400",
        "1e1",
        "12x",
        "99999999999999999999999999",
    ] {
        let mut counts = Counts::NONE;
        counts.read(Count::Prompt, wrong.as_bytes());
        assert_eq!(counts, Counts::NONE, "{wrong}");
    }
    let mut counts = Counts::NONE;
    counts.read(Count::Prompt, b"12");
    counts.read(Count::Prompt, b"-3");
    assert_eq!(counts.of(Count::Prompt), Some(12));
}

#[test]
fn a_later_report_takes_the_place_of_what_it_tells_again() {
    use Count::{CacheRead, Input, Output};
    let mut sum = counts(&[(Input, 25), (CacheRead, 4), (Output, 1)]);
    sum.update(counts(&[(Output, 15)]));
    assert_eq!(sum, counts(&[(Input, 25), (CacheRead, 4), (Output, 15)]));
    sum.update(Counts::NONE);
    assert_eq!(sum, counts(&[(Input, 25), (CacheRead, 4), (Output, 15)]));
}

#[test]
fn the_counts_of_several_answers_add_up() {
    use Count::{Cached, Completion, Prompt};
    let mut sum = Counts::NONE;
    sum.add(counts(&[(Prompt, 7), (Completion, 10)]));
    sum.add(counts(&[(Prompt, 1), (Completion, 2), (Cached, 1)]));
    assert_eq!(sum, counts(&[(Prompt, 8), (Completion, 12), (Cached, 1)]));
    for _ in 0..70 {
        sum.add(sum);
    }
    assert_eq!(sum.usage(Dialect::SglangGenerate), None);
}
