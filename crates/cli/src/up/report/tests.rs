use std::collections::BTreeMap;

use super::*;

fn summary(cached_tokens: u64, failed: usize) -> Summary {
    let failures = (failed > 0).then(|| ("status 503".to_owned(), failed));
    Summary {
        requests: 120,
        failures: failures.into_iter().collect(),
        ttft_p50_ms: 81.26,
        ttft_p95_ms: 412.349,
        ttft_p99_ms: 700.0,
        prompt_tokens: 10_000,
        cached_tokens,
        spread: BTreeMap::from([("engine-0".to_owned(), 70), ("engine-1".to_owned(), 50)]),
    }
}

fn report(round_robin: Summary, pointsman: Summary) -> Report {
    Report {
        round_robin,
        pointsman,
    }
}

#[test]
fn the_table_shows_every_figure_of_both_runs() {
    let table = report(summary(3_000, 0), summary(7_256, 1)).table();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.chars().any(char::is_alphanumeric))
        .map(|line| {
            line.split(['│', '┆'])
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .collect()
        })
        .collect();
    assert_eq!(
        rows,
        [
            vec!["round robin", "pointsman"],
            vec!["requests", "120", "120"],
            vec!["failed", "0", "1"],
            vec!["TTFT p50, model ms", "81", "81"],
            vec!["TTFT p95, model ms", "412", "412"],
            vec!["TTFT p99, model ms", "700", "700"],
            vec!["prompt tokens from cache", "30.0 %", "72.6 %"],
            vec!["requests per engine", "70 / 50", "70 / 50"],
        ]
    );
}

#[test]
fn the_json_line_has_the_promised_form() {
    let report = report(summary(3_000, 2), summary(7_256, 1));
    let line = report.json();
    assert_eq!(
        line,
        r#"{"requests":240,"failed":3,"round_robin":{"ttft_p95_ms":412.3,"cached_share":0.3},"pointsman":{"ttft_p95_ms":412.3,"cached_share":0.7256}}"#
    );
    assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
    assert_eq!(
        report.failures(),
        [
            "round robin: 2 failed: status 503",
            "pointsman: 1 failed: status 503"
        ]
    );
}

#[test]
fn a_promise_is_broken_by_a_failure_a_lost_share_or_an_empty_run() {
    let broken = |round_robin, pointsman| report(round_robin, pointsman).broken_promise();
    assert_eq!(broken(summary(3_000, 0), summary(7_000, 0)), None);
    assert!(broken(summary(3_000, 0), summary(7_000, 1)).is_some());
    assert!(broken(summary(3_000, 0), summary(3_000, 0)).is_some());
    assert!(broken(Summary::default(), summary(3_000, 0)).is_some());
}
