use super::*;
use crate::reply::OF_ANOTHER_BODY;

const CLIENT_BODY: &[u8] =
    br#"{ "big": 12345678901234567890123 , "model" : "public-a","messages":[{"role":"user","content":"public-a"}]}"#;
const ENGINE_BODY: &[u8] =
    br#"{ "big": 12345678901234567890123 , "model" : "internal-a-07","messages":[{"role":"user","content":"public-a"}]}"#;
const ENGINE_ANSWER: &str =
    r#"{"id":"1","model":"internal-a-07","choices":[{"message":{"content":"internal-a-07"}}]}"#;
const CLIENT_ANSWER: &str =
    r#"{"id":"1","model":"public-a","choices":[{"message":{"content":"internal-a-07"}}]}"#;

impl Exchange {
    /// The pool picks, and has the engine asked for another model.
    fn picked_as(&mut self, model: &str) -> &mut Self {
        let decision = Decision::Picked(Pick {
            model: Some(model.into()),
            ..pick("10.0.0.1:8000")
        });
        self.step("picked", |stream, actions| {
            stream.decided(&decision, actions)
        })
    }

    fn joined(&self, direction: Direction) -> Vec<u8> {
        let pieces = self.streamed(direction);
        pieces
            .iter()
            .flat_map(|piece| piece.body.to_vec())
            .collect()
    }

    /// Headers that answers of this direction remove.
    fn removed(&self, direction: Direction) -> Vec<String> {
        let mutations = self.actions.iter().filter_map(|action| match action {
            Action::Reply(reply) => match (direction, reply.response.as_ref()?) {
                (Direction::Request, Response::RequestHeaders(headers))
                | (Direction::Response, Response::ResponseHeaders(headers)) => {
                    headers.response.as_ref()?.header_mutation.clone()
                }
                (Direction::Request, Response::RequestBody(body)) => {
                    body.response.as_ref()?.header_mutation.clone()
                }
                (Direction::Response, Response::ResponseTrailers(trailers)) => {
                    trailers.header_mutation.clone()
                }
                _ => None,
            },
            _ => None,
        });
        mutations
            .flat_map(|mutation| mutation.remove_headers)
            .collect()
    }

    /// The bodies that take the place of what the gateway keeps, or the bytes that stay.
    fn replaced(&self, direction: Direction) -> Vec<Option<Mutation>> {
        let bodies = self.actions.iter().filter_map(|action| match action {
            Action::Reply(reply) => match (direction, reply.response.as_ref()?) {
                (Direction::Request, Response::RequestBody(body))
                | (Direction::Response, Response::ResponseBody(body)) => Some(body),
                _ => None,
            },
            _ => None,
        });
        bodies
            .map(|body| {
                body.response
                    .as_ref()?
                    .body_mutation
                    .as_ref()?
                    .mutation
                    .clone()
            })
            .collect()
    }
}

#[test]
fn b20_b41_a_model_has_one_name_for_the_client_and_another_for_the_engine() {
    for cut in 1..CLIENT_BODY.len() {
        let mut exchange = Exchange::duplex();
        let body = Bytes::from_static(CLIENT_BODY);
        exchange
            .post()
            .body(&body.slice(..cut), Ends::Later)
            .body(&body.slice(cut..), Ends::Here)
            .picked_as("internal-a-07");
        assert_eq!(exchange.asked().model.name(), Some("public-a"));
        assert_eq!(exchange.joined(Direction::Request), ENGINE_BODY);
        let removed = exchange.removed(Direction::Request);
        for name in OF_ANOTHER_BODY.iter().chain(&["accept-encoding"]) {
            assert!(removed.iter().any(|removed| removed == name), "{name}");
        }
        assert!(!removed.contains(&"content-encoding".to_owned()));
    }
}

#[test]
fn b41_the_clients_name_comes_back_wherever_the_answer_is_cut() {
    for cut in 1..ENGINE_ANSWER.len() {
        let (first, rest) = ENGINE_ANSWER.split_at(cut);
        let mut exchange = Exchange::duplex();
        exchange
            .post()
            .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
            .picked_as("internal-a-07")
            .send(response_headers("200", "application/json", Ends::Later))
            .send(response_body(first, Ends::Later))
            .send(response_body(rest, Ends::Here));
        assert_eq!(
            exchange.joined(Direction::Response),
            CLIENT_ANSWER.as_bytes()
        );
        let pieces = exchange.streamed(Direction::Response);
        assert!(pieces.last().unwrap().end_of_stream);
        assert!(
            exchange
                .removed(Direction::Response)
                .contains(&"content-length".to_owned())
        );
    }
}

