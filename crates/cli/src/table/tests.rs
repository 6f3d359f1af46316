use super::*;

#[test]
fn columns_that_do_not_fit_continue_in_a_table_below() {
    let names: Vec<String> = (0..15).map(|index| format!("measure_{index}")).collect();
    let mut header = vec!["policy"];
    header.extend(names.iter().map(String::as_str));
    let mut row = vec!["least-outstanding-first".to_owned()];
    row.extend(vec!["123.5±7.8".to_owned(); 15]);
    for (width, parts_expected) in [(110, 3), (80, 4)] {
        let table = figures_within(width, &header, std::slice::from_ref(&row));
        assert!(
            table.lines().all(|line| line.chars().count() <= width),
            "{table}"
        );
        let parts: Vec<&str> = table.split("\n\n").collect();
        assert_eq!(parts.len(), parts_expected, "{table}");
        assert!(
            parts
                .iter()
                .all(|part| part.contains("least-outstanding-first"))
        );
        assert_eq!(table.matches("123.5±7.8").count(), 15);
    }
}

#[test]
fn words_that_do_not_fit_are_broken_at_spaces() {
    let long = "one and two ".repeat(20);
    let table = words_within(
        80,
        &["name", "what"],
        vec![vec!["a-name-without-spaces".to_owned(), long]],
    );
    assert!(
        table.lines().all(|line| line.chars().count() <= 80),
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
