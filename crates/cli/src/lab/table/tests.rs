use super::*;

fn estimate(mean: f64, margin: f64) -> Option<Estimate> {
    Some(Estimate {
        mean,
        margin: Some(margin),
    })
}

fn cell(value: Option<Estimate>, difference: Option<Estimate>) -> Cell {
    Cell { value, difference }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn figures_stand_under_their_measures_with_differences_below() {
    let rows = [
        Row {
            policy: "random".to_owned(),
            cells: vec![
                cell(estimate(343.24, 53.01), None),
                cell(estimate(25.0, 0.0), None),
                cell(None, None),
            ],
        },
        Row {
            policy: "round-robin".to_owned(),
            cells: vec![
                cell(estimate(274.18, 39.94), estimate(-69.06, 47.8)),
                cell(estimate(24.0, 0.0), estimate(-1.0, 0.0)),
                cell(estimate(0.0123, 0.0011), None),
            ],
        },
    ];
    let table = measures(&names(&["ttft_p95_ms", "steps", "wait_per_service"]), &rows);
    assert_eq!(
        table,
        "\
policy        ttft_p95_ms  steps      wait_per_
                                        service
─────────────────────────────────────────────────
random         343.2±53.0   25±0              –
round-robin    274.2±39.9   24±0  0.0123±0.0011
  difference   -69.1±47.8   -1±0              –"
    );
}

#[test]
fn what_is_too_wide_continues_in_a_table_below() {
    let all: Vec<String> = (0..15).map(|index| format!("measure_{index}")).collect();
    let row = Row {
        policy: "least-outstanding-first".to_owned(),
        cells: vec![cell(estimate(123.456, 7.8), None); 15],
    };
    let table = measures(&all, &[row]);
    assert!(
        table.lines().all(|line| line.chars().count() <= WIDTH_MAX),
        "{table}"
    );
    let parts: Vec<&str> = table.split("\n\n").collect();
    assert_eq!(parts.len(), 3, "{table}");
    assert!(
        parts
            .iter()
            .all(|part| part.contains("least-outstanding-first"))
    );
    assert_eq!(table.matches("123.5±7.8").count(), 15);
}

#[test]
fn words_that_do_not_fit_are_broken_at_spaces() {
    let long = "one and two ".repeat(20);
    let table = words(
        &["name", "what"],
        vec![vec!["a-name-without-spaces".to_owned(), long]],
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= WIDTH_MAX),
        "{table}"
    );
    assert_eq!(table.matches("two").count(), 20);
}

#[test]
fn a_number_has_the_digits_that_a_reader_can_use() {
    for (value, expected) in [
        (12345.6, "12346"),
        (123.45, "123.5"),
        (12.345, "12.35"),
        (1.2345, "1.234"),
        (0.05432, "0.0543"),
        (0.005432, "0.00543"),
        (0.0, "0"),
        (7.0, "7"),
    ] {
        assert_eq!(figure(value), expected);
    }
}

#[test]
fn a_long_name_is_broken_between_its_words() {
    assert_eq!(broken("ttft_p95_ms"), "ttft_p95_ms");
    assert_eq!(broken("output_tokens_per_ms"), "output_\ntokens_per_\nms");
    assert_eq!(broken("join.new.share"), "join.new.\nshare");
}
