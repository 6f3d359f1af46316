mod values;

use pointsman_admission::hold::HoldLimits;
use pointsman_domain::block::BlockSize;
use pointsman_schedule::picker::Picker;
use pointsman_schedule::profile::Profile;
use proptest::prelude::*;

use super::*;
use crate::config::{PrefixSource, RuntimeConfig};
use crate::record::reader::{Fault, Reader};

fn text_of(line: &Line) -> Vec<u8> {
    let mut bytes = Vec::new();
    line.write(&mut bytes).unwrap();
    bytes
}

fn header() -> Line {
    Line::Header(Header {
        format: FORMAT,
        version: "1.2.3".into(),
        pool: "default".into(),
        seed: u64::MAX,
        configuration: Configuration::new("kind: X\n".into(), Attachment::Gateway)
            .with_rewrites("kind: Z\n".into()),
    })
}

fn entry(sequence: u64) -> Line {
    Line::Entry(Entry {
        sequence,
        now: Timestamp::from_nanos(sequence),
        step: Step::Input(Input::Expire),
        outputs: Vec::new(),
    })
}

fn end(entries: u64) -> Line {
    let reason = EndReason::Complete;
    Line::End(End { entries, reason })
}

/// The error of a recording that cannot be read to its end.
fn refused(lines: &[&[u8]]) -> String {
    let mut reader = Reader::default();
    for line in lines {
        if let Err(error) = reader.read(line) {
            return error.to_string();
        }
    }
    reader.finish().unwrap_err().to_string()
}

#[test]
fn a_recording_is_read_to_its_end_also_where_the_end_is_missing() {
    let mut reader = Reader::default();
    for line in [header(), entry(0), entry(1), end(2)] {
        assert_eq!(reader.read(&text_of(&line)).unwrap(), line);
    }
    assert_eq!(reader.line(), 4);
    reader.finish().unwrap();

    let mut killed = Reader::default();
    killed.read(&text_of(&header())).unwrap();
    killed.read(&text_of(&entry(0))).unwrap();
    killed.finish().unwrap();
}

#[test]
fn a_line_out_of_its_place_is_named_with_its_number() {
    let [header, first, second, third] =
        [header(), entry(0), entry(1), entry(2)].map(|l| text_of(&l));
    let end = text_of(&end(1));
    for (lines, expected) in [
        (&[][..], "line 1: a recording must begin with a header"),
        (
            &[&first[..]],
            "line 1: a recording must begin with a header",
        ),
        (&[&header, &header], "line 2: there is a second header"),
        (
            &[&header, &first, &third],
            "line 3: entry 2 stands where entry 1 must be",
        ),
        (
            &[&header, &first, &first],
            "line 3: entry 0 stands where entry 1 must be",
        ),
        (
            &[&header, &first, &second, &end],
            "line 4: the end tells of 1 entries, and there are 2",
        ),
        (
            &[&header, &first, &end, &second],
            "line 4: something follows the end of the recording",
        ),
    ] {
        assert_eq!(refused(lines), expected);
    }
}

