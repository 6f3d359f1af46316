use insta::assert_snapshot;

use super::*;

#[test]
fn b18_a_chat_request_is_answered_at_the_end_of_its_body_and_in_pieces() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Later)
        .body(&Bytes::new(), Ends::Here)
        .picked()
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body("{}", Ends::Later))
        .send(response_body("", Ends::Here))
        .step("closed", Stream::closed);
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b13_a_request_without_a_body_is_asked_and_answered_at_its_headers() {
    for (method, path) in [
        ("GET", "/v1/models"),
        ("HEAD", "/v1/models"),
        ("OPTIONS", "/v1/chat/completions"),
        ("DELETE", "/v1/files/1"),
        ("POST", "/v1/chat/completions"),
    ] {
        let mut exchange = Exchange::duplex();
        exchange.send(request_headers(method, path, Ends::Here));
        assert_eq!(exchange.asked().body_bytes, 0, "{method}");
        exchange.picked();
        assert_snapshot!("a_request_without_a_body", exchange.transcript);
    }
}

#[test]
fn b25_trailers_end_the_body_and_are_answered_after_it() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Later)
        .trailers()
        .picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b25_trailers_without_any_body_are_answered_after_the_headers() {
    let mut exchange = Exchange::duplex();
    exchange.post().trailers().picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b25_trailers_after_an_announced_end_come_last_and_end_the_body() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .trailers()
        .picked();
    assert!(!exchange.streamed(Direction::Request)[0].end_of_stream);
    assert!(exchange.transcript.ends_with("< request trailers\n"));
}

