use proptest::collection::vec;
use proptest::prelude::*;

use super::invariants::{Event, check, count, ends_of, play};
use super::*;

fn any_body() -> impl Strategy<Value = HttpBody> {
    let text = prop_oneof![
        Just(Bytes::new()),
        Just(chat()),
        vec(any::<u8>(), 0..200).prop_map(Bytes::from),
        Just(Bytes::from(vec![b'x'; 70_000])),
    ];
    (text, any::<bool>(), prop::bool::weighted(0.1)).prop_map(|(body, end, mark)| HttpBody {
        body,
        end_of_stream: end,
        end_of_stream_without_message: mark,
    })
}

fn any_ends() -> impl Strategy<Value = Ends> {
    prop_oneof![Just(Ends::Later), Just(Ends::Here)]
}

fn any_refusal() -> impl Strategy<Value = Refusal> {
    prop::sample::select(&Refusal::ALL[..])
}

fn any_wait() -> impl Strategy<Value = Wait> {
    prop::sample::select(
        &[
            Wait::FirstMessage,
            Wait::UndeclaredBody,
            Wait::Body,
            Wait::Leave,
        ][..],
    )
}

fn any_message() -> impl Strategy<Value = Request> {
    let method = prop::sample::select(&["GET", "POST"][..]);
    let status = prop::sample::select(&["200", "404", "503", "x"][..]);
    let kind = prop::sample::select(&["text/event-stream", "application/grpc"][..]);
    let status_of_call = prop::sample::select(&["0", "10", "14"][..]);
    prop_oneof![
        3 => (method, any_ends())
            .prop_map(|(method, ends)| request_headers(method, "/v1/chat/completions", ends)),
        4 => any_body().prop_map(Request::RequestBody),
        1 => Just(Request::RequestTrailers(HttpTrailers::default())),
        1 => (status, kind, any_ends())
            .prop_map(|(status, kind, ends)| response_headers(status, kind, ends)),
        2 => any_body().prop_map(Request::ResponseBody),
        1 => status_of_call.prop_map(|status| response_trailers(&[("grpc-status", status)])),
    ]
}

fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => any_message().prop_map(Event::Message),
        4 => Just(Event::Picked),
        1 => any_refusal().prop_map(Event::Decided),
        1 => any_refusal().prop_map(Event::Refuse),
        1 => prop_oneof![Just(None), Just(Some(Bytes::from_static(b"{}")))].prop_map(Event::Listed),
        2 => any_wait().prop_map(Event::Overdue),
        1 => (any_message(), any::<bool>())
            .prop_map(|(message, was_taken)| Event::Panicked(message, was_taken)),
        1 => Just(Event::Closed),
    ]
}

/// Any modes, known or not, or none.
fn any_config() -> impl Strategy<Value = Option<ProtocolConfiguration>> {
    let config = (-1..8_i32, -1..8_i32).prop_map(|(request, response)| ProtocolConfiguration {
        request_body_mode: request,
        response_body_mode: response,
        send_body_without_waiting_for_header_response: false,
    });
    prop_oneof![1 => Just(None), 4 => config.prop_map(Some)]
}

fn joined(pieces: &[StreamedBodyResponse]) -> Vec<u8> {
    pieces
        .iter()
        .flat_map(|piece| piece.body.to_vec())
        .collect()
}

proptest! {
    #[test]
    fn any_order_of_messages_keeps_the_invariants(
        config in any_config(),
        observability in prop::bool::weighted(0.1),
        events in vec(any_event(), 0..24),
    ) {
        let mut exchange = Exchange { config, observability, ..Exchange::undeclared() };
        for event in events {
            play(&mut exchange, event);
        }
        check(exchange);
    }

    #[test]
    fn a_duplex_body_comes_back_byte_for_byte(
        parts in vec(vec(any::<u8>(), 0..100_000).prop_map(Bytes::from), 0..6),
        trailers in any::<bool>(),
    ) {
        let mut exchange = Exchange::duplex();
        exchange.send(request_headers("POST", "/v1/files", Ends::Later));
        for part in &parts {
            exchange.body(part, Ends::Later);
        }
        if trailers {
            exchange.trailers();
        } else {
            exchange.body(&Bytes::new(), Ends::Here);
        }
        exchange.picked();
        let pieces = exchange.streamed(Direction::Request);
        prop_assert_eq!(joined(&pieces), parts.concat());
        prop_assert_eq!(ends_of(&pieces), usize::from(!trailers));

        exchange.send(response_headers("200", "application/json", Ends::Later));
        for part in &parts {
            exchange.send(Request::ResponseBody(http_body(part.clone(), Ends::Later)));
        }
        exchange.send(response_body("", Ends::Here));
        prop_assert_eq!(joined(&exchange.streamed(Direction::Response)), parts.concat());
    }

    #[test]
    fn every_message_of_a_waiting_gateway_is_answered_once(
        request in prop::sample::select(
            &[BodySendMode::Streamed, BodySendMode::Buffered, BodySendMode::BufferedPartial][..],
        ),
        parts in vec(vec(any::<u8>(), 0..100).prop_map(Bytes::from), 1..4),
        pick_after in 0..4_usize,
        trailers in any::<bool>(),
    ) {
        let mut exchange = Exchange::declared(request, BodySendMode::Streamed);
        exchange.send(request_headers("POST", "/v1/files", Ends::Later));
        for (index, part) in parts.iter().enumerate() {
            if index == pick_after {
                exchange.picked();
            }
            exchange.body(part, Ends::Later);
        }
        if trailers {
            exchange.trailers();
        }
        exchange.picked();
        let sent = 1 + parts.len() + usize::from(trailers);
        let replies = count(&exchange, |action| matches!(action, Action::Reply(_)));
        prop_assert_eq!(replies, sent);
        let routes = count(&exchange, |action| matches!(
            action,
            Action::Reply(ProcessingResponse { dynamic_metadata: Some(_), .. })
        ));
        prop_assert_eq!(routes, 1);
    }
}
