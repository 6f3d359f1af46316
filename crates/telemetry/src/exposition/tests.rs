use proptest::prelude::*;

use super::*;

/// The families whose names begin with `want`, as tests use them.
fn families() -> Families<&'static str> {
    let names = ["want", "want_a", "want_b"];
    Families::new(names.map(|name| (name.into(), name)))
}

fn samples(page: &str) -> Vec<(&'static str, f64)> {
    let mut found = Vec::new();
    visit_samples(page.as_bytes(), &families(), |name, sample| {
        found.push((*name, sample.value));
    });
    found
}

fn one_value(line: &str) -> Option<f64> {
    let mut found = samples(line);
    assert!(found.len() < 2);
    found.pop().map(|(_, value)| value)
}

fn label(line: &str, name: &str) -> Option<String> {
    let mut found = None;
    visit_samples(line.as_bytes(), &families(), |_, sample| {
        let value = sample.labels.value(name.as_bytes());
        found = value.map(|value| String::from_utf8_lossy(value).into_owned());
    });
    found
}

#[test]
fn only_wanted_families_are_visited_in_the_order_of_the_page() {
    let page =
        "# HELP want_a help {\n# TYPE want_a gauge\nwant_a 1\nother 2\nwant_b{x=\"y\"} 3\n\n";
    assert_eq!(samples(page), [("want_a", 1.0), ("want_b", 3.0)]);
}

#[test]
fn b51_labels_may_hold_blanks_braces_and_escapes() {
    let line = r#"want{model_name="my model {x} \"q\"",path="C:\\",text="a\nb"} 3 1757900000000"#;
    assert_eq!(one_value(line), Some(3.0));
    assert_eq!(label(line, "model_name").unwrap(), r#"my model {x} \"q\""#);
    assert_eq!(label(line, "path").unwrap(), r"C:\\");
    assert_eq!(label(line, "text").unwrap(), r"a\nb");
    assert_eq!(label(line, "q"), None);
}

#[test]
fn b51_blanks_tabs_and_a_trailing_comma_are_allowed() {
    for line in [
        "  want 3",
        "want\t3 ",
        "want {} 3",
        "want{a = \"b\" , c=\"d\",} 3",
        "want{a=\"b\"}3",
        "want{a=\"b\"}\t 3\t-12\r",
    ] {
        assert_eq!(one_value(line), Some(3.0), "{line}");
    }
    assert_eq!(label("want{a = \"b\" , c=\"d\",} 3", "c").unwrap(), "d");
}

#[test]
fn b51_timestamps_exemplars_and_the_end_mark_are_passed_over() {
    for line in [
        "want 3 1757900000.123",
        "want 3 # {trace_id=\"a 1\"} 0.5",
        "want{a=\"b\"} 3 1757900000 # {trace_id=\"}\"} 0.5 1757900000",
        "want 3\n# EOF",
        "want 3\r\n# EOF\r\n",
        "want 3\n# EOF\n",
    ] {
        assert_eq!(one_value(line), Some(3.0), "{line}");
    }
}

#[test]
fn a_name_may_stand_between_the_braces() {
    assert_eq!(one_value(r#"{"want", a="b"} 3"#), Some(3.0));
    assert_eq!(one_value(r#"{"want"} 3"#), Some(3.0));
    assert_eq!(one_value(r#"{a="want"} 3"#), None);
    assert_eq!(one_value(r#"{"other", a="want"} 3"#), None);
    assert_eq!(label(r#"{"want", "a.b"="c"} 3"#, "a.b").unwrap(), "c");
}

#[test]
fn every_form_of_number_is_read() {
    for (text, value) in [
        ("0", 0.0),
        ("-4", -4.0),
        ("+4", 4.0),
        ("1.5e+02", 150.0),
        ("1.7500000125e+09", 1_750_000_012.5),
        (".5", 0.5),
    ] {
        assert_eq!(one_value(&format!("want {text}")), Some(value), "{text}");
    }
}

#[test]
fn b50_a_value_that_is_not_finite_hides_only_itself() {
    for text in ["NaN", "+Inf", "-Inf", "Inf", "1e999"] {
        assert_eq!(one_value(&format!("want {text}\nwant 3")), Some(3.0));
    }
}

#[test]
fn broken_lines_are_passed_over() {
    for line in [
        "want",
        "want ",
        "want x",
        "want 3 x",
        "want 3 4 5",
        "want{a=\"b\" 3",
        "want{a=\"b} 3",
        "want{a=\"b\\\"} 3",
        "{} 3",
        "{",
        "#want 3",
    ] {
        assert_eq!(samples(&format!("{line}\nwant 7")).len(), 1, "{line}");
        assert_eq!(one_value(line), None, "{line}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(page in proptest::collection::vec(any::<u8>(), 0..400)) {
        let families = Families::new([("a".into(), ())]);
        visit_samples(&page, &families, |(), sample| {
            assert!(sample.value.is_finite());
            sample.labels.value(b"a");
        });
    }

    #[test]
    fn any_text_that_looks_like_a_page_is_read_without_a_panic(page in "[a{}\"\\\\=, #1\n\r]{0,80}") {
        let families = Families::new([("a".into(), ()), ("aa".into(), ())]);
        visit_samples(page.as_bytes(), &families, |(), sample| {
            sample.labels.value(b"a");
        });
    }

    #[test]
    fn a_line_of_any_length_ends_at_its_line_feed(
        lengths in proptest::collection::vec(0..100_usize, 0..20),
    ) {
        let lines = lengths.iter().map(|&length| format!("want{{a=\"{}\"}} 1\n", "x".repeat(length)));
        let page: String = lines.collect();
        let mut found = Vec::new();
        visit_samples(page.as_bytes(), &families(), |_, sample| {
            found.extend(sample.labels.value(b"a").map(<[u8]>::len));
        });
        prop_assert_eq!(found, lengths);
    }
}
