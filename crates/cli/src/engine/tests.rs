use bytes::Bytes;
use clap::Parser;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use crate::task;

mod adapters;
mod completions;
mod faults;
mod histograms;
mod orca;
mod roles;

/// An engine in this process, on a port of its own.
struct Running {
    address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<Result<()>>,
}

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

fn arguments(line: &[&str]) -> Arguments {
    let line = ["engine", "--listen", "127.0.0.1:0"].iter().chain(line);
    Line::try_parse_from(line).unwrap().arguments
}

/// Starts an engine that makes a token every millisecond, unless `line` says otherwise.
async fn start(line: &[&str]) -> Running {
    let line: Vec<&str> = ["--time-scale", "20"].iter().chain(line).copied().collect();
    let server = Server::bind(&arguments(&line)).await.unwrap();
    let address = server.address();
    let (stop, stopped) = oneshot::channel();
    let serving = server.serve(async {
        let _ = stopped.await;
    });
    Running {
        address,
        client: Client::builder(TokioExecutor::new()).build_http(),
        stop: Some(stop),
        server: task::spawn("engine under test", serving),
    }
}

impl Running {
    async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        self.client.request(request).await.unwrap()
    }

    fn post(&self, path: &str, body: &Value) -> Request<Full<Bytes>> {
        Request::post(format!("http://{}{path}", self.address))
            .body(Full::from(body.to_string()))
            .unwrap()
    }

    async fn get(&self, path: &str) -> String {
        let request = Request::get(format!("http://{}{path}", self.address))
            .body(Full::default())
            .unwrap();
        let response = self.send(request).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        text(response).await.unwrap()
    }

    /// The status of a POST and its JSON answer.
    async fn ask(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        let response = self.send(self.post(path, body)).await;
        let status = response.status();
        let body = text(response).await.unwrap();
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The status of a POST and its answer as it is.
    async fn say(&self, path: &str, body: &Value) -> (u16, String) {
        let response = self.send(self.post(path, body)).await;
        let status = response.status().as_u16();
        (status, text(response).await.unwrap())
    }

    /// The running and the waiting adapters, by the newest series.
    async fn adapters_in_use(&self) -> (String, String) {
        let page = self.get("/metrics").await;
        let series = page.lines().filter_map(|line| {
            let (labels, seen) = line
                .strip_prefix("vllm:lora_requests_info{")?
                .split_once("} ")?;
            let label = |name| labels.split_once(&format!("{name}=\"")).unwrap().1;
            let value = |name| label(name).split('"').next().unwrap().to_owned();
            assert_eq!(value("max_lora"), "1");
            let pair = (
                value("running_lora_adapters"),
                value("waiting_lora_adapters"),
            );
            Some((seen.parse::<f64>().unwrap(), pair))
        });
        let newest = series.max_by(|(one, _), (other, _)| one.total_cmp(other));
        newest.unwrap().1
    }

    async fn set_faults(&self, faults: &[&str]) {
        let (status, answer) = self.ask("/fault", &json!({ "faults": faults })).await;
        assert_eq!(status, StatusCode::OK);
        assert_eq!(answer, json!({ "faults": faults }));
    }

    async fn metric(&self, sample: &str) -> f64 {
        let page = self.get("/metrics").await;
        let line = page.lines().find_map(|line| line.strip_prefix(sample));
        line.unwrap().trim().parse().unwrap()
    }

    /// Asks for a metric again and again until it has the value.
    async fn until_metric(&self, sample: &str, value: f64) {
        for _ in 0..10_000 {
            if (self.metric(sample).await - value).abs() < f64::EPSILON {
                return;
            }
        }
        panic!("{sample} never was {value}");
    }

    async fn stop(mut self) {
        drop(self.stop.take());
        self.server.await.unwrap().unwrap();
    }
}

/// The whole body as text, or the error that broke it.
async fn text(response: Response<Incoming>) -> Result<String> {
    let body = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(body.to_vec())?)
}

