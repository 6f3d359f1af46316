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
        ("/v1/chat/completions/render", Dialect::ChatCompletions),
        ("/openai/v1/chat/completions", Dialect::ChatCompletions),
        ("/chat/completions", Dialect::ChatCompletions),
        ("/v1/completions", Dialect::Completions),
        ("/v1/completions/render", Dialect::Completions),
        ("/completions", Dialect::Completions),
        ("/v1/embeddings", Dialect::Embeddings),
        ("/v1/responses", Dialect::Responses),
        ("/v1/conversations", Dialect::Conversations),
        ("/v1/images/generations", Dialect::Images),
        ("/v1/messages", Dialect::Messages),
        ("/anthropic/v1/messages", Dialect::Messages),
        ("/v1/messages/count_tokens", Dialect::CountTokens),
        ("/v1/threads/thread_1/messages", Dialect::Passthrough),
        ("/inference/v1/generate", Dialect::Generate),
        ("/a/inference/v1/generate", Dialect::Generate),
        ("/generate", Dialect::SglangGenerate),
        ("/generate/", Dialect::SglangGenerate),
        ("/rerank", Dialect::ByModel),
        ("/v1/rerank", Dialect::ByModel),
        ("/v2/rerank", Dialect::ByModel),
        ("/score", Dialect::ByModel),
        ("/classify", Dialect::ByModel),
        ("/pooling", Dialect::ByModel),
        ("/tokenize", Dialect::ByModel),
        ("/detokenize", Dialect::ByModel),
        ("/v1/audio/transcriptions", Dialect::Multipart),
        ("/v1/audio/translations", Dialect::Multipart),
    ] {
        assert_eq!(dialect("POST", path), expected, "{path}");
    }
}

#[test]
fn a_path_that_only_looks_like_a_known_one_is_passed_through() {
    for path in [
        "/v1/xcompletions",
        "/v1/completions/x",
        "/v1/completions//",
        "/v1/Completions",
        "/v1/models",
        "/v1/generate",
        "/v2/models/m/generate",
        "/v2/models/m/infer",
        "/generate_stream",
        "/v1/projects/p/locations/l/endpoints/e:rawPredict",
        "/google.cloud.aiplatform.v1.PredictionService/ChatCompletions",
        "/v1/audio/speech",
        "/v1/responses/r/cancel",
        "completions",
        "/",
        "//",
    ] {
        assert_eq!(dialect("POST", path), Dialect::Passthrough, "{path}");
    }
}

#[test]
fn neither_query_nor_fragment_says_what_a_path_is() {
    for (path, expected) in [
        (
            "/v1/chat/completions?api-version=/completions",
            Dialect::ChatCompletions,
        ),
        ("/v1/completions/?a=b", Dialect::Completions),
        ("/v1/completions#/v1/embeddings", Dialect::Completions),
        ("/v1/completions#a?b", Dialect::Completions),
        ("/generate?a", Dialect::SglangGenerate),
        ("/v1/models?next=/v1/completions", Dialect::Passthrough),
        ("/v1/models#/v1/completions", Dialect::Passthrough),
        ("?/v1/completions", Dialect::Passthrough),
    ] {
        assert_eq!(dialect("POST", path), expected, "{path}");
    }
}

#[test]
fn b13_only_a_post_speaks_a_dialect() {
    for method in ["GET", "HEAD", "OPTIONS", "DELETE", "PUT", "post", ""] {
        for path in ["/v1/models", "/v1/completions", "/generate"] {
            assert_eq!(dialect(method, path), Dialect::Passthrough, "{method}");
        }
    }
    assert_eq!(head(&[]).dialect(), Dialect::Passthrough);
}

