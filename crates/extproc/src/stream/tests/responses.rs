use std::panic::{AssertUnwindSafe, catch_unwind};

use insta::assert_snapshot;
use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;

use super::*;

/// A request that was picked, with its request phase cut out of the record.
fn routed(mut exchange: Exchange) -> Exchange {
    exchange.post().body(&chat(), Ends::Here).picked();
    exchange.actions.clear();
    exchange.transcript.clear();
    exchange
}

fn trailers_only() -> Exchange {
    routed(Exchange::declared(
        BodySendMode::FullDuplexStreamed,
        BodySendMode::None,
    ))
}

fn ends(exchange: &Exchange) -> Vec<EndCause> {
    let causes = exchange.actions.iter().filter_map(|action| match action {
        Action::Ended(cause) => Some(*cause),
        _ => None,
    });
    causes.collect()
}

const USAGE: &str =
    r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":10,"total_tokens":17}}"#;

#[test]
fn b32_b33_a_token_stream_passes_as_it_comes_and_its_usage_is_read() {
    let mut exchange = routed(Exchange::duplex());
    exchange.metadata = Some(metadata_text(
        "envoy.lb",
        "x-gateway-destination-endpoint-served",
        "10.0.0.2:8000",
    ));
    exchange
        .send(Request::ResponseHeaders(HttpHeaders {
            headers: header_map(&[
                (":status", "200"),
                ("content-type", "text/event-stream; charset=utf-8"),
                ("transfer-encoding", "chunked"),
            ]),
            end_of_stream: false,
        }))
        .send(response_body("", Ends::Later))
        .send(response_body("data: {\"choices\":[]}\n\n", Ends::Later))
        .send(response_body(&format!("data: {USAGE}\n\n"), Ends::Later))
        .send(response_body("data: [DO", Ends::Later))
        .send(response_body("NE]\n\n", Ends::Here))
        .step("closed", Stream::closed);
    assert_snapshot!(exchange.transcript);
}

#[test]
fn a_plain_response_is_read_to_its_end_in_every_form() {
    let usage = Observation::Usage(Usage {
        prompt: Tokens(7),
        output: Tokens(10),
        cached: None,
        reasoning: None,
    });
    for exchange in [
        Exchange::duplex(),
        Exchange::declared(BodySendMode::FullDuplexStreamed, BodySendMode::Streamed),
        Exchange::undeclared(),
    ] {
        let mut exchange = routed(exchange);
        let (first, second) = USAGE.split_at(40);
        exchange
            .send(response_headers("200", "application/json", Ends::Later))
            .send(response_body(first, Ends::Later))
            .send(response_body(second, Ends::Here));
        assert_eq!(
            exchange.actions[exchange.actions.len() - 2..],
            [Action::Observed(usage), Action::Ended(EndCause::Complete)]
        );
    }
}

#[test]
fn b40_a_response_that_cannot_be_read_passes_unchanged() {
    let body = "{\"id\":1}\n{\"id\":2}\n\n";
    let mut exchange = routed(Exchange::duplex());
    exchange
        .send(response_headers("200", "text/event-stream", Ends::Later))
        .send(response_body(body, Ends::Here));
    let pieces = exchange.streamed(Direction::Response);
    assert_eq!(pieces.len(), 1);
    assert_eq!(pieces[0].body, body);
    assert_eq!(ends(&exchange), [EndCause::Complete]);
}

#[test]
fn b21_a_large_response_message_is_cut_without_a_copy() {
    let body = Bytes::from(vec![b'x'; 150_000]);
    let mut exchange = routed(Exchange::duplex());
    exchange
        .send(response_headers("200", "application/json", Ends::Later))
        .send(Request::ResponseBody(http_body(body.clone(), Ends::Here)));
    let pieces = exchange.streamed(Direction::Response);
    let lengths: Vec<_> = pieces.iter().map(|piece| piece.body.len()).collect();
    assert_eq!(lengths, [62_000, 62_000, 26_000]);
    for (index, piece) in pieces.iter().enumerate() {
        assert_eq!(piece.body.as_ptr(), body[index * 62_000..].as_ptr());
        assert_eq!(piece.end_of_stream, index == 2);
    }
}

