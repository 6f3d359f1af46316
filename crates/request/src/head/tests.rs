use proptest::prelude::*;

use super::*;

fn head(headers: &[(&str, &str)]) -> Head {
    let mut head = Head::new();
    for (name, value) in headers {
        head.header(name, value.as_bytes());
    }
    head
}

fn dialect(method: &str, path: &str) -> Dialect {
    head(&[(":method", method), (":path", path)]).dialect()
}

#[test]
fn the_longest_known_suffix_of_the_path_names_the_dialect() {
    for (path, expected) in [
        ("/v1/chat/completions", Dialect::ChatCompletions),
        ("/v1/chat/completions/", Dialect::ChatCompletions),
        ("/openai/v1/chat/completions", Dialect::ChatCompletions),
        (
            "/v1/chat/completions?api-version=/completions",
            Dialect::ChatCompletions,
        ),
        ("/chat/completions", Dialect::ChatCompletions),
        ("/v1/completions", Dialect::Completions),
        ("/v1/completions/?a=b", Dialect::Completions),
        ("/completions", Dialect::Completions),
        ("/v1/xcompletions", Dialect::Passthrough),
        ("/v1/completions/x", Dialect::Passthrough),
        ("/v1/completions//", Dialect::Passthrough),
        ("/v1/models?next=/v1/completions", Dialect::Passthrough),
        ("/v1/embeddings", Dialect::Passthrough),
        ("completions", Dialect::Passthrough),
        ("/", Dialect::Passthrough),
        ("", Dialect::Passthrough),
    ] {
        assert_eq!(dialect("POST", path), expected, "{path}");
    }
}

#[test]
fn only_a_post_speaks_a_dialect() {
    for method in ["GET", "HEAD", "OPTIONS", "DELETE", "post", ""] {
        assert_eq!(dialect(method, "/v1/completions"), Dialect::Passthrough);
    }
}

#[test]
fn the_path_comes_from_the_gateway_first_and_from_proxies_after() {
    let forwarded = ("x-forwarded-path", "/forwarded?q");
    let original = ("X-Original-Path", "/original?q");
    let path = (":path", "/path?q");
    assert_eq!(head(&[forwarded]).path(), "/forwarded");
    assert_eq!(head(&[original, forwarded]).path(), "/original");
    assert_eq!(head(&[forwarded, original, path]).path(), "/path");
    assert_eq!(head(&[path, original, forwarded]).path(), "/path");
    assert_eq!(head(&[(":path", ""), forwarded]).path(), "/forwarded");
    assert_eq!(head(&[]).path(), "");
    let long = format!("/{}/completions", "x".repeat(PATH_BYTES_MAX));
    assert_eq!(head(&[(":path", &long)]).path(), "");
    let long_query = format!("/completions?{long}");
    assert_eq!(head(&[(":path", &long_query)]).path(), "/completions");
}

#[test]
fn a_new_name_wins_over_its_deprecated_alias_in_any_order() {
    let new = ("X-LLM-D-Inference-Fairness-Id", "new");
    let old = ("x-gateway-inference-fairness-id", "old");
    assert_eq!(head(&[new, old]).fairness_id(), Some("new"));
    assert_eq!(head(&[old, new]).fairness_id(), Some("new"));
    assert_eq!(head(&[old]).fairness_id(), Some("old"));
    let objective = head(&[
        ("x-gateway-inference-objective", "old"),
        ("x-llm-d-inference-objective", " new "),
    ]);
    assert_eq!(objective.objective(), Some("new"));
}

#[test]
fn an_empty_or_overlong_or_foreign_value_counts_as_absent() {
    let long = "x".repeat(257);
    for unusable in ["", "  ", &long] {
        let head = head(&[
            ("x-llm-d-inference-fairness-id", unusable),
            ("x-gateway-inference-fairness-id", "old"),
        ]);
        assert_eq!(head.fairness_id(), Some("old"));
    }
    let mut head = Head::new();
    head.header("x-llm-d-inference-objective", b"\xff");
    assert_eq!(head.objective(), None);
    head.header("x-llm-d-inference-objective", "y".repeat(256).as_bytes());
    assert_eq!(head.objective().map(str::len), Some(256));
}

#[test]
fn a_length_that_is_no_number_is_unknown() {
    assert_eq!(head(&[("Content-Length", "42")]).content_length(), Some(42));
    for value in ["", "-1", "1e9", "18446744073709551616"] {
        assert_eq!(head(&[("content-length", value)]).content_length(), None);
    }
}

#[test]
fn compressed_and_multipart_bodies_are_opaque() {
    let body = |name, value| head(&[(name, value)]).body();
    assert_eq!(body("content-encoding", "gzip"), BodyForm::Opaque);
    assert_eq!(body("content-encoding", "identity, BR"), BodyForm::Opaque);
    assert_eq!(body("content-encoding", "Identity"), BodyForm::Plain);
    assert_eq!(body("content-encoding", ""), BodyForm::Plain);
    assert_eq!(
        body("content-type", "Multipart/form-data; boundary=X"),
        BodyForm::Opaque
    );
    assert_eq!(
        body("content-type", "application/x-www-form-urlencoded"),
        BodyForm::Plain
    );
}

proptest! {
    #[test]
    fn no_header_panics(
        headers in proptest::collection::vec(
            (0..READ.len(), proptest::collection::vec(any::<u8>(), 0..40)),
            0..12,
        ),
    ) {
        let mut head = Head::new();
        for (row, value) in headers {
            head.header(READ[row].0, &value);
        }
        prop_assert!(!head.path().contains('?'));
        prop_assert!(head.method() == "POST" || head.dialect() == Dialect::Passthrough);
    }
}