#[test]
fn b41_what_is_held_back_of_an_answer_comes_out_before_its_trailers() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
        .picked_as("internal-a-07")
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body(r#"{"model":"internal-a"#, Ends::Later))
        .send(response_trailers(&[]));
    assert_eq!(
        exchange.joined(Direction::Response),
        br#"{"model":"internal-a"#
    );
    let last = exchange
        .actions
        .iter()
        .rev()
        .find_map(|action| match action {
            Action::Reply(reply) => reply.response.as_ref(),
            _ => None,
        });
    assert!(matches!(last, Some(Response::ResponseTrailers(_))));
}

#[test]
fn a_gateway_that_keeps_bodies_is_given_the_other_ones() {
    let mut exchange = Exchange::declared(BodySendMode::Buffered, BodySendMode::Streamed);
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here);
    assert!(exchange.stream.held_bytes() > 0);
    exchange.picked_as("internal-a-07");
    assert_eq!(exchange.stream.held_bytes(), 0);
    assert_eq!(
        exchange.replaced(Direction::Request),
        [Some(Mutation::Body(Bytes::from_static(ENGINE_BODY)))]
    );
    exchange
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body(r#"{"id":1,"model":"#, Ends::Later))
        .send(response_body(r#""internal-a-07"}"#, Ends::Later))
        .send(response_body("", Ends::Here));
    let replaced = exchange.replaced(Direction::Response);
    assert_eq!(replaced.first(), Some(&None));
    let named = Bytes::from_static(br#""public-a"}"#);
    assert_eq!(replaced.get(1), Some(&Some(Mutation::Body(named))));
    assert_eq!(replaced.get(2), Some(&None));
}

#[test]
fn b09_a_body_without_a_model_gets_one() {
    let mut exchange = Exchange::duplex();
    let body = Bytes::from_static(br#"{"messages":[{"role":"user","content":"hi"}]}"#);
    exchange.post().body(&body, Ends::Here).picked_as("m");
    assert_eq!(
        exchange.joined(Direction::Request),
        br#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#
    );
}

#[test]
fn a_body_that_cannot_name_another_model_is_refused_and_not_sent_as_it_is() {
    let mut exchange = Exchange::duplex();
    exchange
        .send(request_headers("POST", "/v2/models/m/infer", Ends::Later))
        .body(&Bytes::from_static(b"{}"), Ends::Here)
        .picked_as("m");
    assert!(exchange.transcript.contains("< immediate 400"));
    assert_eq!(
        exchange.actions.last(),
        Some(&Action::Ended(EndCause::Refused))
    );
    assert_eq!(exchange.stream.held_bytes(), 0);
}

#[test]
fn an_answer_whose_body_does_not_come_here_keeps_its_headers() {
    let mut exchange = Exchange::declared(BodySendMode::FullDuplexStreamed, BodySendMode::None);
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
        .picked_as("internal-a-07")
        .send(response_headers("200", "application/json", Ends::Later));
    assert_eq!(exchange.removed(Direction::Response), [""; 0]);
}

#[test]
fn load_reports_are_read_and_kept_from_the_client_where_that_is_wanted() {
    for (load_reports, removed) in [
        (LoadReports::Kept, &[][..]),
        (
            LoadReports::Removed,
            &["endpoint-load-metrics", "endpoint-load-metrics"][..],
        ),
    ] {
        let mut exchange = Exchange::duplex();
        exchange.stream = Stream::new(Settings {
            load_reports,
            ..Settings::default()
        });
        let report = r#"JSON {"named_metrics":{"num_requests_waiting":3}}"#;
        exchange
            .post()
            .body(&chat(), Ends::Here)
            .picked()
            .send(Request::ResponseHeaders(HttpHeaders {
                headers: header_map(&[(":status", "200"), ("Endpoint-Load-Metrics", report)]),
                end_of_stream: false,
            }))
            .send(response_body("{}", Ends::Later))
            .send(response_trailers(&[("endpoint-load-metrics", report)]));
        assert_eq!(exchange.removed(Direction::Response), removed);
        let waiting = exchange.actions.iter().filter_map(|action| match action {
            Action::Observed(Observation::Load(load)) => load.waiting,
            _ => None,
        });
        assert_eq!(waiting.collect::<Vec<_>>(), [3, 3]);
    }
}

#[test]
fn the_models_of_all_engines_are_listed_here_where_that_is_wanted() {
    let merged = Settings {
        model_list: ModelList::Merged,
        ..Settings::default()
    };
    let asks = |path, method| {
        let mut exchange = Exchange::duplex();
        exchange.stream = Stream::new(merged);
        exchange.send(request_headers(method, path, Ends::Here));
        exchange
    };
    let mut listed = asks("/v1/models?limit=1", "GET");
    assert_eq!(listed.actions, [Action::ListModels]);
    listed.step("listed", |stream, actions| {
        stream.listed(Some(Bytes::from_static(b"{}")), actions);
    });
    assert!(listed.transcript.contains("< immediate 200"));

    // Where nobody knows them yet, an engine tells its own.
    let mut unknown = asks("/v1/models", "GET");
    unknown.step("listed", |stream, actions| stream.listed(None, actions));
    assert_eq!(unknown.asked().dialect, Dialect::Passthrough);

    for (path, method) in [("/v1/models/m", "GET"), ("/v1/models", "DELETE")] {
        assert!(matches!(asks(path, method).actions[..], [Action::Ask(_)]));
    }
    let mut of_engine = Exchange::duplex();
    of_engine.send(request_headers("GET", "/v1/models", Ends::Here));
    assert!(matches!(of_engine.actions[..], [Action::Ask(_)]));
}

/// Reading the message panics, before the machine has taken it in or after.
fn panic_over(exchange: &mut Exchange, request: Request, was_taken: bool) {
    let message = ProcessingRequest {
        request: Some(request),
        ..ProcessingRequest::default()
    };
    exchange.step("panicked", |stream, actions| {
        let unread = stream.unread(&message);
        if was_taken {
            stream.message(message, &mut Vec::new());
        }
        stream.recover(unread, actions);
    });
}

#[test]
fn failure_a_panic_loses_no_byte_of_an_answer_that_was_held_back() {
    for cut in 1..ENGINE_ANSWER.len() - 1 {
        for was_taken in [false, true] {
            let mut exchange = Exchange::duplex();
            exchange
                .post()
                .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
                .picked_as("internal-a-07")
                .send(response_headers("200", "application/json", Ends::Later))
                .send(response_body(&ENGINE_ANSWER[..cut], Ends::Later));
            let rest = &ENGINE_ANSWER[cut..];
            panic_over(&mut exchange, response_body(rest, Ends::Later), was_taken);
            exchange.send(response_body("", Ends::Here));

            let given = exchange.joined(Direction::Response);
            let place = ENGINE_ANSWER.find("internal-a-07").unwrap() + "internal-a-07\"".len();
            // A name that had passed whole is the client's.
            let named = if cut < place {
                ENGINE_ANSWER
            } else {
                CLIENT_ANSWER
            };
            assert_eq!(given, named.as_bytes(), "{cut} {was_taken}");
            assert_eq!(
                exchange.actions.last(),
                Some(&Action::Ended(EndCause::Complete))
            );
        }
    }
}

#[test]
fn failure_a_panic_over_trailers_loses_no_byte_that_was_held_back() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
        .picked_as("internal-a-07")
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body(r#"{"model":"internal-a"#, Ends::Later));
    panic_over(&mut exchange, response_trailers(&[]), false);
    assert_eq!(
        exchange.joined(Direction::Response),
        br#"{"model":"internal-a"#
    );
    assert_eq!(
        exchange.actions.last(),
        Some(&Action::Ended(EndCause::Complete))
    );
}

#[test]
fn failure_a_gateway_that_keeps_bodies_gets_back_what_was_held_back() {
    let mut exchange = Exchange::declared(BodySendMode::FullDuplexStreamed, BodySendMode::Streamed);
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here)
        .picked_as("internal-a-07")
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body(r#"{"model":"intern"#, Ends::Later));
    panic_over(
        &mut exchange,
        response_body(r#"al-a-07"}"#, Ends::Here),
        false,
    );
    let replaced = exchange.replaced(Direction::Response);
    let rest = Bytes::from_static(br#""internal-a-07"}"#);
    assert_eq!(replaced.last(), Some(&Some(Mutation::Body(rest))));
}

#[test]
fn failure_a_panic_after_the_question_does_not_keep_a_model_from_its_name() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&Bytes::from_static(CLIENT_BODY), Ends::Here);
    panic_over(
        &mut exchange,
        Request::RequestTrailers(HttpTrailers::default()),
        false,
    );
    exchange.picked_as("internal-a-07");
    assert_eq!(exchange.joined(Direction::Request), ENGINE_BODY);
}

#[test]
fn failure_b15_a_panic_over_request_headers_lets_none_of_the_systems_pass() {
    let mut exchange = Exchange::duplex();
    panic_over(
        &mut exchange,
        request_headers("POST", "/v1/chat/completions", Ends::Later),
        false,
    );
    exchange.body(&chat(), Ends::Here).picked();
    let removed = exchange.removed(Direction::Request);
    for name in ["x-data-parallel-rank", "x-prefiller-host-port"] {
        assert!(removed.iter().any(|removed| removed == name), "{name}");
    }
}

#[test]
fn the_text_of_an_error_is_no_output() {
    for status in ["429", "500"] {
        let mut exchange = Exchange::duplex();
        exchange
            .post()
            .body(&chat(), Ends::Here)
            .picked()
            .send(response_headers(status, "application/json", Ends::Later))
            .send(response_body(r#"{"error":{}}"#, Ends::Here));
        let told = exchange.actions.iter().filter_map(|action| match action {
            Action::Observed(observation) => Some(*observation),
            _ => None,
        });
        let status = status.parse().unwrap();
        assert_eq!(told.collect::<Vec<_>>(), [Observation::Answered { status }]);
    }
}