/// The events of a stream; the last one must be `[DONE]`, which is left out.
fn events(stream: &str) -> Vec<Value> {
    let events = stream.strip_suffix("data: [DONE]\n\n").unwrap();
    events
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn chat(content: &str, output_tokens: u32) -> Value {
    json!({
        "model": "stand-in",
        "max_tokens": output_tokens,
        "messages": [{ "role": "user", "content": content }],
    })
}

fn of_model(model: &str, mut body: Value) -> Value {
    body["model"] = json!(model);
    body
}

/// A sample with the labels of the engine and the model.
fn of_model_metric(name: &str) -> String {
    format!("{name}{{engine=\"0\",model_name=\"stand-in\"}}")
}

/// Requests that wait for a reason.
fn waiting(reason: &str) -> String {
    format!(
        "vllm:num_requests_waiting_by_reason{{engine=\"0\",model_name=\"stand-in\",\
         reason=\"{reason}\"}}"
    )
}

fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    body
}

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";
const LOAD: &str = "/v1/load_lora_adapter";
const UNLOAD: &str = "/v1/unload_lora_adapter";
const RUNNING: &str = "vllm:num_requests_running{engine=\"0\",model_name=\"stand-in\"}";
const ABORTED: &str = "vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",\
                       model_name=\"stand-in\"}";

/// A step of three minutes of real time: no token comes by itself within a test.
const ENDLESS: &[&str] = &["--decode-step-ms", "3600000"];

#[test]
fn a_wrong_command_line_is_refused() {
    for line in [
        ["--time-scale", "0"],
        ["--time-scale", "NaN"],
        ["--decode-step-ms", "-1"],
        ["--slots", "0"],
        ["--block-tokens", "0"],
        ["--fault", "explode"],
        ["--adapter-slots", "0"],
        ["--adapter-load-ms", "5"],
        ["--lora", "a"],
        ["--role", "half"],
        ["--transfer-ms", "-1"],
        ["--speed", "0"],
    ] {
        assert!(
            Line::try_parse_from(["engine"].iter().chain(&line)).is_err(),
            "{line:?}"
        );
    }
}

#[tokio::test]
async fn a_transfer_is_refused_as_wrong_usage_unless_the_role_has_one() {
    for transfer in [
        ["--transfer-ms", "5"],
        ["--transfer-tokens-per-second", "100000"],
    ] {
        for role in [&[][..], &["--role", "both"], &["--role", "prefill"]] {
            let error = Server::bind(&arguments(&[role, &transfer].concat())).await;
            let error = error.unwrap_err().downcast::<clap::Error>().unwrap();
            assert_eq!(error.exit_code(), 2, "{role:?} {transfer:?}");
        }
        let decode = arguments(&[&["--role", "decode"], &transfer[..]].concat());
        assert!(decode.config().is_ok());
    }
}

#[tokio::test]
async fn models_and_health_are_answered_as_vllm_does() {
    let engine = start(&[
        "--model", "a", "--model", "b", "--blocks", "64", "--name", "e-7",
    ])
    .await;
    let models: Value = serde_json::from_str(&engine.get("/v1/models").await).unwrap();
    assert_eq!(models["object"], "list");
    assert_eq!(models["data"][1]["id"], "b");
    assert_eq!(models["data"][0]["max_model_len"], 64 * 16);
    assert_eq!(engine.get("/health").await, "");
    let (status, error) = engine.ask("/v1/models", &json!({})).await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(error["error"]["code"], 405);
    let response = engine.send(engine.post("/nothing", &json!({}))).await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(response.headers()["x-pointsman-engine"], "e-7");
    drop(response);
    engine.stop().await;
}

#[tokio::test]
async fn a_stop_lets_an_open_stream_end() {
    let mut engine = start(&[]).await;
    let response = engine
        .send(engine.post(CHAT, &streamed(chat("hi", 100))))
        .await;
    drop(engine.stop.take());
    let stream = text(response).await.unwrap();
    assert_eq!(events(&stream).len(), 1 + 100 + 1);
    engine.stop().await;
}
