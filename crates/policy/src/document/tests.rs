use serde_json::json;

use super::*;
use crate::problem::Problems;

fn tree(text: &str) -> Result<Value, Problems> {
    let mut findings = Findings::default();
    let value = read(text, &mut findings);
    findings.finish(value).map(|(value, _)| value.unwrap())
}

fn problems(text: &str) -> String {
    tree(text).unwrap_err().to_string()
}

#[test]
fn a_text_without_content_is_null() {
    for text in [
        "",
        "\n\n",
        "# only\n  # comments\n",
        "---\n",
        "\u{feff}# mark\n",
    ] {
        assert_eq!(tree(text), Ok(Value::Null), "{text:?}");
    }
}

#[test]
fn json_is_read_too_with_tabs_and_escapes() {
    let text = "{\n\t\"a\": [1, 2.5, true, null],\n\t\"b\\/c\": \"\\u00e9\"\n}";
    assert_eq!(
        tree(text),
        Ok(json!({ "a": [1, 2.5, true, null], "b/c": "\u{e9}" }))
    );
}

#[test]
fn aliases_are_read() {
    assert_eq!(
        tree("a: &x {b: 1}\nc: *x"),
        Ok(json!({ "a": { "b": 1 }, "c": { "b": 1 } }))
    );
}

#[test]
fn every_key_that_is_written_twice_is_told() {
    let text = "a: 1\nlist:\n- {b: 1, b: 2}\n- c:\n    d: 1\n    d: 2\na: 3\n";
    assert_eq!(
        problems(text),
        "a: `a` is written twice: keep one\n\
         list[0].b: `b` is written twice: keep one\n\
         list[1].c.d: `d` is written twice: keep one",
    );
}

#[test]
fn numbers_that_are_not_finite_are_told() {
    let told = problems("a: .nan\nb: [.inf, -.inf]");
    assert_eq!(told.lines().count(), 3);
    assert!(told.contains("b[1]: must be a finite number"));
}

#[test]
fn a_syntax_error_is_one_problem_with_its_place() {
    for (text, place) in [
        ("a: b: c", "line 1 column 5"),
        ("plugins:\n- type: x\n  name: [", "line 4 column 1"),
        ("a: !tag 1", "line 1 column 4"),
        ("{\"a\" 1}", "line 1 column 6"),
        ("a: 1\n\tb: 2", "line 2 column 1"),
        ("? [1]\n: 2", "line 1 column 3"),
    ] {
        let told = problems(text);
        assert!(told.contains(place), "{text:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[test]
fn more_than_one_document_is_a_problem() {
    assert!(problems("a: 1\n---\na: 2").contains("more than one document"));
}

#[test]
fn a_text_over_the_limit_is_not_read() {
    let comment = format!("#{}", " ".repeat(TEXT_BYTES_MAX));
    assert!(problems(&comment).contains("the limit is 1048576"));
}

#[test]
fn a_long_text_without_aliases_is_never_too_long() {
    let text = format!("[{}]", "1,".repeat(TEXT_BYTES_MAX / 2 - 2));
    assert!(tree(&text).is_ok());
}

#[test]
fn aliases_of_aliases_cannot_fill_the_memory() {
    let mut text = format!("a0: &a0 [{}]\n", "1,".repeat(1000));
    for level in 1..6 {
        let aliases = format!("*a{},", level - 1).repeat(100);
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    let told = problems(&text);
    assert!(
        told.contains("aliases") || told.contains("repetition limit"),
        "{told}"
    );
    assert!(
        problems(&format!(
            "a: &a [{}]\nb: [{}]",
            "1,".repeat(100_000),
            "*a,".repeat(100)
        ))
        .contains("aliases make the text too long")
    );
}

#[test]
fn deep_nesting_is_a_problem_and_no_overflow() {
    assert!(problems(&"[".repeat(100_000)).contains("recursion limit"));
}
