use insta::assert_snapshot;

use super::*;

fn limited(body_bytes_max: usize) -> Exchange {
    let settings = Settings {
        body_bytes_max,
        ..Settings::default()
    };
    Exchange {
        stream: Stream::new(settings),
        ..Exchange::duplex()
    }
}

fn refuse(exchange: &mut Exchange, refusal: Refusal) -> &mut Exchange {
    exchange.step("refuse", |stream, actions| stream.refuse(refusal, actions))
}

#[test]
fn b22_b23_a_body_over_the_limit_is_refused_as_soon_as_it_is_over() {
    let mut exchange = limited(64);
    let piece = Bytes::from(vec![b' '; 60]);
    exchange.post().body(&piece, Ends::Later);
    assert_eq!(exchange.stream.held_bytes(), 60 + PIECE_OVERHEAD_BYTES);
    exchange.body(&piece, Ends::Later);
    assert_eq!(exchange.stream.held_bytes(), 0);
    exchange
        .body(&piece, Ends::Here)
        .trailers()
        .picked()
        .send(response_headers("413", "application/json", Ends::Later))
        .step("closed", Stream::closed);
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b23_a_body_at_the_limit_is_held_and_routed() {
    let body = chat();
    let mut exchange = limited(body.len());
    exchange.post().body(&body, Ends::Here).picked();
    assert_eq!(exchange.asked().model.name(), Some("m1"));
}

#[test]
fn b22_the_limit_holds_for_a_buffered_body_and_for_an_announced_length() {
    let mut buffered = Exchange {
        config: Exchange::declared(BodySendMode::Buffered, BodySendMode::None).config,
        ..limited(16)
    };
    buffered.post().body(&chat(), Ends::Here);
    assert_eq!(
        buffered.actions.last(),
        Some(&Action::Ended(EndCause::Refused))
    );

    let announced = |length: &str| {
        let mut exchange = limited(16);
        exchange.send(Request::RequestHeaders(HttpHeaders {
            headers: header_map(&[(":method", "POST"), ("content-length", length)]),
            end_of_stream: false,
        }));
        exchange.actions.len()
    };
    assert_eq!(announced("17"), 2);
    assert_eq!(announced("16"), 0);
}

#[test]
fn the_limit_counts_the_bytes_of_a_body_and_not_its_pieces() {
    let mut exchange = limited(64);
    exchange.post();
    for _ in 0..64 {
        exchange.body(&Bytes::from_static(b" "), Ends::Later);
    }
    let held = 64 * (1 + PIECE_OVERHEAD_BYTES);
    assert_eq!(exchange.stream.held_bytes(), held);
    assert_eq!(exchange.actions, []);
}

#[test]
fn a_body_that_stalls_is_refused_and_frees_what_was_held() {
    for headers in [Exchange::duplex, Exchange::undeclared] {
        let mut exchange = headers();
        assert_eq!(exchange.stream.waits_for(), Some(Wait::FirstMessage));
        exchange.post();
        assert!(exchange.stream.waits_for().is_some());
        exchange.body(&chat().slice(..20), Ends::Later);
        assert!(gathers(&exchange));
        exchange.step("stalled", body_stalled);
        assert!(exchange.transcript.contains("< immediate 408"));
        assert!(!gathers(&exchange));
        assert_eq!(exchange.stream.held_bytes(), 0);
        exchange
            .step("stalled", body_stalled)
            .body(&chat(), Ends::Here)
            .picked()
            .step("closed", Stream::closed);
        assert_eq!(exchange.actions.len(), 2);
        assert_eq!(exchange.actions[1], Action::Ended(EndCause::Refused));
    }
}

fn empty_message(stream: &mut Stream, actions: &mut Vec<Action>) {
    stream.message(ProcessingRequest::default(), actions);
}

#[test]
fn a_stream_that_begins_otherwise_than_with_headers_must_go_on_in_time_too() {
    let mut body = Exchange::duplex();
    body.body(&chat(), Ends::Later);
    let mut nothing = Exchange::duplex();
    nothing.step("nothing", empty_message);
    for mut exchange in [body, nothing] {
        assert!(gathers(&exchange));
        exchange.step("stalled", body_stalled);
        assert!(exchange.transcript.contains("< immediate 408"));
    }
    let mut buffered = Exchange::declared(BodySendMode::Buffered, BodySendMode::None);
    let config = buffered.config.take();
    buffered.step("nothing", |stream, actions| {
        let message = ProcessingRequest {
            protocol_config: config,
            ..ProcessingRequest::default()
        };
        stream.message(message, actions);
    });
    assert_eq!(buffered.stream.waits_for(), Some(Wait::FirstMessage));
    buffered.step("silence", |stream, actions| {
        stream.overdue(Wait::FirstMessage, actions);
    });
    assert_eq!(buffered.actions, [Action::Ended(EndCause::Cut)]);
}

#[test]
fn b22_a_message_that_is_too_long_to_be_read_is_a_413_while_the_request_comes() {
    let overlong = |stream: &mut Stream, actions: &mut Vec<Action>| stream.overlong(5, actions);
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Later)
        .step("overlong", overlong);
    assert!(exchange.transcript.contains("< immediate 413"));
    assert_eq!(exchange.stream.held_bytes(), 0);

    let mut routed = Exchange::duplex();
    routed.post().body(&chat(), Ends::Here).picked();
    let before = routed.actions.len();
    routed.step("overlong", overlong);
    assert_eq!(routed.actions.len(), before);
}