#[test]
fn an_empty_body_is_given_back_as_one_empty_piece() {
    let mut exchange = Exchange::duplex();
    exchange.post().body(&Bytes::new(), Ends::Here).picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b16_a_repeated_end_of_the_body_is_ignored_before_and_after_the_pick() {
    let tail = Bytes::from_static(br#"{"role":"user","content":"hi"}]}"#);
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(
            &Bytes::from_static(br#"{"model":"m1","messages":["#),
            Ends::Later,
        )
        .body(&tail, Ends::Here)
        .body(&tail, Ends::Here)
        .picked()
        .body(&tail, Ends::Here)
        .picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn a_body_that_ends_without_a_message_is_given_back_in_the_same_way() {
    let mut exchange = Exchange::duplex();
    exchange
        .post()
        .body(&chat(), Ends::Later)
        .send(Request::RequestBody(HttpBody {
            end_of_stream_without_message: true,
            ..HttpBody::default()
        }))
        .picked();
    let ends = exchange.streamed(Direction::Request);
    let ends: Vec<_> = ends
        .iter()
        .map(|piece| (piece.end_of_stream, piece.end_of_stream_without_message))
        .collect();
    assert_eq!(ends, [(false, false), (false, true)]);
}

/// A chat body of exactly `bytes` bytes, in messages of at most 1 MiB as Envoy sends them.
fn chat_of(bytes: usize) -> Vec<Bytes> {
    let head = r#"{"model":"m1","messages":[{"role":"user","content":""#;
    let tail = r#""}]}"#;
    let mut text = head.to_owned();
    let filler = (b'a'..=b'z').map(char::from).cycle();
    text.extend(filler.take(bytes - head.len() - tail.len()));
    text.push_str(tail);
    // Each message has memory of its own, as decoded messages have.
    let messages = text.as_bytes().chunks(1 << 20);
    messages.map(Bytes::copy_from_slice).collect()
}

#[test]
fn b21_large_bodies_come_back_in_small_pieces_without_a_copy() {
    for bytes in [128 * 1024 + 1, 1 << 20, 16 << 20] {
        let messages = chat_of(bytes);
        let mut exchange = Exchange::duplex();
        exchange.post();
        for message in &messages {
            exchange.body(message, Ends::Later);
        }
        let overhead = messages.len() * PIECE_OVERHEAD_BYTES;
        assert_eq!(exchange.stream.held_bytes(), bytes + overhead);
        exchange.body(&Bytes::new(), Ends::Here).picked();
        assert_eq!(exchange.stream.held_bytes(), 0);
        assert_eq!(exchange.asked().body_bytes, bytes as u64);

        let pieces = exchange.streamed(Direction::Request);
        assert!(pieces.iter().all(|piece| piece.body.len() <= 62_000));
        let ends = pieces.iter().filter(|piece| piece.end_of_stream).count();
        assert_eq!((ends, pieces.last().unwrap().end_of_stream), (1, true));

        // The pieces cover the memory of the messages, in order and without a gap.
        let mut pieces = pieces.iter().map(|piece| &piece.body);
        for message in &messages {
            let mut offset = 0;
            while offset < message.len() {
                let piece = pieces.next().expect("bytes are missing");
                assert_eq!(piece.as_ptr(), message[offset..].as_ptr());
                offset += piece.len();
            }
            assert_eq!(offset, message.len());
        }
        assert_eq!(pieces.next(), None);
    }
}

#[test]
fn a_gateway_that_declares_nothing_and_does_not_wait_is_answered_as_duplex() {
    let mut exchange = Exchange::undeclared();
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .picked()
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body("{}", Ends::Here));
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b17_a_gateway_that_declares_nothing_and_waits_is_routed_on_its_headers() {
    let mut exchange = Exchange::undeclared();
    exchange
        .post()
        .step("body overdue", undeclared_overdue)
        .picked()
        .body(&chat(), Ends::Here)
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body("{}", Ends::Here));
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b17_a_late_body_changes_nothing_for_a_gateway_that_does_not_wait() {
    let mut declared = Exchange::duplex();
    declared.post().step("body overdue", undeclared_overdue);
    assert_eq!(declared.actions, []);

    let mut begun = Exchange::undeclared();
    begun
        .post()
        .body(&chat(), Ends::Later)
        .step("body overdue", undeclared_overdue);
    assert_eq!(begun.actions, []);

    let mut empty = Exchange::undeclared();
    empty.step("body overdue", undeclared_overdue);
    assert_eq!(empty.actions, []);
}

#[test]
fn an_empty_piece_shows_that_a_gateway_that_declares_nothing_does_not_wait() {
    let mut exchange = Exchange::undeclared();
    exchange.post().body(&Bytes::new(), Ends::Later);
    assert!(gathers(&exchange));
    exchange.body(&chat(), Ends::Here).picked();
    assert_eq!(exchange.asked().model.name(), Some("m1"));
}

#[test]
fn only_a_gateway_that_declares_nothing_may_end_its_side_before_the_decision() {
    let mut exchange = Exchange::undeclared();
    exchange.post();
    assert!(!exchange.stream.outlives_input());
    exchange.body(&chat(), Ends::Here);
    assert!(exchange.stream.outlives_input());
    exchange.picked();
    assert!(!exchange.stream.outlives_input());

    let mut guessed = Exchange::undeclared();
    guessed.post().step("body overdue", undeclared_overdue);
    assert!(guessed.stream.outlives_input());

    let mut declared = Exchange::duplex();
    declared.post().body(&chat(), Ends::Here);
    assert!(!declared.stream.outlives_input());
}

#[test]
fn a_stream_can_be_left_once_its_request_is_on_its_way_and_the_response_stays_in_the_gateway() {
    use BodySendMode::{FullDuplexStreamed, None, Streamed};
    for (request, response, before_response, after) in [
        (FullDuplexStreamed, None, true, true),
        (FullDuplexStreamed, Streamed, true, true),
        (FullDuplexStreamed, FullDuplexStreamed, false, false),
        // The rest of the request's body may be in our hands until the response begins.
        (Streamed, None, false, true),
    ] {
        let mut exchange = Exchange::declared(request, response);
        exchange.post().body(&chat(), Ends::Here);
        assert!(
            !exchange.stream.can_be_left(),
            "{request:?} before the pick"
        );
        exchange.picked();
        assert_eq!(
            exchange.stream.can_be_left(),
            before_response,
            "{request:?} {response:?}"
        );
        exchange.send(response_headers("200", "text/event-stream", Ends::Later));
        assert_eq!(
            exchange.stream.can_be_left(),
            after,
            "{request:?} {response:?}"
        );
    }
}

#[test]
fn a_stream_that_was_answered_in_place_of_an_engine_can_be_left() {
    let mut exchange = Exchange::duplex();
    exchange.send(request_headers("GET", "/x", Ends::Here));
    exchange.step("refused", |stream, actions| {
        stream.refuse(Refusal::NoEndpoints, actions);
    });
    assert!(exchange.stream.can_be_left());
    assert_eq!(exchange.stream.waits_for(), Some(Wait::Leave));
    exchange.step("silence", |stream, actions| {
        stream.overdue(Wait::Leave, actions);
    });
    assert!(exchange.stream.is_closed());
    assert_eq!(ends_in(&exchange), [EndCause::Refused]);
}

fn ends_in(exchange: &Exchange) -> Vec<EndCause> {
    let ends = exchange.actions.iter().filter_map(|action| match action {
        Action::Ended(cause) => Some(*cause),
        _ => None,
    });
    ends.collect()
}
