use pointsman_proto::ext_proc::{BodyMutation, StreamedBodyResponse};

use super::*;

fn body(text: &'static str, messages: usize) -> Body {
    Body {
        bytes: Bytes::from(text),
        messages: vec![Default::default(); messages],
    }
}

fn answer(mutation: Option<Mutation>) -> BodyResponse {
    BodyResponse {
        response: Some(CommonResponse {
            body_mutation: mutation.map(|mutation| BodyMutation {
                mutation: Some(mutation),
            }),
            ..CommonResponse::default()
        }),
    }
}

fn piece(text: &'static str, end_of_stream: bool) -> BodyResponse {
    answer(Some(Mutation::StreamedResponse(StreamedBodyResponse {
        body: Bytes::from(text),
        end_of_stream,
        end_of_stream_without_message: false,
    })))
}

fn mark() -> BodyResponse {
    answer(Some(Mutation::StreamedResponse(StreamedBodyResponse {
        end_of_stream_without_message: true,
        ..StreamedBodyResponse::default()
    })))
}

/// What comes of these answers to a request with the body `abcdef`.
fn echoed(answers: Vec<BodyResponse>) -> Result<bool, Failure> {
    let mut expected = Expected::of_request(BodyMode::Duplex, &body("abcdef", 2));
    expected.headers()?;
    for answer in answers {
        expected.body(answer)?;
    }
    Ok(expected.is_complete())
}

#[test]
fn an_echo_is_complete_with_its_last_byte_and_one_end_however_it_is_cut() {
    for answers in [
        vec![piece("abcdef", true)],
        vec![piece("abcdef", false), piece("", true)],
        vec![piece("ab", false), piece("", false), piece("cdef", true)],
        vec![piece("abcdef", false), mark()],
    ] {
        assert_eq!(echoed(answers), Ok(true));
    }
    assert_eq!(echoed(vec![piece("abcdef", false)]), Ok(false));
}

#[test]
fn an_echo_that_is_not_what_was_sent_is_a_failure() {
    for (answers, why) in [
        (vec![piece("abXdef", true)], "other bytes than were sent"),
        (
            vec![piece("def", false), piece("abc", true)],
            "other bytes than were sent",
        ),
        (
            vec![piece("abcdef", false), piece("g", true)],
            "other bytes than were sent",
        ),
        (vec![piece("abc", true)], "it ends early"),
        (
            vec![piece("abcdef", true), piece("", true)],
            "more after its end",
        ),
        (vec![answer(None)], "not in streamed form"),
        (
            vec![answer(Some(Mutation::Body(Bytes::from("abcdef"))))],
            "not in streamed form",
        ),
    ] {
        assert_eq!(echoed(answers), Err(Failure::Echo(why)));
    }
}

#[test]
fn outside_duplex_modes_each_message_has_one_answer_that_leaves_it_alone() {
    for mode in [BodyMode::Streamed, BodyMode::Buffered] {
        let mut expected = Expected::of_request(mode, &body("abcdef", 2));
        expected.headers().unwrap();
        expected.body(answer(None)).unwrap();
        assert!(!expected.is_complete());
        expected.body(BodyResponse::default()).unwrap();
        assert!(expected.is_complete());
        let failure = expected.body(answer(None)).unwrap_err();
        assert_eq!(
            failure,
            Failure::Unexpected("more answers than body messages")
        );

        let mut expected = Expected::of_request(mode, &body("abcdef", 2));
        expected.headers().unwrap();
        let failure = expected.body(piece("abcdef", true)).unwrap_err();
        assert_eq!(failure, Failure::Echo("the body is replaced"));
    }
}

#[test]
fn headers_are_answered_once_and_first() {
    let mut expected = Expected::of_response(BodyMode::Duplex, &body("a", 2));
    assert!(matches!(
        expected.body(piece("a", true)),
        Err(Failure::Unexpected(_))
    ));
    expected.headers().unwrap();
    assert!(matches!(expected.headers(), Err(Failure::Unexpected(_))));
}

#[test]
fn a_response_whose_body_is_not_sent_is_complete_with_its_headers() {
    let mut expected = Expected::of_response(BodyMode::HeadersOnly, &body("a", 2));
    assert!(!expected.is_complete());
    expected.headers().unwrap();
    assert!(expected.is_complete());
    assert!(expected.body(piece("a", true)).is_err());
}