#[test]
fn a_request_that_is_complete_or_gathered_by_the_gateway_does_not_stall() {
    let mut complete = Exchange::duplex();
    complete.post().body(&chat(), Ends::Here);
    let mut ended_by_trailers = Exchange::duplex();
    ended_by_trailers
        .post()
        .body(&chat(), Ends::Later)
        .trailers();
    let mut routed = Exchange::duplex();
    routed.post().body(&chat(), Ends::Here).picked();
    let mut bodyless = Exchange::duplex();
    bodyless.send(request_headers("GET", "/v1/models", Ends::Here));
    let mut closed = Exchange::duplex();
    closed.post().step("closed", Stream::closed);
    let mut streamed = Exchange::declared(BodySendMode::Streamed, BodySendMode::None);
    streamed.post();
    let mut buffered = Exchange::declared(BodySendMode::Buffered, BodySendMode::None);
    buffered.post();
    let new = Exchange::duplex();
    for mut exchange in [
        new,
        complete,
        ended_by_trailers,
        routed,
        bodyless,
        closed,
        streamed,
        buffered,
    ] {
        assert!(!gathers(&exchange), "{}", exchange.transcript);
        let before = exchange.actions.len();
        exchange.step("stalled", body_stalled);
        assert_eq!(exchange.actions.len(), before, "{}", exchange.transcript);
    }
}

#[test]
fn b23_a_stream_that_goes_away_frees_what_it_held() {
    let mut exchange = Exchange::duplex();
    exchange.post().body(&chat(), Ends::Later);
    let held = chat().len() + PIECE_OVERHEAD_BYTES;
    assert_eq!(exchange.stream.held_bytes(), held);
    exchange.step("closed", Stream::closed);
    assert_eq!(exchange.stream.held_bytes(), 0);
    assert_eq!(exchange.actions, [Action::Ended(EndCause::Cut)]);
}

#[test]
fn a_body_that_is_not_what_its_path_says_is_a_400() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&Bytes::from_static(b"{\"model\":"), Ends::Here)
        .picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn a_request_that_the_pool_refuses_is_answered_in_place_of_an_engine() {
    let mut exchange = Exchange::duplex();
    exchange.post().body(&chat(), Ends::Here);
    exchange.step("refused", |stream, actions| {
        stream.decided(&Decision::Refused(Refusal::Saturated), actions);
    });
    exchange.picked();
    assert_snapshot!(exchange.transcript);
    assert_eq!(exchange.stream.held_bytes(), 0);
}

#[test]
fn a_pick_without_a_destination_counts_as_no_endpoint() {
    let mut exchange = Exchange::duplex();
    exchange.send(request_headers("GET", "/v1/models", Ends::Here));
    let nowhere = Decision::Picked(Pick {
        destinations: [].into_iter().collect(),
        model: None,
    });
    exchange.step("picked", |stream, actions| {
        stream.decided(&nowhere, actions)
    });
    assert!(exchange.transcript.contains("< immediate 503"));
}

#[test]
fn a_local_refusal_counts_until_the_request_is_on_its_way() {
    let mut early = Exchange::duplex();
    refuse(early.post().body(&chat(), Ends::Later), Refusal::HoldFull);
    assert!(early.transcript.contains("< immediate 429"));
    assert_eq!(early.stream.held_bytes(), 0);

    let mut waiting = Exchange::duplex();
    waiting.post().body(&chat(), Ends::Here);
    refuse(&mut waiting, Refusal::NoEndpointsInTime).picked();
    assert_eq!(
        waiting.actions.last(),
        Some(&Action::Ended(EndCause::Refused))
    );

    let mut routed = Exchange::duplex();
    routed.post().body(&chat(), Ends::Here).picked();
    let before = routed.actions.len();
    refuse(&mut routed, Refusal::ShuttingDown);
    assert_eq!(routed.actions.len(), before);
}

