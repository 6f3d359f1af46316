use proptest::prelude::*;

use super::*;

mod fuzz;

fn sample(waiting: impl Into<Option<u32>>, kv_usage: impl Into<Option<f64>>) -> Option<LoadSample> {
    Some(LoadSample {
        waiting: waiting.into(),
        kv_usage: kv_usage.into().map(Unit::clamped),
        ..LoadSample::default()
    })
}

fn told(value: &str) -> Option<LoadSample> {
    read("endpoint-load-metrics", value.as_bytes())
}

fn named(metrics: &[(&str, f64)]) -> OrcaLoadReport {
    OrcaLoadReport {
        cpu_utilization: 0.5,
        mem_utilization: 0.6,
        application_utilization: 0.7,
        named_metrics: metrics
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect(),
        ..OrcaLoadReport::default()
    }
}

fn in_base64(report: &OrcaLoadReport) -> String {
    use core::fmt::Write as _;
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = String::new();
    for byte in report.encode_to_vec() {
        write!(bits, "{byte:08b}").unwrap();
    }
    bits.push_str(["", "0000", "00"][bits.len() % 6 / 2]);
    let digit = |bits: &[u8]| {
        let digit = usize::from_str_radix(core::str::from_utf8(bits).unwrap(), 2).unwrap();
        DIGITS[digit] as char
    };
    bits.as_bytes().chunks(6).map(digit).collect()
}

#[test]
fn the_reports_of_engines_are_read_in_every_form() {
    let expected = sample(3, 0.25);
    for value in [
        // vLLM's server in Python, and ours.
        "TEXT named_metrics.kv_cache_usage_perc=0.25, named_metrics.num_requests_waiting=3.0",
        r#"JSON {"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":3.0}}"#,
        // vLLM's server in Rust.
        "named_metrics.kv_cache_usage_perc=0.25,named_metrics.num_requests_waiting=3",
        r#"{"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":3}}"#,
        // Writers for older versions of Envoy, and messages of protobuf in JSON.
        "named_metrics.kv_cache_usage_perc: 0.25, named_metrics.num_requests_waiting: 3",
        r#"{"cpuUtilization":0.1,"namedMetrics":{"kv_cache_usage_perc":"0.25","num_requests_waiting":3}}"#,
        // With the engine's name as in its metrics page, any case of the word, and blanks.
        " text  named_metrics.vllm:kv_cache_usage_perc = 0.25,,named_metrics.vllm:num_requests_waiting=3 ",
    ] {
        assert_eq!(told(value), expected, "{value}");
    }
    let json = br#"{"named_metrics":{"kv_cache_usage_perc":0.25,"num_requests_waiting":3}}"#;
    assert_eq!(read("Endpoint-Load-Metrics-JSON", json), expected);
}

#[test]
fn a_binary_report_is_read_under_either_name() {
    let report = named(&[("kv_cache_usage_perc", 0.25), ("num_requests_waiting", 3.0)]);
    let text = in_base64(&report);
    for value in [
        text.clone(),
        format!("{text}{}", &"==="[..(4 - text.len() % 4) % 4]),
    ] {
        assert_eq!(
            read("endpoint-load-metrics-bin", value.as_bytes()),
            sample(3, 0.25)
        );
        assert_eq!(told(&format!("BIN {value}")), sample(3, 0.25));
    }
    for broken in ["", "a", "%%%%", &text[..text.len() - 2]] {
        assert_eq!(
            read("endpoint-load-metrics-bin", broken.as_bytes()),
            None,
            "{broken}"
        );
    }
}

#[test]
fn each_engine_has_its_own_names() {
    for (name, value, expected) in [
        ("num_requests_waiting", 2.0, sample(2, None)),
        ("num_queue_reqs", 2.0, sample(2, None)),
        ("kv_cache_usage_perc", 0.5, sample(None, 0.5)),
        ("gpu_cache_usage_perc", 0.5, sample(None, 0.5)),
        ("kv_cache_utilization", 0.5, sample(None, 0.5)),
        ("token_usage", 0.5, sample(None, 0.5)),
        ("max_token_capacity", 4096.0, None),
        ("", 1.0, None),
    ] {
        let text = format!("TEXT named_metrics.{name}={value}");
        assert_eq!(told(&text), expected, "{text}");
    }
    let running = Some(LoadSample {
        running: Some(4),
        ..LoadSample::default()
    });
    assert_eq!(told("named_metrics.num_requests_running=4"), running);
    assert_eq!(told("named_metrics.num_running_reqs=4"), running);
}

