//! What holds whatever happens on a stream, and in any order.

use super::*;
use crate::modes::BodyForm;

/// What can happen to a stream.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Message(Request),
    Picked,
    Decided(Refusal),
    Refuse(Refusal),
    Listed(Option<Bytes>),
    Overdue(Wait),
    /// Reading this message panics, after the machine has taken it in or before.
    Panicked(Request, bool),
    Closed,
}

/// Lets this happen.
pub(super) fn play(exchange: &mut Exchange, event: Event) {
    let decide = |decision: Decision| {
        move |stream: &mut Stream, actions: &mut Vec<Action>| stream.decided(&decision, actions)
    };
    if let Event::Message(Request::ResponseBody(body))
    | Event::Panicked(Request::ResponseBody(body), _) = &event
    {
        note_response(exchange, body);
    }
    match event {
        Event::Message(request) => exchange.send(request),
        Event::Picked => exchange.picked(),
        Event::Decided(refusal) => exchange.step("decided", decide(Decision::Refused(refusal))),
        Event::Refuse(refusal) => exchange.step("refuse", |stream, actions| {
            stream.refuse(refusal, actions);
        }),
        Event::Listed(list) => exchange.step("listed", |stream, actions| {
            stream.listed(list, actions);
        }),
        Event::Overdue(wait) => exchange.step("overdue", |stream, actions| {
            stream.overdue(wait, actions);
        }),
        Event::Panicked(request, was_taken) => {
            let message = ProcessingRequest {
                request: Some(request),
                observability_mode: exchange.observability,
                protocol_config: exchange.config.take(),
                ..ProcessingRequest::default()
            };
            exchange.step("panicked", |stream, actions| {
                let unread = stream.unread(&message);
                let mut lost = Vec::new();
                if was_taken {
                    stream.message(message, &mut lost);
                }
                // What a message leads to comes last, and nothing can panic after it.
                let led_on = |action: &Action| {
                    matches!(
                        action,
                        Action::Ask(_) | Action::ListModels | Action::Ended(_)
                    )
                };
                if lost.iter().any(led_on) {
                    actions.append(&mut lost);
                } else {
                    stream.recover(unread, actions);
                }
            })
        }
        Event::Closed => exchange.step("closed", Stream::closed),
    };
}

/// Notes what must come back, as the stream is open and the response is not at its end.
fn note_response(exchange: &mut Exchange, body: &HttpBody) {
    let config = exchange.config.as_ref();
    let modes = config.map_or(exchange.stream.modes, Modes::declared);
    let is_given_back = matches!(modes.response_form(), BodyForm::Pieces { .. });
    let is_open = matches!(exchange.stream.life, Life::New | Life::Open);
    if is_given_back && is_open && !exchange.stream.ended && !exchange.observability {
        exchange.response.extend_from_slice(&body.body);
    }
}

/// Closes the stream, and checks what happened on it.
pub(super) fn check(mut exchange: Exchange) {
    exchange.step("closed", Stream::closed);

    assert!(count(&exchange, |action| matches!(action, Action::Ask(_))) <= 1);
    assert!(count(&exchange, |action| matches!(action, Action::ListModels)) <= 1);
    assert_eq!(
        count(&exchange, |action| matches!(action, Action::Ended(_))),
        1
    );
    assert_eq!(exchange.stream.held_bytes(), 0);
    for direction in [Direction::Request, Direction::Response] {
        let pieces = exchange.streamed(direction);
        let ends = ends_of(&pieces);
        assert!(ends <= 1);
        assert!(ends == 0 || ends_of(&pieces[pieces.len() - 1..]) == 1);
    }
    let response = exchange.streamed(Direction::Response);
    let response: Vec<&[u8]> = response.iter().map(|piece| &piece.body[..]).collect();
    assert!(response.concat() == exchange.response);
    let replies = count(&exchange, |action| matches!(action, Action::Reply(_)));
    assert!(!exchange.observability || replies == 0);
    if let Some(index) = exchange.actions.iter().position(is_immediate) {
        let after = &exchange.actions[index + 1..];
        assert_eq!(after, &[Action::Ended(EndCause::Refused)]);
    }
}

pub(super) fn count(exchange: &Exchange, wanted: impl Fn(&Action) -> bool) -> usize {
    exchange
        .actions
        .iter()
        .filter(|action| wanted(action))
        .count()
}

pub(super) fn ends_of(pieces: &[StreamedBodyResponse]) -> usize {
    pieces
        .iter()
        .filter(|piece| piece.end_of_stream || piece.end_of_stream_without_message)
        .count()
}

fn is_immediate(action: &Action) -> bool {
    matches!(
        action,
        Action::Reply(ProcessingResponse {
            response: Some(Response::ImmediateResponse(_)),
            ..
        })
    )
}
