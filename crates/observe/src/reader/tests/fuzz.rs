//! Fuzz targets. As plain tests they replay the inputs beside this file, and a few random ones;
//! `make fuzz` looks for new ones.

use super::*;

/// An input is a byte that tells what is expected, then a body. That is cut where it has the byte
/// [`CUT`], or else everywhere.
fn check(kind: ContentKind, dialects: &[Dialect], input: &[u8]) {
    let (first, body) = input.split_at(input.len().min(1));
    let first = usize::from(first.first().copied().unwrap_or_default());
    let expected = Expected {
        choices: NonZeroU32::MIN.saturating_add(u32::from(first >= 128)),
        ..expected(kind, dialects[first % dialects.len()])
    };
    let pieces: Vec<&[u8]> = body.split(|byte| *byte == CUT).collect();
    let whole = pieces.concat();
    let told = all(expected, &[&whole]);
    if pieces.len() > 1 {
        assert_eq!(all(expected, &pieces), told);
    } else {
        assert_eq!(all(expected, &bytes_of(&whole)), told);
    }
    let is_in_order = match told.as_slice() {
        [OUTPUT, VISIBLE, rest @ ..] => {
            matches!(rest, [FINISHED] | [FINISHED, Observation::Usage(_)])
        }
        rest => matches!(rest, [FINISHED] | [FINISHED, Observation::Usage(_)]),
    };
    assert!(is_in_order, "{told:?}");
}

/// One target for each kind of body.
macro_rules! targets {
    ($($name:ident $kind:ident $dialects:ident)*) => {$(
        #[test]
        fn $name() {
            bolero::check!()
                .with_iterations(RANDOM_INPUTS)
                .for_each(|input: &[u8]| check(ContentKind::$kind, &$dialects, input));
        }
    )*};
}

targets! {
    event_stream EventStream TEXT
    lines NdJson TEXT
    json Json TEXT
    grpc Grpc GRPC_CALLS
}

const TEXT: [Dialect; 8] = [
    Dialect::ChatCompletions,
    Dialect::Completions,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::SglangGenerate,
    Dialect::Embeddings,
    Dialect::Generate,
    Dialect::Passthrough,
];

const GRPC_CALLS: [Dialect; 2] = [Dialect::GrpcGenerate, Dialect::GrpcEmbed];

/// Never part of UTF-8, so that little is lost when no text has it.
const CUT: u8 = 0xfe;

/// What `cargo test` tries besides the inputs that are kept.
const RANDOM_INPUTS: usize = 50;
