//! What each request gets.

use core::error::Error;
use core::future::pending;
use core::num::NonZeroU32;
use core::sync::atomic::AtomicU64;
use std::io;
use std::sync::Mutex;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt as _, Either, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use pointsman_engine::config::EngineConfig;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::adapters::Adapters;
use super::ask::{Ask, Dialect};
use super::driver::handle::{DriverHandle, Gone};
use super::exposition::Page;
use super::fault::{Fault, Faults};
use super::problem::Problem;
use super::prompt::Author;
use super::stream::EventStream;

/// Everything that a request may need.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) name: HeaderValue,
    /// The names under which the model is served; never empty, the first one labels the metrics.
    pub(crate) models: Vec<String>,
    pub(crate) adapters: Mutex<Adapters>,
    pub(crate) config: EngineConfig,
    pub(crate) output_tokens: NonZeroU32,
    pub(crate) author: Author,
    pub(crate) driver: DriverHandle,
    pub(crate) faults: watch::Sender<Faults>,
    /// When the engine started, as Unix time in seconds.
    pub(crate) start_seconds: f64,
    pub(crate) answers: AtomicU64,
}

/// A response body: all at once, or as a stream.
pub(crate) type Reply = Either<Full<Bytes>, EventStream>;

impl Site {
    /// Answers a request; an error closes the connection without an answer.
    pub(crate) async fn handle(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Reply>, io::Error> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        let faults = self.faults.borrow().clone();
        let fault = faults.instead_of_answer().filter(|_| path != FAULT_PATH);
        if fault == Some(Fault::Refuse) {
            return Err(io::Error::other("the connection is refused"));
        }
        let body = read(body).await;
        let answered = match (fault, body) {
            (Some(Fault::Stall), _) => return pending().await,
            (Some(Fault::Error(status)), _) => Err(Problem::status(status)),
            (_, Err(problem)) => Err(problem),
            (_, Ok(body)) => self.route(&parts, &body, &faults).await,
        };
        let mut response = answered
            .unwrap_or_else(|problem| respond(problem.status, "application/json", problem.body()));
        response
            .headers_mut()
            .insert(ENGINE_HEADER, self.name.clone());
        Ok(response)
    }

    async fn route(
        &self,
        head: &Parts,
        body: &[u8],
        faults: &Faults,
    ) -> Result<Response<Reply>, Problem> {
        let path = head.uri.path();
        let wanted = match path {
            CHAT_PATH | TEXT_PATH | LOAD_PATH | UNLOAD_PATH | FAULT_PATH => Method::POST,
            "/v1/models" | "/health" | "/metrics" => Method::GET,
            _ => return Err(Problem::status(StatusCode::NOT_FOUND)),
        };
        if head.method != wanted {
            return Err(Problem::status(StatusCode::METHOD_NOT_ALLOWED));
        }
        match path {
            CHAT_PATH => {
                let ask = Ask::parse(Dialect::Chat, body)?;
                self.complete(ask, &head.headers, faults).await
            }
            TEXT_PATH => {
                let ask = Ask::parse(Dialect::Text, body)?;
                self.complete(ask, &head.headers, faults).await
            }
            LOAD_PATH => self.load_adapter(body),
            UNLOAD_PATH => self.unload_adapter(body),
            FAULT_PATH => self.change_faults(body),
            "/v1/models" => Ok(self.models()),
            "/metrics" => self.metrics().await,
            _ => Ok(respond(StatusCode::OK, "text/plain", "")),
        }
    }

    async fn metrics(&self) -> Result<Response<Reply>, Problem> {
        let page = Page {
            model: self.models.first().map_or("", String::as_str),
            config: &self.config,
            snapshot: &self.driver.snapshot().await?,
            start_seconds: self.start_seconds,
        };
        let kind = "text/plain; version=0.0.4; charset=utf-8";
        Ok(respond(StatusCode::OK, kind, page.to_string()))
    }

    /// Replaces the faults in force; answers with those that are in force now.
    fn change_faults(&self, body: &[u8]) -> Result<Response<Reply>, Problem> {
        let wanted: FaultList = read_json(body)?;
        let faults = wanted.faults.iter().map(|text| text.parse());
        let faults: Vec<Fault> = faults
            .collect::<Result<_, _>>()
            .map_err(|problem: String| Problem::bad_request(problem, Some("faults")))?;
        let in_force: Vec<String> = faults.iter().map(Fault::to_string).collect();
        self.faults.send_replace(Faults(faults));
        let body = json!({ "faults": in_force }).to_string();
        Ok(respond(StatusCode::OK, "application/json", body))
    }
}

#[derive(Deserialize)]
struct FaultList {
    faults: Vec<String>,
}

impl From<Gone> for Problem {
    fn from(_: Gone) -> Self {
        Self::status(StatusCode::SERVICE_UNAVAILABLE)
    }
}

async fn read(body: Incoming) -> Result<Bytes, Problem> {
    let too_large = || Problem::status(StatusCode::PAYLOAD_TOO_LARGE);
    if body.size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(unreadable(error.as_ref())),
    }
}

fn unreadable(error: &(dyn Error + 'static)) -> Problem {
    Problem::bad_request(format!("The body cannot be read: {error}"), None)
}

/// Reads a small body: a JSON object. On its own, serde would also take a list of a struct's members.
pub(crate) fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body)
        .and_then(|object| serde_json::from_value(Value::Object(object)))
        .map_err(|error| Problem::bad_request(format!("Invalid JSON: {error}"), None))
}

/// A response whose body is there.
pub(crate) fn respond(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<Bytes>,
) -> Response<Reply> {
    response(status, kind, Either::Left(Full::new(body.into())))
}

/// A response.
pub(crate) fn response(status: StatusCode, kind: &'static str, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Says which engine answered.
const ENGINE_HEADER: HeaderName = HeaderName::from_static("x-pointsman-engine");

const CHAT_PATH: &str = "/v1/chat/completions";
const TEXT_PATH: &str = "/v1/completions";
const LOAD_PATH: &str = "/v1/load_lora_adapter";
const UNLOAD_PATH: &str = "/v1/unload_lora_adapter";

/// Where faults are set; it is answered whatever fault is in force.
const FAULT_PATH: &str = "/fault";

const BODY_BYTES_MAX: usize = 64 << 20;
