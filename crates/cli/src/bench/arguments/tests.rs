use core::time::Duration;

use clap::Parser;

use super::*;
use crate::bench::cell::{Cell, Load, cells};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn parse(words: &[&str]) -> Result<Comparison, clap::Error> {
    let line = Line::try_parse_from(["bench"].iter().chain(words))?;
    assert!(line.arguments.command.is_none(), "{words:?}");
    line.arguments.comparison.check()?;
    Ok(line.arguments.comparison)
}

fn refusal(words: &[&str]) -> String {
    let error = parse(words).map(|_| words).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{words:?}");
    error.to_string()
}

fn elsewhere(name: &str, address: &str, pid: Option<u32>) -> Subject {
    Subject {
        name: name.to_owned(),
        place: Place::Elsewhere {
            address: address.to_owned(),
            pid,
        },
    }
}

#[test]
fn without_arguments_our_picker_is_measured_alone_at_three_sizes() {
    let comparison = parse(&[]).unwrap();
    let subjects = comparison.subjects();
    assert_eq!(subjects.len(), 1);
    assert_eq!(subjects[0].place, Place::Picker);
    let titles: Vec<String> = cells(&comparison).iter().map(Cell::to_string).collect();
    assert_eq!(
        titles,
        [
            "duplex, 1k, 4 events, 32 streams",
            "duplex, 16k, 4 events, 32 streams",
            "duplex, 128k, 4 events, 32 streams",
        ]
    );
}

#[test]
fn every_combination_of_listed_values_is_a_cell() {
    let comparison = parse(&[
        "--prompt-bytes=1k,3000",
        "--events=0,1000",
        "--body-mode=duplex,headers-only",
        "--rate=10,0.5",
        "--gap-ms=2",
    ])
    .unwrap();
    let cells = cells(&comparison);
    assert_eq!(cells.len(), 16);
    assert_eq!(
        cells[15],
        Cell {
            mode: BodyMode::HeadersOnly,
            prompt_bytes: 3000,
            events: 1000,
            gap: Duration::from_millis(2),
            load: Load::Open { rate: 0.5 },
        }
    );
    assert_eq!(
        cells[15].to_string(),
        "headers-only, 3000, 1000 events 2 ms apart, 0.5 per s"
    );
}

#[test]
fn pickers_are_named_in_the_order_of_the_report() {
    let comparison = parse(&[
        "--target=127.0.0.1:9002",
        "--pid=7",
        "--against=floor",
        "--against=peer=[::1]:9002@4711",
        "--against=pointsman-epp",
    ])
    .unwrap();
    let subjects = comparison.subjects();
    assert_eq!(
        subjects[0],
        elsewhere("127.0.0.1:9002", "127.0.0.1:9002", Some(7))
    );
    assert_eq!(subjects[1].place, Place::Floor);
    assert_eq!(subjects[2], elsewhere("peer", "[::1]:9002", Some(4711)));
    assert_eq!(subjects[3].place, Place::Picker);
}

#[test]
fn sizes_are_read_with_and_without_a_unit() {
    for (text, expected) in [("256", 256), ("1k", 1024), ("2K", 2048), ("32M", 32 << 20)] {
        assert_eq!(bytes(text), Ok(expected), "{text}");
    }
    for text in [
        "255",
        "33M",
        "k",
        "",
        "-1",
        "1.5k",
        "99999999999999999999M",
        "ü",
    ] {
        assert!(bytes(text).is_err(), "{text}");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_starts() {
    for (words, expected) in [
        (&["--target=nowhere"][..], "HOST:PORT"),
        (&["--target=:9002"], "HOST:PORT"),
        (&["--target=host:0"], "HOST:PORT"),
        (&["--against=peer=host:1@x"], "HOST:PORT"),
        (&["--against==host:1"], "HOST:PORT"),
        (&["--against=floor", "--against=floor"], "two pickers"),
        (&["--pid=1"], "--pid needs"),
        (
            &["--against=floor", "--body-mode=streamed"],
            "the floor waits",
        ),
        (
            &["--target=floor", "--body-mode=duplex,buffered"],
            "the floor waits",
        ),
        (&["--target=10.0.0.5:9002", "--pid=7"], "of this machine"),
        (&["--against=peer=host:9002@7"], "of this machine"),
        (&["--target=floor", "--tls"], "--tls needs"),
        (&["--target=host:9002", "--pods=4"], "--pods needs"),
        (&["--prompt-bytes=32M", "--prompts=64"], "1 GiB"),
        (&["--rate=1", "--streams=1"], "--streams"),
        (&["--rate=0"], "0.01"),
        (&["--rounds=0"], "rounds"),
        (&["--body-mode=half"], "half"),
        (&["floor", "--json"], "--json"),
    ] {
        let text = refusal(words);
        assert!(text.contains(expected), "{words:?}: {text}");
    }
}

#[test]
fn the_floor_is_served_by_a_command_of_its_own() {
    let words = [
        "bench",
        "floor",
        "--listen=127.0.0.1:1",
        "--destinations=a:1,b:2",
    ];
    let line = Line::try_parse_from(words).unwrap();
    let Some(Command::Floor(floor)) = line.arguments.command else {
        panic!("not the floor");
    };
    assert_eq!(floor.listen.port(), 1);
    assert_eq!(floor.destinations, ["a:1", "b:2"]);
}

#[test]
fn pods_and_tls_are_only_told_where_they_are_used() {
    let comparison = parse(&["--tls", "--against=floor", "--against=localhost:9002@7"]).unwrap();
    assert_eq!(comparison.tls_to(), ["pointsman-epp", "localhost:9002"]);
    assert_eq!(comparison.pods(), Some(8));
    let comparison = parse(&["--target=host:9002"]).unwrap();
    assert!(comparison.tls_to().is_empty());
    assert_eq!(comparison.pods(), None);
}
