use clap::Parser as _;
use pointsman_lab::builtin;

use super::*;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn arguments(words: &[&str]) -> Arguments {
    let line = core::iter::once(&"run").chain(words);
    Line::try_parse_from(line).unwrap().arguments
}

/// What the command answers and writes.
pub(in super::super) fn output(words: &[&str]) -> (Result<()>, String) {
    let mut output = Vec::new();
    let result = run(&arguments(words), &mut output);
    (result, String::from_utf8(output).unwrap())
}

/// A file with this scenario.
fn file(text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.yaml");
    std::fs::write(&path, text).unwrap();
    let word = path.display().to_string();
    (folder, word)
}

#[test]
fn a_scenario_whose_checks_hold_is_no_error() {
    let (result, _) = output(&["s17", "s18"]);
    result.unwrap();
}

#[test]
fn a_check_that_does_not_hold_is_an_error_after_all_is_written() {
    let text = builtin::find("s18").unwrap().text;
    let text = text.replace("from: 25, to: 25", "from: 26, to: 27");
    let (_folder, word) = file(&text);
    let (result, text) = output(&[&word]);
    let error = result.unwrap_err();
    // Not a wrong command line, so the process ends with 1.
    assert!(!error.is::<clap::Error>());
    assert_eq!(error.to_string(), "a check does not hold");
    assert!(
        text.contains("FAILS       mean steps of random in static within 26 to 27: 25"),
        "{text}"
    );
    assert!(text.contains("8 checks hold, 1 fail"), "{text}");
}

#[test]
fn a_file_that_is_no_scenario_is_a_wrong_command_line() {
    let (_folder, word) = file("name: x\n");
    let (result, text) = output(&[&word]);
    let error = result.unwrap_err().downcast::<clap::Error>().unwrap();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("title"), "{error}");
    assert!(text.is_empty());
}

#[test]
fn numbers_out_of_range_are_refused() {
    for word in [
        "--seeds=0",
        "--seeds=100001",
        "--threads=0",
        "--first-seed=-1",
    ] {
        let Err(error) = Line::try_parse_from(["run", "s01", word]) else {
            panic!("{word} was taken");
        };
        assert_eq!(error.exit_code(), 2);
    }
}

#[test]
fn a_violation_tells_where_it_was_and_the_command_that_repeats_it() {
    let chosen = Chosen::new("s04").unwrap();
    let arguments = arguments(&["s04", "--case", "every-10-ms", "--seeds", "40"]);
    let plan = Plan::new(&chosen, &arguments).unwrap();
    let jobs: Vec<Job<'_>> = plan.rows().flat_map(|row| plan.jobs(row)).collect();
    let failure = Failure {
        job: 40 + 16,
        what: "after 12 moments, at 5 ns: picker 1 knows 3 requests, 2 are open".to_owned(),
    };
    let error = plan.error(&jobs, &failure);
    assert!(!error.is::<clap::Error>());
    assert_eq!(
        error.to_string(),
        "scenario s04, case every-10-ms, policy least-dispatched, seed 17: after 12 moments, at 5 ns: \
         picker 1 knows 3 requests, 2 are open\n  \
         again: pointsman lab run s04 --case every-10-ms --policy least-dispatched --seeds 1 \
         --first-seed 17"
    );
}

#[test]
fn only_the_cases_that_were_asked_for_are_run() {
    let (_, text) = output(&["s18", "s17", "--case", "chunked"]);
    assert!(text.contains("\ncase chunked"), "{text}");
    assert!(!text.contains("\ncase static"), "{text}");
    // A scenario without such a case is left out.
    assert!(!text.contains("s17:"), "{text}");
}

#[test]
fn seeds_go_on_where_numbers_end() {
    let chosen = Chosen::new("s18").unwrap();
    let arguments = arguments(&[
        "s18",
        "--seeds",
        "2",
        "--first-seed",
        "18446744073709551615",
    ]);
    let plan = Plan::new(&chosen, &arguments).unwrap();
    let row = plan.rows().next().unwrap();
    let seeds: Vec<u64> = plan.jobs(row).map(|job| job.seed).collect();
    assert_eq!(seeds, [u64::MAX, 0]);
}