#[test]
fn b43_a_response_ends_with_its_trailers_and_fails_by_their_status() {
    let mut failed = routed(Exchange::duplex());
    failed
        .send(response_headers("200", "application/grpc", Ends::Later))
        .send(response_body("message", Ends::Later))
        .send(response_trailers(&[("grpc-status", "10")]))
        .step("closed", Stream::closed);
    assert_snapshot!(failed.transcript);

    let mut good = trailers_only();
    good.send(response_headers("200", "application/grpc", Ends::Later))
        .send(response_trailers(&[("grpc-status", "0")]));
    assert_eq!(ends(&good), [EndCause::Complete]);
}

/// The statuses that the pool is told.
fn answered(exchange: &Exchange) -> Vec<u16> {
    let told = exchange.actions.iter().filter_map(|action| match action {
        Action::Observed(Observation::Answered { status }) => Some(*status),
        _ => None,
    });
    told.collect()
}

#[test]
fn b43_a_call_of_grpc_is_told_as_answered_only_by_its_own_status() {
    let begun = |mut exchange: Exchange| {
        exchange.send(response_headers("200", "application/grpc", Ends::Later));
        assert!(answered(&exchange).is_empty());
        exchange
    };
    for (code, status) in [("0", 200), ("3", 400), ("14", 503)] {
        for exchange in [routed(Exchange::duplex()), trailers_only()] {
            let mut call = begun(exchange);
            call.send(response_trailers(&[("grpc-status", code)]));
            assert_eq!(answered(&call), [status]);
        }
    }
    // Without trailers before our eyes the headers are all that is known.
    let mut unseen = begun(trailers_only());
    unseen.step("closed", Stream::closed);
    assert_eq!(answered(&unseen), [200]);
    let mut cut = begun(routed(Exchange::duplex()));
    cut.step("closed", Stream::closed);
    assert!(answered(&cut).is_empty());

    let mut refused = routed(Exchange::duplex());
    refused.send(response_headers("503", "application/grpc", Ends::Later));
    assert_eq!(answered(&refused), [503]);
    let mut at_once = routed(Exchange::duplex());
    at_once.send(Request::ResponseHeaders(HttpHeaders {
        headers: header_map(&[
            (":status", "200"),
            ("content-type", "application/grpc"),
            ("grpc-status", "14"),
        ]),
        end_of_stream: true,
    }));
    assert_eq!(answered(&at_once), [503]);
}

#[test]
fn counts_that_an_engine_reported_are_told_when_its_answer_is_cut() {
    let so_far =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";
    let mut exchange = routed(Exchange::duplex());
    exchange
        .send(response_headers("200", "text/event-stream", Ends::Later))
        .send(response_body(
            "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n",
            Ends::Later,
        ))
        .send(response_body(so_far, Ends::Later))
        .step("closed", Stream::closed);
    let [
        ..,
        Action::Observed(Observation::Usage(usage)),
        Action::Ended(EndCause::Cut),
    ] = exchange.actions.as_slice()
    else {
        panic!("{:?}", exchange.actions);
    };
    assert_eq!((usage.prompt, usage.output), (Tokens(7), Tokens(2)));
}

#[test]
fn failure_a_panic_at_the_end_of_a_response_loses_neither_its_last_piece_nor_its_end() {
    for end in [
        response_body("last", Ends::Here),
        response_trailers(&[("grpc-status", "0")]),
    ] {
        let mut exchange = routed(Exchange::duplex());
        exchange
            .send(response_headers("200", "text/event-stream", Ends::Later))
            .send(response_body("first ", Ends::Later));
        let message = ProcessingRequest {
            request: Some(end),
            ..ProcessingRequest::default()
        };
        let unread = exchange.stream.unread(&message);
        PANICS.set(true);
        let stream = &mut exchange.stream;
        let read = AssertUnwindSafe(|| stream.message(message, &mut Vec::new()));
        let panicked = catch_unwind(read);
        PANICS.set(false);
        assert!(panicked.is_err());
        exchange.step("recovered", |stream, actions| {
            stream.recover(unread, actions)
        });
        assert_eq!(ends(&exchange), [EndCause::Complete]);
        assert_snapshot!(exchange.transcript);
    }
}

