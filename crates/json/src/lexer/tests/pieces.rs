use super::recorder::{read, read_whole};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn cuts_change_neither_tokens_nor_faults(text in text(), cuts in cuts()) {
        let whole = read_whole(&text);
        prop_assert_eq!(&read(text.chunks(1)), &whole);
        prop_assert_eq!(&read(cut(&text, &cuts)), &whole);
    }

    #[test]
    fn cuts_change_nothing_of_a_string(inside in string_inside(), cuts in cuts()) {
        let text: Vec<u8> = [&b"{\""[..], &inside, b"\":\"", &inside, b"\"}"].concat();
        let whole = read_whole(&text);
        prop_assert_eq!(&read(text.chunks(1)), &whole);
        prop_assert_eq!(&read(cut(&text, &cuts)), &whole);
    }

    #[test]
    fn any_bytes_are_read_without_harm(
        text in proptest::collection::vec(any::<u8>(), 0..200), cuts in cuts(),
    ) {
        let whole = read_whole(&text);
        prop_assert_eq!(&read(text.chunks(1)), &whole);
        prop_assert_eq!(&read(cut(&text, &cuts)), &whole);
    }
}

/// Texts that are JSON, or nearly, some with white space behind them, so that what is read in words has
/// whole ones.
pub(super) fn text() -> impl Strategy<Value = Vec<u8>> {
    let spaces = prop_oneof![Just(0), Just(40)];
    (near_json(), spaces).prop_map(|(mut text, spaces)| {
        text.resize(text.len() + spaces, b' ');
        text
    })
}

fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let fragments = proptest::sample::select(FRAGMENTS).prop_map(<[u8]>::to_vec);
    let byte = any::<u8>().prop_map(|byte| vec![byte]);
    let likely = prop_oneof![60 => fragments, 1 => byte];
    let soup = proptest::collection::vec(likely, 0..12).prop_map(|parts| parts.concat());
    prop_oneof![
        2 => soup.clone(),
        1 => soup.prop_map(|inside| [b"[", &inside[..], b"]"].concat()),
        2 => changed(),
        1 => "-?[0-9]{1,12}[-+.eE]{0,2}[0-9]{0,12}[-+.eE]{0,2}[0-9]{0,3}".prop_map(String::into_bytes),
    ]
}

/// A document with a byte changed, and cut off.
fn changed() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<proptest::sample::Index>(), any::<u8>());
    (change, any::<proptest::sample::Index>()).prop_map(|((at, byte), end)| {
        let mut text = DOCUMENT.to_vec();
        let at = at.index(text.len());
        text[at] = byte;
        let end = end.index(2 * text.len());
        text.truncate(end);
        text
    })
}

fn string_inside() -> impl Strategy<Value = Vec<u8>> {
    let parts = proptest::sample::select(STRING_PARTS).prop_map(<[u8]>::to_vec);
    proptest::collection::vec(parts, 0..60).prop_map(|parts| parts.concat())
}

/// Lengths of pieces, one after the other.
fn cuts() -> impl Strategy<Value = Vec<usize>> {
    proptest::collection::vec(0..30_usize, 0..20)
}

fn cut<'t>(text: &'t [u8], lengths: &[usize]) -> Vec<&'t [u8]> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for length in lengths {
        let (piece, others) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = others;
    }
    pieces.push(rest);
    pieces
}

const DOCUMENT: &[u8] = br#"{"model":"m\u00e9\n","messages":[{"role":"user","content":"a longer \"text\" that is plain for a while \ud83d\ude00 and more"}],"n":[1,-2.5e+3,0],"stream":true,"x":null}"#;

const FRAGMENTS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\"a\"",
    b"\"a\":",
    b"\"k\":1,",
    b"{}",
    b"[]",
    b"0",
    b"1",
    b"-",
    b".",
    b"e",
    b"E+",
    b"1.5",
    b"-0",
    b"1e5",
    b"true",
    b"false",
    b"null",
    b"tru",
    b" ",
    b"\n",
    b"          ",
    b"\\",
    b"\\u",
    b"\\n",
    b"\\ud83d",
    b"\\ude00",
    b"00e9",
    b"\xef\xbb\xbf",
    b"\xff",
    b"\x00",
    b"\"plain plain plain plain\"",
    b"[1,2,3]",
    b"{\"a\":[true,{}]}",
];

const STRING_PARTS: &[&[u8]] = &[
    b"a",
    b"plain and ",
    b"a part of some length that is longer than a few words, and goes on to be \
    long enough to be handed on by reference, even behind an escape",
    b"\\n",
    b"\\\"",
    b"\\\\",
    b"\\u0041",
    b"\\u00e9",
    b"\\u4f60",
    b"\\ud83d",
    b"\\ude00",
    b"\\ud83d\\ude00",
    b"\xc3\xa9",
    b"\xff",
];
