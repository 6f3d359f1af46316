use pointsman_domain::facts::{ModelName, NameHash, Session, SessionSource};
use pointsman_proto::vllm::generate_request::Input;
use pointsman_proto::vllm::sampling_params::Constraint;
use pointsman_proto::vllm::{
    ChoiceConstraint, EmbedRequest, GenerateRequest, MultimodalInputs, PlaceholderRange,
    SamplingParams, TokenizedInput,
};
use proptest::prelude::*;
use prost::Message as _;

use super::*;

const DIALECTS: [Dialect; 2] = [Dialect::GrpcGenerate, Dialect::GrpcEmbed];

fn unread(dialect: Dialect) -> RequestFacts {
    RequestFacts {
        dialect,
        ..RequestFacts::passthrough(block())
    }
}

/// Blocks of four ids.
fn block() -> BlockSize {
    BlockSize::new(4).unwrap()
}

fn framed(flags: u8, message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[flags], &length.to_be_bytes()[..], message].concat()
}

fn facts_of(dialect: Dialect, pieces: &[Bytes]) -> RequestFacts {
    let mut facts = unread(dialect);
    read(&mut facts, pieces, block());
    facts
}

/// The facts of a message to generate.
fn facts(message: &[u8]) -> RequestFacts {
    facts_of(Dialect::GrpcGenerate, &[framed(0, message).into()])
}

fn generate(request: &GenerateRequest) -> RequestFacts {
    facts(&request.encode_to_vec())
}

fn ids(ids: impl IntoIterator<Item = u32>) -> TokenizedInput {
    TokenizedInput {
        input_ids: ids.into_iter().collect(),
    }
}

fn of_ids(count: u32) -> GenerateRequest {
    GenerateRequest {
        input: Some(Input::Tokenized(ids(0..count))),
        ..GenerateRequest::default()
    }
}

fn of_text(text: &str) -> GenerateRequest {
    GenerateRequest {
        input: Some(Input::Text(text.into())),
        ..GenerateRequest::default()
    }
}

fn with_parameters(parameters: SamplingParams) -> RequestFacts {
    generate(&GenerateRequest {
        sampling_params: Some(parameters),
        ..of_ids(9)
    })
}

/// 16 ids with media of these hashes at these places.
fn with_media(media: &[(&str, Option<u32>)]) -> RequestFacts {
    let place = |&(_, offset): &(_, Option<u32>)| {
        offset.map(|offset| PlaceholderRange { offset, length: 3 })
    };
    generate(&GenerateRequest {
        mm_inputs: Some(MultimodalInputs {
            mm_placeholders: media.iter().filter_map(place).collect(),
            mm_hashes: media.iter().map(|(hash, _)| (*hash).to_owned()).collect(),
        }),
        ..of_ids(16)
    })
}