#[test]
fn which_models_there_are_is_asked_for_by_get_and_by_one_path() {
    let asks = |method, path| head(&[(":method", method), (":path", path)]).asks_for_models();
    for path in ["/v1/models", "/v1/models?limit=5", "/team/openai/v1/models"] {
        assert!(asks("GET", path), "{path}");
    }
    for (method, path) in [
        ("POST", "/v1/models"),
        ("HEAD", "/v1/models"),
        ("GET", "/v1/models/m"),
        ("GET", "/v1/model"),
        ("GET", "/models"),
    ] {
        assert!(!asks(method, path), "{method} {path}");
    }
    assert!(!head(&[]).asks_for_models());
}

#[test]
fn b13_a_post_that_announces_no_bytes_tells_it() {
    let announced = head(&[(":method", "POST"), ("content-length", " 0 ")]);
    assert_eq!(announced.content_length(), Some(0));
}

#[test]
fn a_grpc_method_is_one_only_where_the_content_is_grpc() {
    let dialect = |path, content_type: Option<&str>| {
        let mut head = head(&[(":method", "POST"), (":path", path)]);
        if let Some(content_type) = content_type {
            head.header("Content-Type", content_type.as_bytes());
        }
        head.dialect()
    };
    let generate = "/vllm.grpc.engine.VllmEngine/Generate";
    let embed = "/vllm.grpc.engine.VllmEngine/Embed";
    for content_type in [
        "application/grpc",
        "application/grpc+proto",
        "Application/GRPC; charset=utf-8",
    ] {
        assert_eq!(dialect(generate, Some(content_type)), Dialect::GrpcGenerate);
        assert_eq!(dialect(embed, Some(content_type)), Dialect::GrpcEmbed);
    }
    for content_type in [None, Some(""), Some("application/json"), Some("grpc")] {
        assert_eq!(dialect(generate, content_type), Dialect::Passthrough);
        assert_eq!(dialect(embed, content_type), Dialect::Passthrough);
    }
    let other = "/vllm.grpc.engine.VllmEngine/Abort";
    let grpc = Some("application/grpc");
    assert_eq!(dialect(other, grpc), Dialect::Passthrough);
    assert_eq!(dialect("/v1/completions", grpc), Dialect::Completions);
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
    assert_eq!(head(&[(":path", &long), forwarded]).path(), "");
    let long_query = format!("/completions?{long}");
    assert_eq!(head(&[(":path", &long_query)]).path(), "/completions");
}

