use clap::Parser as _;

use super::*;

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn output(words: &[&str]) -> Result<String> {
    let line = core::iter::once(&"explain").chain(words);
    let arguments = Line::try_parse_from(line).unwrap().arguments;
    let mut output = Vec::new();
    run(&arguments, &mut output)?;
    Ok(String::from_utf8(output).unwrap())
}

#[test]
fn a_request_is_told_from_its_coming_to_its_end() {
    // The second request of the affinity player goes to the holder of its prefix.
    let words = ["s17", "--request", "1", "--policy", "prefix-only-first"];
    let text = output(&words).unwrap();
    for expected in [
        "s17, case all, policy prefix-only-first, seed 1: request 1\n",
        "4220 prompt tokens, of which others may share the first 4000, 10000 output tokens",
        "came at 10.000 ms, picked for at 10.000 ms, went to endpoint 0 of group all",
        "10.0.0.0:8000 *",
        "the engine began at 10.000 ms with 4000 tokens in its cache",
        "first token at 11.000 ms, 1 ms after it came",
        "open when the run ended\n",
    ] {
        assert!(text.contains(expected), "{expected}\nin\n{text}");
    }
    assert_eq!(text.matches(":8000").count(), 3, "{text}");
}

#[test]
fn every_candidate_is_told_with_what_each_scorer_gave_it() {
    let words = ["s02", "--request", "200", "--policy", "llm-d", "--json"];
    let answer: Value = serde_json::from_str(&output(&words).unwrap()).unwrap();
    assert_eq!(answer["ending"], "complete");
    assert_eq!(answer["group"], "warm");
    let picked = &answer["picked"];
    let scores = picked["scores"].as_array().unwrap();
    assert_eq!(scores.len(), 4);
    assert_eq!(picked["endpoint"], scores[0]["endpoint"]);
    for candidate in scores {
        let parts = candidate["parts"].as_array().unwrap();
        assert_eq!(parts.len(), 3);
        let sum: f64 = parts
            .iter()
            .map(|part| part["score"].as_f64().unwrap() * part["weight"].as_f64().unwrap())
            .sum();
        assert!((candidate["total"].as_f64().unwrap() - sum).abs() < 1e-9);
    }
}

#[test]
fn a_request_that_does_not_exist_is_a_wrong_command_line() {
    let error = output(&["s17", "--request", "12"]).unwrap_err();
    assert!(
        error
            .downcast::<clap::Error>()
            .unwrap()
            .to_string()
            .contains("no request 12")
    );
    let error = output(&["s17", "--request", "1", "--case", "none"]).unwrap_err();
    assert!(
        error
            .downcast::<clap::Error>()
            .unwrap()
            .to_string()
            .contains("s17 has all")
    );
}
