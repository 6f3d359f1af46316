use insta::assert_snapshot;

use super::*;
use crate::held::PIECES_MAX;

#[test]
fn b17_a_buffered_request_goes_on_at_its_headers_and_is_routed_at_its_body() {
    let mut exchange = Exchange::declared(BodySendMode::Buffered, BodySendMode::Buffered);
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .picked()
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body("{}", Ends::Here));
    assert_snapshot!(exchange.transcript);
}

#[test]
fn b17_a_streamed_request_is_routed_at_its_headers_and_its_body_passes() {
    let mut exchange = Exchange::declared(BodySendMode::Streamed, BodySendMode::Streamed);
    exchange
        .post()
        .picked()
        .body(&chat(), Ends::Later)
        .body(&Bytes::new(), Ends::Here)
        .send(response_headers("200", "text/event-stream", Ends::Later))
        .send(response_body("data: {}\n\n", Ends::Later))
        .send(response_body("", Ends::Here));
    assert_snapshot!(exchange.transcript);
}

#[test]
fn a_streamed_body_that_does_not_wait_is_answered_after_the_headers() {
    let mut exchange = Exchange::declared(BodySendMode::Streamed, BodySendMode::None);
    exchange
        .post()
        .body(&chat(), Ends::Later)
        .trailers()
        .picked();
    assert_snapshot!(exchange.transcript);
    assert_eq!(exchange.stream.held_bytes(), 0);
}

#[test]
fn a_streamed_body_in_very_many_pieces_is_refused_while_it_waits() {
    let piece = || Request::RequestBody(http_body(Bytes::from_static(b"x"), Ends::Later));
    let mut exchange = Exchange::declared(BodySendMode::Streamed, BodySendMode::None);
    exchange.post();
    for _ in 0..PIECES_MAX {
        exchange.send(piece());
    }
    assert!(matches!(exchange.actions[..], [Action::Ask(_)]));
    exchange.send(piece()).send(piece()).picked();
    assert!(exchange.transcript.contains("< immediate 413"));
    assert_eq!(exchange.actions.len(), 3);
    assert_eq!(exchange.actions[2], Action::Ended(EndCause::Refused));

    // Once it is routed each piece is answered as it comes, so there may be any number.
    let mut routed = Exchange::declared(BodySendMode::Streamed, BodySendMode::None);
    routed.post().picked();
    for _ in 0..=PIECES_MAX {
        routed.send(piece());
    }
    assert!(!routed.transcript.contains("immediate"));
}

#[test]
fn without_request_bodies_the_headers_are_enough() {
    let mut exchange = Exchange::declared(BodySendMode::None, BodySendMode::None);
    exchange.post().picked();
    assert_snapshot!(exchange.transcript);
}

#[test]
fn a_part_of_a_body_is_read_as_far_as_it_goes_and_never_rejected() {
    let mode = BodySendMode::BufferedPartial;
    let mut whole = Exchange::declared(mode, BodySendMode::None);
    whole.post().body(&chat(), Ends::Here).picked();
    assert_eq!(whole.asked().model.name(), Some("m1"));

    let mut cut = Exchange::declared(mode, BodySendMode::None);
    cut.post().body(&chat().slice(..20), Ends::Later).picked();
    assert_snapshot!(cut.transcript);

    let mut wrong = Exchange::declared(mode, BodySendMode::None);
    wrong.post().body(&chat().slice(..20), Ends::Here);
    assert_eq!(
        wrong.actions.last(),
        Some(&Action::Ended(EndCause::Refused))
    );
}

#[test]
fn a_buffered_request_without_a_body_or_with_trailers_alone_is_routed_too() {
    let mut bodyless = Exchange::declared(BodySendMode::Buffered, BodySendMode::None);
    bodyless
        .send(request_headers("GET", "/v1/models", Ends::Here))
        .picked();
    assert_snapshot!("a_buffered_request_without_a_body", bodyless.transcript);

    let mut trailers = Exchange::declared(BodySendMode::Buffered, BodySendMode::None);
    trailers.post().trailers().picked();
    assert_snapshot!("a_buffered_request_with_trailers", trailers.transcript);
}

