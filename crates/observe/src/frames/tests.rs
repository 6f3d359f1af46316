use pointsman_domain::observation::Usage;
use pointsman_domain::units::Tokens;
use pointsman_proto::vllm::{GenerateChunk, GenerateComplete};
use proptest::prelude::*;

use super::*;

fn frame(message: &[u8], flags: u8) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[flags][..], &length, message].concat()
}

fn chunk(completion_tokens: u32) -> Vec<u8> {
    let chunk = GenerateChunk {
        prompt_tokens: 7,
        completion_tokens,
        cached_tokens: 4,
    };
    let message = GenerateResponse {
        response: Some(Response::Chunk(chunk)),
    };
    frame(&message.encode_to_vec(), 0)
}

/// With token ids as vLLM sends them, which are not read.
fn complete(completion_tokens: u32) -> Vec<u8> {
    let complete = GenerateComplete {
        finish_reason: "stop".to_owned(),
        prompt_tokens: 7,
        completion_tokens,
        cached_tokens: 4,
    };
    let ids: Vec<u8> = (1..=100).collect();
    let mut inner = [&[0x0a, 100][..], &ids].concat();
    inner.extend(complete.encode_to_vec());
    let mut message = vec![0x12];
    prost::encode_length_delimiter(inner.len(), &mut message).unwrap();
    message.extend(inner);
    frame(&message, 0)
}

/// What each message means.
fn read(dialect: Dialect, pieces: &[impl AsRef<[u8]>]) -> Vec<(Event, Option<Usage>)> {
    let mut messages = Messages::of(dialect).unwrap();
    let mut events = Vec::new();
    for piece in pieces {
        let piece = Bytes::copy_from_slice(piece.as_ref());
        messages.push(&piece, |event, counts| {
            events.push((event, counts.usage(dialect)))
        });
    }
    events
}

fn usage(prompt: u64, output: u64, cached: Option<u64>) -> Option<Usage> {
    Some(Usage {
        prompt: Tokens(prompt),
        output: Tokens(output),
        cached: cached.map(Tokens),
        reasoning: None,
    })
}

const COMPLETE: Event = Event {
    token: Token::Visible,
    finish: Finish::Answers(Answers::ONE),
    last: Last::IfFinished,
};

#[test]
fn each_message_of_a_generation_reports_its_counts() {
    let body = [chunk(1), chunk(2), complete(3)].concat();
    let expected = [
        (Event::UNKNOWN, usage(7, 1, Some(4))),
        (Event::UNKNOWN, usage(7, 2, Some(4))),
        (COMPLETE, usage(7, 3, Some(4))),
    ];
    assert_eq!(read(Dialect::GrpcGenerate, &[&body]), expected);
    let bytes: Vec<_> = body.iter().map(|byte| [*byte]).collect();
    assert_eq!(read(Dialect::GrpcGenerate, &bytes), expected);
}

#[test]
fn answers_to_one_prompt_add_their_output() {
    let read = read(Dialect::GrpcGenerate, &[complete(3), complete(5)]);
    assert_eq!(
        read,
        [
            (COMPLETE, usage(7, 3, Some(4))),
            (COMPLETE, usage(7, 8, Some(4)))
        ]
    );
}

#[test]
fn an_embedding_has_a_prompt_and_no_output() {
    let body = frame(&EmbedResponse { prompt_tokens: 7 }.encode_to_vec(), 0);
    let (event, counts) = read(Dialect::GrpcEmbed, &[body])[0];
    assert_eq!(event.token, Token::Visible);
    assert_eq!(event.finish, Finish::All);
    assert_eq!(counts, usage(7, 0, None));
}

#[test]
fn a_message_that_cannot_be_read_is_output_all_the_same() {
    let unread = [(Event::UNKNOWN, None)];
    for body in [
        frame(&complete(3)[5..], 1),
        frame(b"\xff\xff\xff", 0),
        frame(b"", 0),
        frame(&vec![0; MESSAGE_BYTES_MAX as usize + 1], 0),
    ] {
        assert_eq!(read(Dialect::GrpcGenerate, &[&body]), unread);
        let next = [body, chunk(1)].concat();
        let (start, end) = next.split_at(next.len() / 2);
        assert_eq!(
            read(Dialect::GrpcGenerate, &[start, end]),
            [unread[0], (Event::UNKNOWN, usage(7, 1, Some(4)))]
        );
    }
    assert_eq!(read(Dialect::GrpcGenerate, &[&complete(3)[..20]]), []);
}

#[test]
fn other_services_are_not_read() {
    for dialect in [Dialect::Passthrough, Dialect::ChatCompletions] {
        assert!(Messages::of(dialect).is_none());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_passed_over(
        pieces in proptest::collection::vec(
            prop_oneof![
                any::<Vec<u8>>(),
                (0_u32..9).prop_map(chunk),
                (0_u32..9).prop_map(complete),
            ],
            0..6,
        ),
    ) {
        let body = pieces.concat();
        let bytes: Vec<_> = body.iter().map(|byte| [*byte]).collect();
        for dialect in [Dialect::GrpcGenerate, Dialect::GrpcEmbed] {
            prop_assert_eq!(read(dialect, &pieces), read(dialect, &[&body]));
            prop_assert_eq!(read(dialect, &bytes), read(dialect, &[&body]));
        }
    }
}
