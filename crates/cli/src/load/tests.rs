use core::convert::Infallible;
use std::sync::Mutex;

use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;
use crate::workload::{Workload, plan};

/// A server that remembers what it was asked and answers each question by `answer`.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Value>>>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(answer: fn(&Value) -> Response<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let log = Arc::clone(&log);
                let service = service_fn(move |request: Request<Incoming>| {
                    let log = Arc::clone(&log);
                    async move {
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        let question: Value = serde_json::from_slice(&body).unwrap();
                        let response = answer(&question);
                        log.lock().unwrap().push(question);
                        Ok::<_, Infallible>(response)
                    }
                });
                connections.spawn(async move {
                    let connection = http1::Builder::new();
                    let _ = connection
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self {
            address,
            asked,
            _tasks: tasks,
        }
    }

    fn options(&self) -> LoadOptions {
        LoadOptions {
            address: self.address,
            model: "m".to_owned(),
            time_scale: 1e6,
            duration: Duration::from_secs(600),
        }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

/// An answer that tells how many messages it was asked with.
fn stream(question: &Value) -> Response<String> {
    let count = question["messages"].as_array().unwrap().len();
    let body = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"answer {count}\"}}}}]}}\n\n\
         data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":100,\
         \"prompt_tokens_details\":{{\"cached_tokens\":60}}}}}}\n\n\
         data: [DONE]\n\n"
    );
    let mut response = Response::new(body);
    let name = header::HeaderValue::from_static("engine-7");
    response.headers_mut().insert(ENGINE_HEADER, name);
    response
}

fn refusal(_: &Value) -> Response<String> {
    let mut response = Response::new("data: [DONE]\n\n".to_owned());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}

fn cut_stream(question: &Value) -> Response<String> {
    stream(question).map(|body| body.replace("data: [DONE]", ""))
}

fn sessions() -> Vec<Session> {
    plan(&Workload::built_in().unwrap(), 7, Duration::from_secs(60))
}

fn turns(sessions: &[Session]) -> usize {
    sessions.iter().map(|session| session.turns.len()).sum()
}

#[tokio::test]
async fn every_planned_message_is_sent_once_and_its_answer_is_measured() {
    let server = Server::start(stream).await;
    let sessions = sessions();
    let mut most = 0;
    let outcomes = run(&sessions, &server.options(), |progress| {
        most = progress.finished
    })
    .await
    .unwrap();
    assert_eq!(outcomes.len(), turns(&sessions));
    assert_eq!(most, outcomes.len());
    for outcome in &outcomes {
        let answer = outcome.answer.as_ref().unwrap();
        assert_eq!((answer.prompt_tokens, answer.cached_tokens), (100, 60));
        assert_eq!(answer.engine, "engine-7");
    }
}

#[tokio::test]
async fn a_message_quotes_the_answers_before_it_as_they_came() {
    let server = Server::start(stream).await;
    let sessions: Vec<Session> = sessions()
        .into_iter()
        .filter(|session| session.turns.len() > 1)
        .take(1)
        .collect();
    run(&sessions, &server.options(), |_| {}).await.unwrap();
    let asked = server.asked();
    let second = asked[1]["messages"].as_array().unwrap();
    let roles: Vec<_> = second.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(second[..2], asked[0]["messages"].as_array().unwrap()[..]);
    assert_eq!(second[2]["content"], "answer 2");
}

#[tokio::test]
async fn a_refused_or_cut_answer_is_a_failure_and_ends_its_chat() {
    for (answer, reason) in [
        (refusal as fn(&Value) -> Response<String>, "status 503"),
        (cut_stream, "the stream ended before its end mark"),
    ] {
        let server = Server::start(answer).await;
        let sessions = sessions();
        let outcomes = run(&sessions, &server.options(), |_| {}).await.unwrap();
        assert_eq!(outcomes.len(), sessions.len());
        for outcome in outcomes {
            assert_eq!(outcome.answer.unwrap_err(), reason);
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure_with_its_cause() {
    let server = Server::start(stream).await;
    let options = server.options();
    drop(server);
    let sessions = sessions();
    let outcomes = run(&sessions[..1], &options, |_| {}).await.unwrap();
    let reason = outcomes[0].answer.as_ref().unwrap_err();
    assert!(reason.contains("refused"), "{reason}");
}

#[tokio::test]
async fn nothing_is_sent_after_the_duration_and_nothing_fails_because_of_that() {
    let server = Server::start(stream).await;
    let options = LoadOptions {
        duration: Duration::ZERO,
        ..server.options()
    };
    let outcomes = run(&sessions(), &options, |_| {}).await.unwrap();
    assert!(outcomes.is_empty());
    assert!(server.asked().is_empty());
}
