use super::super::Lexer;
use super::recorder::{Recorder, Token, read, read_whole, string};
use proptest::prelude::*;

#[test]
fn escapes_mean_what_they_stand_for() {
    let table: &[(&[u8], &[u8])] = &[
        (br#""\"\\\/\b\f\n\r\t""#, b"\"\\/\x08\x0c\n\r\t"),
        (br#""\u0000\u001f\u0022\u005C\u007f""#, b"\0\x1f\"\\\x7f"),
        (br#""\u0080\u00e9\u07FF""#, "\u{80}\u{e9}\u{7ff}".as_bytes()),
        (
            br#""\u0800\u20ac\ud7ff\ue000\uFFFF""#,
            "\u{800}\u{20ac}\u{d7ff}\u{e000}\u{ffff}".as_bytes(),
        ),
        (
            br#""\ud800\udc00\uD83D\uDE00\udbff\udfff""#,
            "\u{10000}\u{1f600}\u{10ffff}".as_bytes(),
        ),
    ];
    for (text, expected) in table {
        assert_eq!(string(text), *expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_surrogate_without_its_partner_is_three_bytes() {
    let table: &[(&[u8], &[u8])] = &[
        (br#""\ud800""#, b"\xed\xa0\x80"),
        (br#""\udbff""#, b"\xed\xaf\xbf"),
        (br#""\udc00""#, b"\xed\xb0\x80"),
        (br#""\udfff""#, b"\xed\xbf\xbf"),
        (br#""\ud800x""#, b"\xed\xa0\x80x"),
        (br#""\ud800\n""#, b"\xed\xa0\x80\n"),
        (br#""\ud800\u0041""#, b"\xed\xa0\x80A"),
        (br#""\ud800\ud800""#, b"\xed\xa0\x80\xed\xa0\x80"),
        (br#""\ud800\ud800\udc00""#, b"\xed\xa0\x80\xf0\x90\x80\x80"),
        (br#""\ud800x\udc00""#, b"\xed\xa0\x80x\xed\xb0\x80"),
        (br#""\udc00\ud800""#, b"\xed\xb0\x80\xed\xa0\x80"),
        (br#""a\ud800\\udc00""#, b"a\xed\xa0\x80\\udc00"),
        (b"\"\\ud800\xed\xb0\x80\"", b"\xed\xa0\x80\xed\xb0\x80"),
    ];
    for (text, expected) in table {
        assert_eq!(string(text), *expected, "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_pair_may_be_cut_anywhere() {
    let text = br#"["ab\ud83d\ude00cd",{"\uD83D\uDE00":"\ud83d\ude00"}]"#;
    let whole = read_whole(text);
    assert_eq!(whole.1, Ok(()));
    for first in 0..=text.len() {
        for second in first..=text.len() {
            let pieces = [&text[..first], &text[first..second], &text[second..]];
            assert_eq!(read(pieces), whole);
        }
    }
}

#[test]
fn a_run_of_escapes_comes_in_few_parts() {
    let text = format!("\"{}\"", "\\n\\u4f60, ".repeat(10_000));
    let mut recorder = Recorder::default();
    assert_eq!(Lexer::new().push(text.as_bytes(), &mut recorder), Ok(()));
    assert!(recorder.parts < 10_000 / 10, "{} parts", recorder.parts);
}

#[test]
fn a_run_of_escapes_of_any_length_and_mixture_is_whole() {
    let mixture = r"\u00e9\u4f60, a \ud83d\ude00plain text of more\t";
    let meant = "é你, a 😀plain text of more\t";
    for count in 0..600 {
        let text = format!("\"{}{mixture}{}\"", r"\n".repeat(count), mixture.repeat(20));
        let expected = format!("{}{meant}{}", "\n".repeat(count), meant.repeat(20));
        let (tokens, result) = read_whole(text.as_bytes());
        assert_eq!(result, Ok(()));
        assert_eq!(tokens.get(1), Some(&Token::Text(expected.into_bytes())));
    }
}

proptest! {
    /// The reference for code units is `char::decode_utf16`.
    #[test]
    fn any_code_units_are_decoded_like_utf_16(units in proptest::collection::vec(unit(), 0..40)) {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let mut expected = Vec::new();
        for code in char::decode_utf16(units) {
            match code {
                Ok(code) => expected.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes()),
                Err(lone) => {
                    let unit = lone.unpaired_surrogate();
                    let [high, low] = unit.to_be_bytes();
                    expected.extend([0xed, 0x80 | high << 2 & 0x3c | low >> 6, 0x80 | low & 0x3f]);
                }
            }
        }
        prop_assert_eq!(string(format!("\"{escaped}\"").as_bytes()), expected);
    }
}

fn unit() -> impl Strategy<Value = u16> {
    prop_oneof![
        any::<u16>(),
        0xd800..0xdc00_u16,
        0xdc00..0xe000_u16,
        0..0x80_u16
    ]
}