/// Headers of a client that tries to steer.
fn steering(ends: Ends) -> Request {
    Request::RequestHeaders(HttpHeaders {
        headers: header_map(&[
            (":method", "POST"),
            ("X-Gateway-Destination-Endpoint", "10.0.0.9:22"),
            ("x-gateway-destination-endpoint", "10.0.0.9:23"),
            ("X-Gateway-Destination-Endpoint-Subset", "10.0.0.9:22"),
            ("x-gateway-destination-endpoint-subset", "10.0.0.9:22"),
            ("x-llm-d-request-dropped-reason", "none"),
            ("accept", "*/*"),
        ]),
        end_of_stream: ends == Ends::Here,
    })
}

#[test]
fn b15_what_a_client_sets_of_ours_is_overwritten_or_removed() {
    let mut exchange = Exchange::duplex();
    exchange.send(steering(Ends::Here)).picked();
    assert_eq!(exchange.asked().subset, None);
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b15_a_client_cannot_steer_a_buffered_request_either() {
    let mut exchange = Exchange::declared(BodySendMode::Buffered, BodySendMode::None);
    exchange.send(steering(Ends::Later)).trailers().picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn the_latest_subset_hint_of_the_gateway_counts() {
    let hint = |value| {
        metadata_text(
            "envoy.lb.subset_hint",
            "x-gateway-destination-endpoint-subset",
            value,
        )
    };
    let mut exchange = Exchange::duplex();
    exchange.metadata = Some(hint("10.0.0.1:8000"));
    exchange.post();
    exchange.metadata = Some(hint("10.0.0.2,10.0.0.3:8000"));
    exchange.body(&chat(), Ends::Later);
    exchange.body(&Bytes::new(), Ends::Here);
    let subset = exchange.asked().subset.as_deref().unwrap();
    let admits = |address: &str| {
        let address = address.parse().unwrap();
        subset.iter().any(|entry| entry.admits(address))
    };
    assert!(admits("10.0.0.2:1") && admits("10.0.0.3:8000"));
    assert!(!admits("10.0.0.1:8000") && !admits("10.0.0.3:8001"));
}

#[test]
fn failure_a_panic_over_a_decision_is_answered_with_500_in_the_clients_form() {
    let fail = |exchange: &mut Exchange| {
        exchange.step("failed", |stream, actions| stream.fail(actions));
        let Some(Action::Reply(reply)) = exchange.actions.iter().find(|action| {
            matches!(action, Action::Reply(reply)
                if matches!(reply.response, Some(Response::ImmediateResponse(_))))
        }) else {
            return None;
        };
        let Some(Response::ImmediateResponse(answer)) = &reply.response else {
            return None;
        };
        let text = String::from_utf8_lossy(&answer.body).into_owned();
        Some((answer.status.unwrap().code, text))
    };
    let mut asked = Exchange::duplex();
    asked.post().body(&chat(), Ends::Here);
    let (status, text) = fail(&mut asked).unwrap();
    assert_eq!(status, 500);
    assert!(text.contains("internal_error"), "{text}");
    assert_eq!(asked.stream.held_bytes(), 0);
    assert_eq!(
        asked.actions.last(),
        Some(&Action::Ended(EndCause::Refused))
    );

    let mut anthropic = Exchange::duplex();
    anthropic
        .send(request_headers("POST", "/v1/messages", Ends::Later))
        .body(&chat(), Ends::Here);
    let (_, text) = fail(&mut anthropic).unwrap();
    assert!(text.contains(r#""type":"api_error""#), "{text}");

    // The gateway answers it already.
    let mut begun = Exchange::duplex();
    begun
        .post()
        .body(&chat(), Ends::Here)
        .picked()
        .send(response_headers("200", "text/plain", Ends::Later));
    assert_eq!(fail(&mut begun), None);
}

#[test]
fn failure_a_panic_over_a_message_without_content_is_answered_by_nothing() {
    let mut exchange = Exchange::duplex();
    let config = exchange.config.take();
    exchange.step("recovered", |stream, actions| {
        let message = ProcessingRequest {
            protocol_config: config,
            ..ProcessingRequest::default()
        };
        let unread = stream.unread(&message);
        stream.recover(unread, actions);
    });
    assert_eq!(exchange.actions, []);
    exchange.post().body(&chat(), Ends::Here).picked();
    assert_eq!(exchange.streamed(Direction::Request).len(), 1);
}

#[test]
fn a_streamed_body_in_very_many_pieces_is_refused_while_it_waits_for_the_models() {
    let mut exchange = Exchange::declared(BodySendMode::Streamed, BodySendMode::None);
    exchange.stream = Stream::new(Settings {
        model_list: ModelList::Merged,
        ..Settings::default()
    });
    exchange.send(request_headers("GET", "/v1/models", Ends::Here));
    for _ in 0..=crate::held::PIECES_MAX {
        exchange.body(&Bytes::new(), Ends::Later);
    }
    assert!(exchange.transcript.contains("< immediate 413"));
}