#[test]
fn a_post_without_any_path_is_taken_for_a_completion() {
    let post = (":method", "POST");
    assert_eq!(head(&[post]).dialect(), Dialect::Completions);
    assert_eq!(head(&[post, (":path", "")]).dialect(), Dialect::Completions);
    let long = format!("/{}/completions", "x".repeat(PATH_BYTES_MAX));
    let unusable = head(&[post, (":path", &long)]);
    assert_eq!(unusable.dialect(), Dialect::Passthrough);
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
fn an_overriding_model_is_a_name_of_bounded_length() {
    let new = ("X-LLM-D-Model-Name-Rewrite", " new ");
    let old = ("x-gateway-model-name-rewrite", "old");
    assert_eq!(head(&[]).model_override(), None);
    assert_eq!(head(&[old]).model_override(), Some("old"));
    assert_eq!(head(&[new, old]).model_override(), Some("new"));
    assert_eq!(head(&[old, new]).model_override(), Some("new"));
    let (long, longest) = ("x".repeat(257), "x".repeat(256));
    for (value, expected) in [
        (long.as_str(), None),
        ("", None),
        (" ", None),
        (&longest, Some(longest.as_str())),
    ] {
        let head = head(&[("x-llm-d-model-name-rewrite", value)]);
        assert_eq!(head.model_override(), expected);
    }
}

#[test]
fn b11_a_goal_that_is_no_time_counts_as_not_given() {
    for value in [
        "9223372036854775807",
        "18446744073709551617",
        "4294967297",
        "3600001",
        "3600000.1",
        "4294967295.5",
        "0",
        "0.0",
        "-1",
        "+50",
        "1e9",
        "0x10",
        "5_0",
        "5 0",
        "50,60",
        "50.",
        ".5",
        "1.2.3",
        "NaN",
        "inf",
        "",
        "  ",
        "\u{661}",
    ] {
        for name in ["x-slo-ttft-ms", "x-llm-d-slo-tpot-ms"] {
            let goals = head(&[(name, value)]).goals();
            assert_eq!(goals, LatencyGoals::default(), "{name}: {value:?}");
        }
    }
}

#[test]
fn b11_goals_come_from_either_spelling_and_the_last_that_is_one_counts() {
    let goals = |headers: &[(&str, &str)]| {
        let LatencyGoals { ttft, tpot } = head(headers).goals();
        (
            ttft.map(|Milliseconds(goal)| goal),
            tpot.map(|Milliseconds(goal)| goal),
        )
    };
    let new = "x-llm-d-slo-ttft-ms";
    let old = "x-slo-ttft-ms";
    assert_eq!(goals(&[]), (None, None));
    assert_eq!(goals(&[(old, " 50 ")]), (Some(50), None));
    assert_eq!(goals(&[(old, "3600000")]), (Some(3_600_000), None));
    assert_eq!(goals(&[(old, "50"), ("X-SLO-TTFT-MS", "70")]).0, Some(70));
    assert_eq!(goals(&[(old, "50"), (old, "-1")]).0, Some(50));
    assert_eq!(goals(&[(new, "40"), (old, "50")]).0, Some(40));
    assert_eq!(goals(&[(old, "50"), (new, "1e9")]).0, Some(50));
    assert_eq!(goals(&[("x-llm-d-slo-tpot-ms", "0020")]), (None, Some(20)));
    assert_eq!(goals(&[("x-slo-tpot-ms", "12.5")]), (None, Some(13)));
    assert_eq!(goals(&[("x-slo-tpot-ms", "12.0")]), (None, Some(12)));
    assert_eq!(goals(&[("x-slo-tpot-ms", "0.2")]), (None, Some(1)));
}

#[test]
fn a_session_is_named_by_the_client_first_and_by_its_agent_after() {
    let ranked = [
        "x-session-id",
        "X-Claude-Code-Session-Id",
        "x-session-affinity",
        "Session-Id",
        "session_id",
    ];
    let mut headers = Vec::new();
    for name in ranked.into_iter().rev() {
        headers.push((name, name));
        let mut turned = headers.clone();
        turned.reverse();
        for headers in [&headers, &turned] {
            let session = head(headers).session();
            assert_eq!(session, Some(NameHash::of(name.as_bytes())));
        }
    }
}

#[test]
fn a_session_may_have_any_name_but_an_empty_one() {
    let session = |value: &[u8]| {
        let mut head = Head::new();
        head.header("x-session-id", value);
        head.session()
    };
    assert_eq!(session(b""), None);
    assert_eq!(session(b" \t"), None);
    assert_eq!(session(b" a "), Some(NameHash::of(b"a")));
    assert_eq!(session(b"\xff"), Some(NameHash::of(b"\xff")));
    let long = [b'x'; 1000];
    assert_eq!(session(&long), Some(NameHash::of(&long)));
    assert_eq!(head(&[("x-session-token", "a")]).session(), None);
}

#[test]
fn an_upload_is_in_parts_only_where_the_path_takes_uploads() {
    let body = |path, coding| {
        head(&[
            ("content-type", "multipart/form-data; boundary=X"),
            ("content-encoding", coding),
            (":method", "POST"),
            (":path", path),
        ])
        .body()
    };
    let audio = "/v1/audio/transcriptions";
    assert_eq!(body(audio, "identity"), BodyForm::Multipart("X".into()));
    assert_eq!(body(audio, "gzip"), BodyForm::Opaque);
    assert_eq!(body("/v1/completions", ""), BodyForm::Opaque);
    assert_eq!(body("/v1/files", ""), BodyForm::Opaque);
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