#[test]
fn load_reports_stay_hidden_where_nothing_is_read_any_more() {
    let settings = Settings {
        load_reports: LoadReports::Removed,
        ..Settings::default()
    };
    let mut exchange = Exchange::duplex();
    exchange.stream = Stream::new(settings);
    let mut exchange = routed(exchange);
    for request in [
        response_headers("200", "text/event-stream", Ends::Later),
        response_trailers(&[]),
    ] {
        let message = ProcessingRequest {
            request: Some(request),
            ..ProcessingRequest::default()
        };
        exchange.step("recovered", |stream, actions| {
            let unread = stream.unread(&message);
            stream.recover(unread, actions);
        });
    }
    let removed = exchange.actions.iter().filter_map(|action| {
        let Action::Reply(reply) = action else {
            return None;
        };
        match reply.response.as_ref()? {
            Response::ResponseHeaders(headers) => {
                headers.response.as_ref()?.header_mutation.as_ref()
            }
            Response::ResponseTrailers(trailers) => trailers.header_mutation.as_ref(),
            _ => None,
        }
    });
    let removed: Vec<_> = removed.map(|it| it.remove_headers.clone()).collect();
    assert_eq!(
        removed,
        [
            pointsman_observe::orca::NAMES,
            pointsman_observe::orca::NAMES
        ]
    );
}

#[test]
fn a_response_without_a_body_ends_with_its_headers() {
    let ends_of = |status: &str, content_type: &str| {
        let mut exchange = routed(Exchange::duplex());
        exchange.send(response_headers(status, content_type, Ends::Here));
        ends(&exchange)
    };
    assert_eq!(ends_of("204", "text/plain"), [EndCause::Complete]);
    assert_eq!(ends_of("503", "text/plain"), [EndCause::EngineError]);

    let mut grpc = routed(Exchange::duplex());
    grpc.send(Request::ResponseHeaders(HttpHeaders {
        headers: header_map(&[(":status", "200"), ("grpc-status", "14")]),
        end_of_stream: true,
    }));
    assert_eq!(ends(&grpc), [EndCause::EngineError]);
}

#[test]
fn where_no_body_is_sent_the_end_of_the_stream_ends_the_response() {
    for (status, cause) in [("200", EndCause::Complete), ("500", EndCause::EngineError)] {
        let mut exchange = trailers_only();
        exchange.send(response_headers(status, "text/event-stream", Ends::Later));
        assert_eq!(ends(&exchange), []);
        exchange.step("closed", Stream::closed);
        assert_eq!(ends(&exchange), [cause]);
    }
    let mut silent = trailers_only();
    silent.step("closed", Stream::closed);
    assert_eq!(ends(&silent), [EndCause::Cut]);
}

#[test]
fn b34_a_stream_that_ends_before_the_body_it_shows_was_cut_once() {
    let mut exchange = routed(Exchange::duplex());
    exchange
        .send(response_headers("200", "text/event-stream", Ends::Later))
        .send(response_body("data: {}\n\n", Ends::Later))
        .step("closed", Stream::closed)
        .step("closed", Stream::closed)
        .send(response_body("data: {}\n\n", Ends::Here));
    assert_eq!(ends(&exchange), [EndCause::Cut]);
}

#[test]
fn a_decision_after_the_end_is_ignored() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .step("closed", Stream::closed);
    let before = exchange.actions.len();
    exchange.picked();
    assert_eq!(exchange.actions.len(), before);
    assert_eq!(ends(&exchange), [EndCause::Cut]);
}

#[test]
fn a_reply_of_the_gateway_to_a_request_that_still_waits_cuts_it() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .send(response_headers("504", "text/plain", Ends::Later))
        .send(response_body("timeout", Ends::Here))
        .picked();
    assert_snapshot!(exchange.transcript);
    assert_eq!(exchange.stream.held_bytes(), 0);
}
