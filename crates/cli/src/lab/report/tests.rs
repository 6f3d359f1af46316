use super::super::run::tests::output;
use super::*;

#[test]
fn a_run_is_told_in_tables_checks_and_the_command_to_repeat_it() {
    let (result, text) = output(&["s17", "--case", "all"]);
    result.unwrap();
    for expected in [
        "s17: Affinity player of the founding article (section 6.1), exactly\n\ncase all, seed 1\n",
        "\nprefix-only-first               9     11180          8\n",
        "\n  holds       mean hits of prefix-only-first within 9 to 9: 9.0000\n",
        "\n9 checks hold, 0 fail, 0 were not judged\n36 simulated requests in ",
        "\nagain: pointsman lab run s17 --case all\n",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
}

#[test]
fn policies_are_compared_with_the_first_one_seed_by_seed() {
    let (_, text) = output(&[
        "s02",
        "--seeds",
        "3",
        "--policy",
        "random",
        "--policy",
        "round-robin",
    ]);
    assert!(
        text.contains(
            "3 seeds from 1: means with 95 % intervals; differences to random, seed by seed"
        ),
        "{text}"
    );
    assert_eq!(text.matches("\n  difference").count(), 1, "{text}");
    assert!(
        text.contains("not judged  checks[0]: 3 of the 40 seeds"),
        "{text}"
    );
}

#[test]
fn outcomes_are_counted_each_on_its_own() {
    let judged = |outcome| Judged {
        demand: String::new(),
        found: String::new(),
        outcome,
    };
    let judged = [
        judged(Outcome::Holds),
        judged(Outcome::Fails),
        judged(Outcome::Fails),
        judged(Outcome::NotJudged),
    ];
    let work = Work {
        requests: 3_000_000,
        seconds: 45.0,
        threads: 2,
        requests_per_minute_per_thread: 2_000_000.0,
    };
    assert_eq!(
        end(&judged, &work, "pointsman lab run s01"),
        "1 checks hold, 2 fail, 1 were not judged\n\
         3000000 simulated requests in 45.0 s on 2 threads: 2.00 million a minute on each\n\
         again: pointsman lab run s01\n"
    );
}
