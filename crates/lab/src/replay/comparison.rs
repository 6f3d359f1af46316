//! The first difference between two lists of outputs, cut to what a person can read.

use pointsman_pipeline::pool::Output;

/// Where two lists differ, and how.
#[derive(Debug)]
pub(super) struct Mismatch {
    pub(super) place: String,
    pub(super) expected: String,
    pub(super) got: String,
}

/// The first output that differs. Outputs are compared by their text in a recording, which tells
/// every bit of a number, and in which NaN equals itself.
pub(super) fn first_mismatch(expected: &[Output], got: &[Output]) -> Option<Mismatch> {
    if text(expected) == text(got) {
        return None;
    }
    let pairs = expected.iter().zip(got);
    let equal = pairs.take_while(|(one, other)| text(one) == text(other));
    let index = equal.count();
    let [expected, got] = [expected, got].map(|outputs| outputs.get(index).map(text));
    let start = |text: &Option<String>| text.clone().unwrap_or_default();
    let at = common_bytes(&start(&expected), &start(&got));
    let shown =
        |text: Option<String>| text.map_or_else(|| "nothing".to_owned(), |text| excerpt(&text, at));
    Some(Mismatch {
        place: format!("output {}", index + 1),
        expected: shown(expected),
        got: shown(got),
    })
}

impl Mismatch {
    /// The pool panicked where the recorded one did not.
    pub(super) fn unexpected_panic() -> Self {
        Self::panics("none", "a panic")
    }

    /// The pool did not panic where the recorded one did.
    pub(super) fn missing_panic() -> Self {
        Self::panics("a panic", "none")
    }

    fn panics(expected: &str, got: &str) -> Self {
        Self {
            place: "panics".to_owned(),
            expected: expected.to_owned(),
            got: got.to_owned(),
        }
    }
}

fn text(value: &(impl serde::Serialize + ?Sized)) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}

fn common_bytes(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

/// The text around `at`.
fn excerpt(text: &str, at: usize) -> String {
    let from = text.floor_char_boundary(at.saturating_sub(SHOWN_BEFORE));
    let to = text.floor_char_boundary(at.saturating_add(SHOWN_AFTER));
    let before = if from > 0 { "…" } else { "" };
    let after = if to < text.len() { "…" } else { "" };
    let shown = text.get(from..to).unwrap_or_default();
    format!("{before}{shown}{after}")
}

const SHOWN_BEFORE: usize = 80;
const SHOWN_AFTER: usize = 80;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_shows_the_place_and_marks_what_was_left_out() {
        assert_eq!(excerpt("short", 3), "short");
        let long = "ä".repeat(300);
        let shown = excerpt(&long, 301);
        assert!(shown.starts_with("…ä") && shown.ends_with("ä…"), "{shown}");
        assert!(shown.len() < 200, "{shown}");
    }
}