/// How many leading blocks two prompts share, in one cache.
fn shared(a: &RequestFacts, b: &RequestFacts) -> usize {
    let keys = [a, b].map(|facts| facts.block_keys(None));
    let [a, b] = &keys;
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[test]
fn ids_are_counted_and_hashed_block_by_block() {
    let facts = generate(&GenerateRequest {
        stream: true,
        ..of_ids(9)
    });
    assert_eq!(facts.prompt.tokens, Tokens(9));
    assert!(facts.prompt.is_counted && facts.stream);
    assert_eq!(facts.prompt.blocks.len(), 2);
    assert_eq!(
        (facts.model.clone(), facts.template_inputs),
        (ModelName::Unread, 0)
    );
    let longer = generate(&of_ids(100));
    assert_eq!(shared(&facts, &longer), 2);
    let mut other = of_ids(9);
    other.input = Some(Input::Tokenized(ids([0, 1, 2, 3, 4, 5, 6, 8, 8])));
    assert_eq!(shared(&facts, &generate(&other)), 1);
}

#[test]
fn ids_of_any_width_are_the_words_that_other_dialects_hash() {
    let words = [0, 127, 128, 300_000, u32::MAX, 1, 2, 3];
    let mut request = of_ids(0);
    request.input = Some(Input::Tokenized(ids(words)));
    let mut hasher = BlockHasher::new(block(), BLOCKS_MAX);
    for word in words {
        hasher.push(&word.to_le_bytes());
    }
    assert_eq!(generate(&request).prompt.blocks, hasher.finish());
}

#[test]
fn ids_may_come_one_by_one_and_in_several_messages() {
    let one_by_one: Vec<u8> = (0..9).flat_map(|id| [2 << 3, id]).collect();
    let length = u8::try_from(one_by_one.len()).unwrap();
    let message = [&[2 << 3 | 2, length], &one_by_one[..]].concat();
    assert_eq!(facts(&message), generate(&of_ids(9)));
    let mut halves = of_ids(0);
    halves.input = Some(Input::Tokenized(ids(0..5)));
    let mut message = halves.encode_to_vec();
    halves.input = Some(Input::Tokenized(ids(5..9)));
    message.extend(halves.encode_to_vec());
    assert_eq!(facts(&message), generate(&of_ids(9)));
}

#[test]
fn the_text_that_ids_were_made_of_is_passed_over() {
    let text = [1 << 3 | 2, 4, b't', b'e', b'x', b't'];
    let ids = ids(0..9).encode_to_vec();
    let inner = [&text[..], &ids, &text].concat();
    let length = u8::try_from(inner.len()).unwrap();
    let message = [&[2 << 3 | 2, length], &inner[..]].concat();
    assert_eq!(facts(&message), generate(&of_ids(9)));
}

#[test]
fn of_a_text_and_ids_the_last_counts() {
    let (text, ids) = (of_text("some text of two blocks and more"), of_ids(9));
    let [text_first, ids_first] = [(&text, &ids), (&ids, &text)]
        .map(|(a, b)| facts(&[a.encode_to_vec(), b.encode_to_vec()].concat()));
    assert_eq!(text_first, generate(&ids));
    assert_eq!(ids_first, generate(&text));
    assert!(!ids_first.prompt.is_counted);
    assert_eq!(ids_first.prompt.tokens, Tokens(8));
    let twice = [of_text("x").encode_to_vec(), text.encode_to_vec()].concat();
    assert_eq!(facts(&twice), generate(&text));
}

#[test]
fn parameters_say_the_cap_the_choices_and_the_form() {
    let facts = with_parameters(SamplingParams {
        max_tokens: Some(77),
        n: 3,
        ..SamplingParams::default()
    });
    assert_eq!(facts.output_tokens_max, Some(Tokens(77)));
    assert_eq!(facts.choices.get(), 3);
    assert!(!facts.features.response_format);
    let plain = generate(&of_ids(9));
    assert_eq!((plain.output_tokens_max, plain.choices.get()), (None, 1));
    assert_eq!(shared(&facts, &plain), 2);
    for (constraint, expected) in [
        (Constraint::JsonSchema("{}".into()), true),
        (Constraint::Regex(".".into()), true),
        (Constraint::Grammar("a".into()), true),
        (Constraint::StructuralTag("a".into()), true),
        (Constraint::JsonObject(true), true),
        (Constraint::JsonObject(false), false),
        (Constraint::Choice(ChoiceConstraint {}), true),
    ] {
        let facts = with_parameters(SamplingParams {
            constraint: Some(constraint),
            ..SamplingParams::default()
        });
        assert_eq!(facts.features.response_format, expected);
    }
}

#[test]
fn a_prompt_that_is_cut_by_the_engine_is_another() {
    let cut = |tokens| {
        with_parameters(SamplingParams {
            truncate_prompt_tokens: tokens,
            ..SamplingParams::default()
        })
    };
    let all = [None, Some(0), Some(5), Some(-1)].map(cut);
    for (index, a) in all.iter().enumerate() {
        for b in &all[..index] {
            assert_eq!(shared(a, b), 0);
        }
        assert_eq!(a.template_inputs == 0, index == 0);
    }
}

#[test]
fn media_change_the_key_from_where_they_begin() {
    let plain = generate(&of_ids(16));
    let cat = with_media(&[("cat", Some(9))]);
    let dog = with_media(&[("dog", Some(9))]);
    assert_eq!(shared(&cat, &dog), 2);
    assert_eq!(shared(&cat, &plain), 2);
    assert_eq!(shared(&cat, &with_media(&[("cat", Some(9))])), 4);
    let later = with_media(&[("cat", Some(9)), ("dog", Some(13))]);
    assert_eq!(shared(&cat, &later), 3);
    let [first, second] = later.media.as_slice() else {
        panic!("two items: {:?}", later.media);
    };
    assert_eq!(first.content, cat.media[0].content);
    assert_eq!(second.content, dog.media[0].content);
    assert_eq!((first.kind, first.tokens), (MediaKind::Image, Tokens(3)));
    // Behind the last full block nothing is in the cache anyway.
    let behind = GenerateRequest {
        mm_inputs: Some(MultimodalInputs {
            mm_placeholders: vec![PlaceholderRange {
                offset: 16,
                length: 3,
            }],
            mm_hashes: vec!["cat".to_owned()],
        }),
        ..of_ids(19)
    };
    assert_eq!(shared(&plain, &generate(&behind)), 4);
}

#[test]
fn media_without_a_place_change_the_whole_key() {
    let plain = generate(&of_ids(16));
    let cat = with_media(&[("cat", None)]);
    assert_eq!(shared(&plain, &cat), 0);
    assert_eq!(shared(&cat, &with_media(&[("dog", None)])), 0);
    assert_eq!(shared(&cat, &with_media(&[("cat", None)])), 4);
    // Nor is any but an id a place.
    for request in [of_ids(11), of_text("a text of some more blocks than these")] {
        let of = |hash: &str| {
            generate(&GenerateRequest {
                mm_inputs: Some(MultimodalInputs {
                    mm_placeholders: vec![PlaceholderRange {
                        offset: 9,
                        length: 3,
                    }],
                    mm_hashes: vec![hash.to_owned()],
                }),
                ..request.clone()
            })
        };
        assert_eq!(shared(&of("cat"), &of("dog")), 0);
        assert_eq!(of("cat").media.len(), 1);
    }
    let many = |last| {
        let mut media = vec![("cat", Some(0)); PLACES_MAX];
        media.push((last, Some(13)));
        with_media(&media)
    };
    assert_eq!(many("dog").media.len(), MEDIA_MAX);
    assert_eq!(shared(&many("dog"), &many("cow")), 0);
    assert_eq!(shared(&many("dog"), &many("dog")), 4);
}

#[test]
fn an_embedding_has_ids_and_nothing_else() {
    let request = EmbedRequest {
        tokenized: Some(ids(0..9)),
    };
    let read = |message: &[u8]| facts_of(Dialect::GrpcEmbed, &[framed(0, message).into()]);
    let facts = read(&request.encode_to_vec());
    assert_eq!(facts.prompt, generate(&of_ids(9)).prompt);
    let stranger = GenerateRequest {
        stream: true,
        ..of_text("not of this message")
    };
    let message = [request.encode_to_vec(), stranger.encode_to_vec()].concat();
    assert_eq!(read(&message), facts);
}

#[test]
fn a_session_is_named_by_a_header_or_else_by_the_first_blocks() {
    let session = |request| generate(&request).session;
    assert_eq!(session(of_ids(16)), session(of_ids(99)));
    assert_eq!(session(of_ids(16)).unwrap().source, SessionSource::Prompt);
    assert_ne!(session(of_ids(16)), session(of_text(&"text".repeat(99))));
    assert_eq!(session(of_ids(3)), None);
    let named = Some(Session {
        id: NameHash(1),
        source: SessionSource::Header,
    });
    let mut facts = RequestFacts {
        session: named,
        ..unread(Dialect::GrpcGenerate)
    };
    let body = framed(0, &of_ids(16).encode_to_vec());
    read(&mut facts, &[body.into()], block());
    assert_eq!(facts.session, named);
}

#[test]
fn only_the_first_message_is_read() {
    let first = framed(0, &of_ids(9).encode_to_vec());
    let body = [first, framed(1, b"x"), vec![0xff; 3]].concat();
    let facts = facts_of(Dialect::GrpcGenerate, &[body.into()]);
    assert_eq!(facts, generate(&of_ids(9)));
}

#[test]
fn a_compressed_message_is_left_to_the_engine() {
    for flags in [1, 2, 0x80, 0xff] {
        let body = framed(flags, &of_ids(9).encode_to_vec());
        for dialect in DIALECTS {
            let facts = facts_of(dialect, &[body.clone().into()]);
            assert_eq!(facts, unread(dialect));
        }
    }
}

#[test]
fn a_message_that_is_cut_anywhere_is_left_to_the_engine() {
    let full = GenerateRequest {
        stream: true,
        sampling_params: Some(SamplingParams {
            max_tokens: Some(5),
            constraint: Some(Constraint::Regex(".".into())),
            ..SamplingParams::default()
        }),
        mm_inputs: Some(MultimodalInputs {
            mm_placeholders: vec![PlaceholderRange {
                offset: 1,
                length: 3,
            }],
            mm_hashes: vec!["cat".to_owned()],
        }),
        ..of_ids(9)
    };
    let whole = framed(0, &full.encode_to_vec());
    for end in 0..whole.len() {
        let body = Bytes::copy_from_slice(&whole[..end]);
        let facts = facts_of(Dialect::GrpcGenerate, &[body]);
        assert_eq!(facts, unread(Dialect::GrpcGenerate), "{end}");
    }
}

#[test]
fn what_is_no_message_is_left_to_the_engine() {
    for message in [
        // A field that is longer than the message, or than any.
        &[2 << 3 | 2, 5, 0][..],
        &[
            2 << 3 | 2,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            0xff,
            1,
        ],
        // A message within that ends in the middle of a field, or goes on behind its end.
        &[2 << 3 | 2, 1, 2 << 3 | 2],
        &[2 << 3 | 2, 2, 2 << 3 | 2, 1, 7],
        // An id that does not end.
        &[2 << 3 | 2, 3, 2 << 3 | 2, 1, 0x80],
        // A number of eleven bytes, and one of more than 64 bits.
        &[
            5 << 3,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0,
        ],
        &[
            5 << 3,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            0x80,
            2,
        ],
        // A group, and a kind of value that does not exist.
        &[9 << 3 | 3, 9 << 3 | 4],
        &[9 << 3 | 6],
    ] {
        assert_eq!(facts(message), unread(Dialect::GrpcGenerate), "{message:?}");
    }
}

#[test]
fn a_field_of_another_type_or_of_no_known_number_is_passed_over() {
    let odd: &[u8] = &[
        // As numbers: what should be a message, a text, parameters, and media.
        2 << 3,
        1,
        3 << 3,
        1,
        4 << 3,
        1,
        7 << 3,
        1,
        // As bytes and with a fixed length: the flag.
        5 << 3 | 2,
        1,
        1,
        5 << 3 | 5,
        1,
        1,
        1,
        1,
        5 << 3 | 1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        1,
        // Number 100, and one of 29 bits.
        0xa2,
        6,
        1,
        7,
        0xfa,
        0xff,
        0xff,
        0xff,
        0xf,
        1,
        7,
    ];
    let message = [odd, &of_ids(9).encode_to_vec(), odd].concat();
    assert_eq!(facts(&message), generate(&of_ids(9)));
}

fn any_input() -> impl Strategy<Value = Option<Input>> {
    prop_oneof![
        Just(None),
        ".{0,60}".prop_map(|text| Some(Input::Text(text))),
        proptest::collection::vec(any::<u32>(), 0..40)
            .prop_map(|words| Some(Input::Tokenized(ids(words)))),
    ]
}

prop_compose! {
    fn any_request()(
        input in any_input(),
        stream in any::<bool>(),
        parameters in proptest::option::of(any::<(Option<u32>, u32, Option<i32>)>()),
        places in proptest::collection::vec((0..40_u32, any::<u32>()), 0..4),
        mm_hashes in proptest::collection::vec("[a-c]{0,3}", 0..4),
    ) -> GenerateRequest {
        GenerateRequest {
            sampling_params: parameters.map(|(max_tokens, n, truncate_prompt_tokens)| {
                SamplingParams { max_tokens, n, truncate_prompt_tokens, constraint: None }
            }),
            stream,
            mm_inputs: Some(MultimodalInputs {
                mm_placeholders: places
                    .into_iter()
                    .map(|(offset, length)| PlaceholderRange { offset, length })
                    .collect(),
                mm_hashes,
            }),
            input,
        }
    }
}

proptest! {
    #[test]
    fn what_is_sent_is_read_however_it_is_cut_into_pieces(
        request in any_request(),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
    ) {
        let body = framed(0, &request.encode_to_vec());
        let whole = facts_of(Dialect::GrpcGenerate, &[body.clone().into()]);
        prop_assert_eq!(whole.stream, request.stream);
        let parameters = request.sampling_params.unwrap_or_default();
        let cap = parameters.max_tokens.map(|tokens| Tokens(tokens.into()));
        prop_assert_eq!(whole.output_tokens_max, cap);
        prop_assert_eq!(whole.choices.get(), parameters.n.max(1));
        prop_assert_eq!(whole.media.len(), request.mm_inputs.unwrap_or_default().mm_hashes.len());
        match request.input {
            Some(Input::Tokenized(ids)) => {
                prop_assert!(whole.prompt.is_counted);
                prop_assert_eq!(whole.prompt.tokens, Tokens(ids.input_ids.len() as u64));
                prop_assert_eq!(whole.prompt.blocks.len(), ids.input_ids.len() / 4);
            }
            _ => prop_assert!(!whole.prompt.is_counted),
        }

        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces: Vec<Bytes> = cuts
            .windows(2)
            .map(|pair| Bytes::copy_from_slice(&body[pair[0]..pair[1]]))
            .collect();
        prop_assert_eq!(facts_of(Dialect::GrpcGenerate, &pieces), whole.clone());
        let bytes: Vec<Bytes> = body.chunks(1).map(Bytes::copy_from_slice).collect();
        prop_assert_eq!(facts_of(Dialect::GrpcGenerate, &bytes), whole);
    }

    #[test]
    fn no_bytes_panic(
        message in proptest::collection::vec(any::<u8>(), 0..80),
        request in any_request(),
        at in any::<usize>(),
        byte in any::<u8>(),
    ) {
        let mut wrong = request.encode_to_vec();
        if !wrong.is_empty() {
            let at = at % wrong.len();
            wrong[at] = byte;
        }
        for message in [message, wrong] {
            for dialect in DIALECTS {
                facts_of(dialect, &[framed(0, &message).into()]);
            }
            facts_of(Dialect::GrpcGenerate, &[message.into()]);
        }
    }
}