#[test]
fn a_mode_of_a_later_protocol_version_counts_as_undeclared() {
    let mut exchange = Exchange::duplex();
    exchange.config = Some(ProtocolConfiguration {
        request_body_mode: 77,
        ..ProtocolConfiguration::default()
    });
    exchange.post().body(&chat(), Ends::Here).picked();
    assert_eq!(exchange.asked().model.name(), Some("m1"));
    assert_eq!(exchange.streamed(Direction::Request).len(), 1);
}

#[test]
fn in_observability_mode_all_is_seen_and_nothing_answered() {
    let mut exchange = Exchange::declared(BodySendMode::Streamed, BodySendMode::Streamed);
    exchange.observability = true;
    exchange
        .post()
        .body(&chat(), Ends::Here)
        .picked()
        .send(response_headers("200", "application/json", Ends::Later))
        .send(response_body("{}", Ends::Here));
    assert_snapshot!(exchange.transcript);

    let mut refused = Exchange::declared(BodySendMode::None, BodySendMode::None);
    refused.observability = true;
    refused.post().step("refused", |stream, actions| {
        stream.refuse(Refusal::Saturated, actions);
    });
    assert_eq!(refused.actions[1..], [Action::Ended(EndCause::Refused)]);
}

#[test]
fn in_observability_mode_a_request_that_would_be_refused_goes_by_load() {
    let settings = Settings {
        body_bytes_max: 64,
        model_list: ModelList::Merged,
        ..Settings::default()
    };
    let watched = || {
        let mut exchange = Exchange::duplex();
        exchange.stream = Stream::new(settings);
        exchange.observability = true;
        exchange
    };
    let mut models = watched();
    models.send(request_headers("GET", "/v1/models", Ends::Here));
    let mut unreadable = watched();
    unreadable.post().body(&chat().slice(..20), Ends::Here);
    let mut too_large = watched();
    too_large
        .post()
        .body(&Bytes::from(vec![b'x'; 65]), Ends::Later);
    let mut stalled = watched();
    stalled.post().body(&chat(), Ends::Later);
    stalled.step("stalled", body_stalled);
    for mut exchange in [models, unreadable, too_large, stalled] {
        exchange.asked();
        assert_eq!(exchange.stream.held_bytes(), 0);
        exchange
            .picked()
            .send(response_headers("400", "application/json", Ends::Here));
        assert_eq!(
            exchange.actions.last(),
            Some(&Action::Ended(EndCause::Complete))
        );
    }
}

#[test]
fn how_much_is_seen_follows_from_the_declared_modes() {
    use BodySendMode::{Buffered, FullDuplexStreamed, None, Streamed};
    for (request, response, expected) in [
        (FullDuplexStreamed, None, ObservationMode::HeadersOnly),
        (FullDuplexStreamed, Streamed, ObservationMode::Sampled),
        (
            FullDuplexStreamed,
            FullDuplexStreamed,
            ObservationMode::Full,
        ),
        (Buffered, None, ObservationMode::HeadersOnly),
        (Buffered, Buffered, ObservationMode::Full),
        (Streamed, Streamed, ObservationMode::Full),
        (None, Streamed, ObservationMode::Full),
    ] {
        let mut exchange = Exchange::declared(request, response);
        exchange.post();
        assert_eq!(exchange.stream.mode(), expected, "{request:?} {response:?}");
    }

    let mut undeclared = Exchange::undeclared();
    undeclared.post().body(&chat(), Ends::Here).picked();
    assert_eq!(undeclared.stream.mode(), ObservationMode::HeadersOnly);
    undeclared.send(response_body("{}", Ends::Later));
    assert_eq!(undeclared.stream.mode(), ObservationMode::Full);
}
