use pointsman_domain::block::BlockSize;
use pointsman_domain::endpoint::EndpointSpec;
use pointsman_domain::facts::{RequestFacts, RequestId};
use pointsman_domain::time::Timestamp;
use pointsman_pipeline::config::Attachment;
use pointsman_pipeline::pool::{Detail, Input, Pool};
use pointsman_pipeline::record::{Configuration, End, Entry, FORMAT, Header, Line, Step};
use pointsman_policy::config;
use serde_json::Value;
use tempfile::NamedTempFile;

use super::*;

/// The recording of a pool that gets two endpoints and a request.
fn recording() -> String {
    let compiled = config::load("", Attachment::Gateway).unwrap();
    let mut pool = Pool::new(compiled.runtime, 7);
    let endpoint = |number: u8| {
        EndpointSpec::new(format!("default/{number}"), ([10, 0, 0, number], 80).into())
    };
    let offer = Input::Offer {
        id: RequestId(1),
        facts: Box::new(RequestFacts::passthrough(BlockSize::DEFAULT)),
        detail: Detail::Brief,
    };
    let inputs = [Input::Endpoints(vec![endpoint(1), endpoint(2)]), offer];
    let mut lines = vec![Line::Header(Header {
        format: FORMAT,
        version: "1.2.3".to_owned(),
        pool: "default".to_owned(),
        seed: 7,
        configuration: Configuration::new(String::new(), Attachment::Gateway),
    })];
    for (sequence, input) in inputs.into_iter().enumerate() {
        let now = Timestamp::from_millis(1500 * sequence as u64);
        let mut outputs = Vec::new();
        pool.input(now, input.clone(), &mut outputs);
        lines.push(Line::Entry(Entry {
            sequence: sequence as u64,
            now,
            step: Step::Input(input),
            outputs,
        }));
    }
    let (entries, reason) = (2, EndReason::Complete);
    lines.push(Line::End(End { entries, reason }));
    let mut bytes = Vec::new();
    lines
        .iter()
        .for_each(|line| line.write(&mut bytes).unwrap());
    String::from_utf8(bytes).unwrap()
}

/// What is printed for a recording of this text, and what came of it.
fn replay(text: &str, words: &[&str]) -> (String, Result<()>) {
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: ReplayArguments,
    }

    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let words = ["replay"].into_iter().chain(words.iter().copied());
    let line = words.chain([file.path().to_str().unwrap()]);
    let arguments = Line::try_parse_from(line).unwrap().arguments;
    let mut output = Vec::new();
    let result = run(&arguments, &mut output);
    (String::from_utf8(output).unwrap(), result)
}

fn json(text: &str, words: &[&str]) -> Value {
    let words = [words, &["--json"]].concat();
    serde_json::from_str(&replay(text, &words).0).unwrap()
}

#[test]
fn a_recording_of_this_program_is_identical() {
    let (printed, result) = replay(&recording(), &["--verify"]);
    result.unwrap();
    for word in ["identical", "complete", "1.2.3", "default/", "offer"] {
        assert!(printed.contains(word), "{word}:\n{printed}");
    }
    let report = json(&recording(), &["--verify"]);
    assert_eq!(report["verdict"], "identical");
    assert_eq!(
        (&report["entries"], &report["decisions"]),
        (&2.into(), &1.into())
    );
    assert_eq!(report["seconds"], 1.5);
    assert_eq!(report["steps"]["offer"], 1);
    assert_eq!(report["picks"][0]["picks"], 1);
    assert_eq!(report["problem"], Value::Null);
}

#[test]
fn a_changed_answer_is_an_error_that_names_the_line() {
    let text = recording();
    let changed = text.replacen("\"picked\":{\"request\":1", "\"picked\":{\"request\":2", 1);
    assert_ne!(text, changed);
    let (printed, result) = replay(&changed, &["--verify"]);
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("line 3, entry 1 (offer), output 2"),
        "{error}"
    );
    assert!(printed.contains("different"), "{printed}");
    let report = json(&changed, &["--verify"]);
    assert_eq!(report["verdict"], "different");
    assert_eq!(report["difference"]["line"], 3);
    assert_eq!(report["difference"]["step"], "offer");
    // Without a demand there is nothing to be different from.
    assert_eq!(json(&changed, &[])["verdict"], "not_verified");
}

#[test]
fn what_cannot_be_read_is_an_error_with_its_line_and_its_file() {
    let text = recording();
    let broken = text.replacen("{\"entry\"", "{\"entri\"", 1);
    let (printed, result) = replay(&broken, &[]);
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("line 2: not a line of a recording"),
        "{error}"
    );
    assert!(printed.contains("unreadable"), "{printed}");
    assert_eq!(json("", &[])["verdict"], "unreadable");

    let arguments = ReplayArguments {
        file: PathBuf::from("no-such-recording.jsonl"),
        verify: false,
        json: false,
    };
    let error = run(&arguments, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains("no-such-recording.jsonl"), "{error}");
}

#[test]
fn a_line_that_never_ends_is_not_read_to_its_end() {
    let mut endless = BufReader::new(io::repeat(b'x'));
    let mut line = Vec::new();
    assert!(next_line(&mut endless, &mut line).unwrap());
    assert_eq!(line.len(), LINE_BYTES_MAX + 2);
    let (_, stop) = read(endless, Goal::Verify, &Progress::start(0, TEMPLATE)).unwrap();
    let error = stop.unwrap().to_string();
    assert!(error.starts_with("line 1: it has"), "{error}");
}

#[test]
fn a_recording_that_ended_early_says_so() {
    let text = recording().replace("complete", "queue_full");
    let report = json(&text, &["--verify"]);
    assert_eq!(
        (&report["verdict"], &report["end"]),
        (&"identical".into(), &"queue_full".into())
    );
}

#[test]
fn a_recording_without_its_end_is_identical_as_far_as_it_goes() {
    let text = recording();
    let (start, _) = text.split_at(text.rfind("{\"end\"").unwrap());
    for text in [start, &start[..start.len() - 40]] {
        let report = json(text, &["--verify"]);
        assert_eq!(report["verdict"], "identical_as_far_as_it_goes");
        assert_eq!(report["end"], "missing");
        let (printed, result) = replay(text, &["--verify"]);
        result.unwrap();
        assert!(printed.contains("identical as far as it goes"), "{printed}");
    }
}

#[test]
fn a_recording_without_entries_proves_nothing_and_is_an_error() {
    let text = recording();
    let header = text.split_inclusive('\n').next().unwrap();
    let ended = format!("{header}{{\"end\":{{\"entries\":0,\"reason\":\"complete\"}}}}\n");
    for text in [header, &ended] {
        let (printed, result) = replay(text, &["--verify"]);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("nothing was compared"), "{error}");
        assert!(printed.contains("identical as far as it goes"), "{printed}");
        replay(text, &[]).1.unwrap();
    }
}

#[test]
fn what_follows_the_last_line_and_begins_none_is_an_error() {
    let text = recording();
    let header = text.split_inclusive('\n').next().unwrap();
    let appended = format!("{header}this is not json at all");
    let (printed, result) = replay(&appended, &["--verify"]);
    let error = result.unwrap_err().to_string();
    assert!(error.contains("line 2: not a line"), "{error}");
    assert!(printed.contains("unreadable"), "{printed}");
}

#[test]
fn a_seed_that_no_float_holds_is_printed_digit_by_digit() {
    let seed = u64::MAX - 1;
    let text = recording().replacen("\"seed\":7,", &format!("\"seed\":{seed},"), 1);
    assert_eq!(json(&text, &[])["seed"], seed.to_string());
}