#[test]
fn the_use_of_processor_and_memory_is_no_load_of_the_engine() {
    assert_eq!(
        told("TEXT cpu_utilization=0.3, mem_utilization=0.8, application_utilization=0.9, eps=1"),
        None
    );
    assert_eq!(
        read(
            "endpoint-load-metrics-bin",
            in_base64(&named(&[])).as_bytes()
        ),
        None
    );
}

#[test]
fn a_value_that_cannot_be_true_costs_no_more_than_itself() {
    let wrong = [
        "NaN", "inf", "-inf", "infinity", "-1", "1e400", "1e30", "x", "", "0x10", "true", "1 2",
    ];
    for wrong in wrong {
        for (name, other, expected) in [
            (
                "kv_cache_usage_perc",
                "num_requests_waiting=3",
                sample(3, None),
            ),
            (
                "num_requests_waiting",
                "kv_cache_usage_perc=0.25",
                sample(None, 0.25),
            ),
        ] {
            let text = format!("named_metrics.{name}={wrong},named_metrics.{other}");
            assert_eq!(told(&text), expected, "{text}");
            let (other_name, other) = other.split_once('=').unwrap();
            let json = format!(
                r#"{{"named_metrics":{{"{name}":"{wrong}","{other_name}":{other},"{name}":null}}}}"#
            );
            assert_eq!(told(&json), expected, "{json}");
        }
    }
    for huge in ["1e400", "-1e400", "[]", "{}", "null", "true", r#""""#] {
        let json = format!(
            r#"{{"named_metrics":{{"kv_cache_usage_perc":{huge},"num_requests_waiting":3}}}}"#
        );
        assert_eq!(told(&json), sample(3, None), "{json}");
    }
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 1.1, 1e300] {
        let report = named(&[
            ("kv_cache_usage_perc", value),
            ("num_requests_waiting", 3.0),
        ]);
        let read = read("endpoint-load-metrics-bin", in_base64(&report).as_bytes());
        assert_eq!(read, sample(3, None), "{value}");
    }
}

#[test]
fn what_is_no_report_is_none() {
    for value in [
        "",
        "TEXT",
        "TEXT ",
        "JSON",
        "JSON {",
        "JSON []",
        "{}",
        "{\"named_metrics\":7}",
        ",,=",
        "TEXTnamed_metrics.num_requests_waiting=3",
    ] {
        assert_eq!(told(value), None, "{value}");
    }
    assert_eq!(read("endpoint-load-metrics", b"TEXT \xff=\xff"), None);
    assert_eq!(
        read("x-load", b"TEXT named_metrics.num_requests_waiting=3"),
        None
    );
    let deep = format!("JSON {}", "{\"named_metrics\":".repeat(1000));
    assert_eq!(told(&deep), None);
}

#[test]
fn a_report_over_the_limit_is_not_read() {
    let report = |bytes: usize| {
        let text = "TEXT named_metrics.num_requests_waiting=3,";
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    assert_eq!(told(&report(REPORT_BYTES_MAX)), sample(3, None));
    assert_eq!(told(&report(REPORT_BYTES_MAX + 1)), None);
}

#[test]
fn the_names_of_reports_are_known_in_any_case() {
    for name in [
        "endpoint-load-metrics",
        "Endpoint-Load-Metrics-Bin",
        "endpoint-load-metrics-json",
    ] {
        assert!(is_report(name), "{name}");
    }
    for name in [
        "endpoint-load-metrics-format",
        "endpoint-load",
        "",
        "grpc-status",
    ] {
        assert!(!is_report(name), "{name}");
    }
}

proptest! {
    #[test]
    fn any_value_is_read_or_ignored(value: Vec<u8>, word in 0_usize..5) {
        let word = [&b"TEXT "[..], b"JSON ", b"BIN ", b"{", b""][word];
        for name in ["endpoint-load-metrics", "endpoint-load-metrics-bin"] {
            let sample = read(name, &[word, &value].concat());
            prop_assert!(sample.is_none_or(|sample| sample != LoadSample::default()));
        }
    }
}
