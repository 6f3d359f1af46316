//! Load reports in the headers of answers.

use pointsman_proto::orca::OrcaLoadReport;
use prost::Message as _;
use tonic::metadata::MetadataMap;

use super::completions::QUESTION;
use super::*;

/// One request at a time, which takes 2 of 64 blocks.
const SMALL: &[&str] = &["--slots", "1", "--blocks", "64"];

impl Running {
    /// A request that asks for a report in `format`.
    fn reporting(&self, format: &'static str, body: &Value) -> Request<Full<Bytes>> {
        let mut request = self.post(CHAT, body);
        let format = http::HeaderValue::from_static(format);
        request
            .headers_mut()
            .insert("endpoint-load-metrics-format", format);
        request
    }
}

fn header<'a>(response: &'a Response<Incoming>, name: &str) -> &'a str {
    response.headers()[name].to_str().unwrap()
}

fn of_json(report: &str) -> (f64, f64) {
    let report: Value = serde_json::from_str(report.strip_prefix("JSON ").unwrap()).unwrap();
    let named = &report["named_metrics"];
    let number = |name| named[name].as_f64().unwrap();
    (
        number("kv_cache_usage_perc"),
        number("num_requests_waiting"),
    )
}

fn of_text(report: &str) -> (f64, f64) {
    let pairs = report.strip_prefix("TEXT ").unwrap().split(", ");
    let named: Vec<_> = pairs.map(|pair| pair.split_once('=').unwrap()).collect();
    let number = |name: &str| {
        let (_, value) = named.iter().find(|(known, _)| *known == name).unwrap();
        value.parse().unwrap()
    };
    (
        number("named_metrics.kv_cache_usage_perc"),
        number("named_metrics.num_requests_waiting"),
    )
}

fn of_binary(response: &Response<Incoming>) -> (f64, f64) {
    let headers = MetadataMap::from_headers(response.headers().clone());
    let report = headers.get_bin("endpoint-load-metrics-bin").unwrap();
    let report = OrcaLoadReport::decode(report.to_bytes().unwrap()).unwrap();
    let named = report.named_metrics;
    (named["kv_cache_usage_perc"], named["num_requests_waiting"])
}

#[tokio::test]
async fn a_stream_begins_with_the_load_of_its_time_in_the_format_that_was_asked_for() {
    let engine = start(&[SMALL, ENDLESS].concat()).await;
    let body = streamed(chat(QUESTION, 1));
    let mut open = Vec::new();
    let mut reports = Vec::new();
    for format in ["TEXT", "json", "Bin"] {
        let response = engine.send(engine.reporting(format, &body)).await;
        assert_eq!(response.status(), StatusCode::OK);
        reports.push(match format {
            "TEXT" => of_text(header(&response, "endpoint-load-metrics")),
            "json" => of_json(header(&response, "endpoint-load-metrics")),
            _ => of_binary(&response),
        });
        open.push(response);
    }
    // The first one runs, and of the others each waits.
    assert_eq!(reports, [(0.03125, 0.0), (0.03125, 1.0), (0.03125, 2.0)]);
    drop(open);
    engine.stop().await;
}

#[tokio::test]
async fn a_plain_answer_comes_with_the_load_after_it() {
    let engine = start(SMALL).await;
    let response = engine
        .send(engine.reporting("TEXT", &chat(QUESTION, 1)))
        .await;
    let report = header(&response, "endpoint-load-metrics");
    assert_eq!(of_text(report), (0.0, 0.0));
    drop(response);
    engine.stop().await;
}

#[tokio::test]
async fn there_is_no_report_in_an_unknown_format_or_with_an_error() {
    let engine = start(SMALL).await;
    let question = chat(QUESTION, 1);
    for (request, status) in [
        (engine.post(CHAT, &question), 200),
        (engine.reporting("XML", &question), 200),
        (
            engine.reporting("TEXT", &of_model("other", question.clone())),
            404,
        ),
        (engine.reporting("TEXT", &json!({})), 400),
    ] {
        let response = engine.send(request).await;
        assert_eq!(response.status().as_u16(), status);
        let names = response.headers().keys();
        assert_eq!(
            names.filter(|name| name.as_str().contains("load")).count(),
            0
        );
    }
    engine.stop().await;
}