#[test]
fn a_line_that_is_none_is_named_with_what_does_not_fit() {
    let header = text_of(&header());
    for (line, expected) in [
        ("", "EOF while parsing a value at column 0"),
        (
            "{\"entry\":{\"sequence\":0,\"no",
            "EOF while parsing a string",
        ),
        ("{\"entry\":7}", "expected struct Entry"),
        (
            "{\"entry\":{\"sequence\":0,\"colour\":1}}",
            "unknown field `colour`",
        ),
        ("{\"step\":{}}", "unknown variant `step`"),
        ("\u{0}", "expected value at column 1"),
    ] {
        let error = refused(&[&header, line.as_bytes()]);
        assert!(
            error.starts_with("line 2: not a line of a recording: "),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    }
    let long = vec![b' '; LINE_BYTES_MAX + 2];
    assert!(refused(&[&header, &long]).starts_with("line 2: it has 16777218 bytes"));
}

#[test]
fn another_format_is_told_as_that_whatever_else_the_header_holds() {
    for line in [
        r#"{"header":{"format":4,"colour":"green"}}"#.to_owned(),
        String::from_utf8(text_of(&header()))
            .unwrap()
            .replace("\"format\":3", "\"format\":4"),
    ] {
        assert_eq!(
            refused(&[line.as_bytes()]),
            "line 1: the recording has format 4, and this program reads format 3"
        );
    }
}

#[test]
fn a_changed_configuration_is_noticed_by_its_hash() {
    let text = String::from_utf8(text_of(&header())).unwrap();
    for written in ["kind: X", "kind: Z"] {
        let changed = text.replace(written, "kind: Y");
        assert_ne!(text, changed);
        let error = Reader::default().read(changed.as_bytes()).unwrap_err();
        assert!(
            matches!(error.fault, Fault::ConfigurationChanged),
            "{error}"
        );
    }
}

#[test]
fn what_has_no_form_in_a_recording_is_an_error_that_leaves_the_bytes_as_they_were() {
    let config = RuntimeConfig {
        profile: Profile {
            scorers: Vec::new(),
            picker: Picker::Random,
        },
        destinations_max: 1,
        block_size: BlockSize::DEFAULT,
        prefix_source: PrefixSource::Predicted,
        prefix_bytes_max: 0,
        hold: HoldLimits::OFF,
        rewrites: Default::default(),
        prefill_rate: Default::default(),
    };
    let entry = Entry {
        sequence: 0,
        now: Timestamp::ZERO,
        step: Step::Input(Input::Configure(Box::new(config))),
        outputs: Vec::new(),
    };
    let mut bytes = b"before\n".to_vec();
    let error = Line::Entry(entry).write(&mut bytes).unwrap_err();
    assert!(matches!(error, WriteError::Form(_)), "{error}");

    let text = "x".repeat(LINE_BYTES_MAX);
    let configuration = Configuration::new(text, Attachment::Standalone);
    let long = Line::Entry(Entry {
        sequence: 0,
        now: Timestamp::ZERO,
        step: Step::Configure(configuration),
        outputs: Vec::new(),
    });
    assert!(matches!(
        long.write(&mut bytes),
        Err(WriteError::TooLong(_))
    ));
    assert_eq!(bytes, b"before\n");
}

/// A recording of this format with each step, output and event in it. If this fails, the form of the
/// lines has changed: older recordings cannot be read any more, and [`FORMAT`] must grow.
#[test]
fn the_form_of_every_line_is_the_one_that_was_agreed() {
    let sample = include_str!("tests/format_3.jsonl");
    let mut reader = Reader::default();
    let mut kinds = std::collections::BTreeSet::new();
    for text in sample.split_inclusive('\n') {
        let line = reader.read(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(text_of(&line)).unwrap(), text);
        if let Line::Entry(entry) = line {
            kinds.insert(entry.step.kind());
        }
    }
    reader.finish().unwrap();
    assert_eq!(kinds.len(), KINDS, "{kinds:?}");
}

/// Steps of different kinds.
const KINDS: usize = 16;

proptest! {
    #[test]
    fn every_line_comes_back_as_it_was_written(line in values::line()) {
        let text = text_of(&line);
        prop_assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 1);
        let back: Line = serde_json::from_slice(&text).unwrap();
        // Compared as text too, since NaN is not equal to itself.
        prop_assert_eq!(format!("{:?}", &back), format!("{:?}", &line));
        prop_assert_eq!(text_of(&back), text);
    }

    #[test]
    fn a_line_is_unfinished_wherever_it_is_cut(entry in values::entry()) {
        let text = text_of(&Line::Entry(entry));
        for cut in 1..text.len() - 1 {
            let error = Reader::default().read(&text[..cut]).unwrap_err();
            prop_assert!(matches!(error.fault, Fault::Unfinished { .. }), "{} at {}", error, cut);
        }
    }

    #[test]
    fn any_bytes_are_a_line_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let error = Reader::default().read(&bytes);
        prop_assert!(error.is_err());
    }

    #[test]
    fn a_line_with_one_byte_changed_is_read_or_refused_without_a_panic(
        entry in values::entry(),
        place: prop::sample::Index,
        byte: u8,
    ) {
        let mut text = text_of(&Line::Entry(entry));
        *place.get_mut(&mut text) = byte;
        let mut reader = Reader::default();
        reader.read(&text_of(&header())).unwrap();
        let _either = reader.read(&text);
    }
}
