use super::super::{Cause, DEPTH_MAX, Fault, Kind, Lexer};
use super::recorder::{Recorder, Token, read, read_whole, string};
use super::tables::{ACCEPTED, INCOMPLETE, REFUSED};
use proptest::prelude::*;

#[test]
fn each_kind_is_told_with_its_offsets_and_text() {
    let text = br#" {"a" : [1.5e3, true,false , null, {}], "b":"x"} "#;
    let (tokens, result) = read_whole(text);
    assert_eq!(result, Ok(()));
    let mut seen = Vec::new();
    for token in &tokens {
        match token {
            Token::Begin(kind, at) => seen.push(format!("{kind:?} {at}")),
            Token::Text(text) => seen.push(String::from_utf8_lossy(text).into_owned()),
            Token::End(kind, end) => seen.push(format!("/{kind:?} {end}")),
        }
    }
    let expected = "Object 1|Key 2|a|/Key 5|Array 8|Number 9|1.5e3|/Number 14|True 16|/True 20|\
        False 21|/False 26|Null 29|/Null 33|Object 35|/Object 37|/Array 38|Key 40|b|/Key 43|\
        String 44|x|/String 47|/Object 48";
    assert_eq!(seen.join("|"), expected);
}

#[test]
fn what_the_grammar_allows_is_accepted_in_any_pieces() {
    for text in ACCEPTED {
        let whole = read_whole(text);
        assert_eq!(whole.1, Ok(()), "{}", String::from_utf8_lossy(text));
        assert_eq!(read_whole(&padded(text)), whole);
        for size in 1..text.len() {
            assert_eq!(
                read(text.chunks(size)),
                whole,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}

#[test]
fn what_the_grammar_forbids_is_refused_at_its_byte() {
    for (text, at) in REFUSED {
        let whole = read_whole(text);
        let fault = Fault {
            cause: Cause::Unexpected,
            at: *at,
        };
        assert_eq!(read_whole(&padded(text)), (whole.0.clone(), Err(fault)));
        assert_eq!(whole.1, Err(fault), "{}", String::from_utf8_lossy(text));
        for size in 1..text.len() {
            assert_eq!(
                read(text.chunks(size)),
                whole,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}

#[test]
fn what_ends_early_is_incomplete_at_its_end() {
    for text in INCOMPLETE {
        let whole = read_whole(text);
        let fault = Fault {
            cause: Cause::Incomplete,
            at: text.len() as u64,
        };
        assert_eq!(whole.1, Err(fault), "{}", String::from_utf8_lossy(text));
        for size in 1..text.len() {
            assert_eq!(
                read(text.chunks(size)),
                whole,
                "{}",
                String::from_utf8_lossy(text)
            );
        }
    }
}

#[test]
fn every_beginning_of_a_document_is_incomplete() {
    let text =
        "\u{feff}{\"k\\u00e9\":[-1.5e-3,true,false,null,\"\\ud83d\\ude00 x\"],\"o\":{}}".as_bytes();
    assert_eq!(read_whole(text).1, Ok(()));
    for end in 0..text.len() {
        let fault = Fault {
            cause: Cause::Incomplete,
            at: end as u64,
        };
        assert_eq!(read_whole(&text[..end]).1, Err(fault), "at {end}");
    }
}

#[test]
fn a_byte_order_mark_counts_in_offsets() {
    let (tokens, result) = read_whole(b"\xef\xbb\xbf7");
    assert_eq!(result, Ok(()));
    assert_eq!(tokens.first(), Some(&Token::Begin(Kind::Number, 3)));
}

#[test]
fn a_number_at_top_level_ends_at_the_end_of_the_text() {
    let mut lexer = Lexer::new();
    let mut recorder = Recorder::default();
    assert_eq!(lexer.push(b"12", &mut recorder), Ok(()));
    assert!(!lexer.is_complete(), "more digits may come");
    assert_eq!(lexer.push(b"3", &mut recorder), Ok(()));
    assert_eq!(lexer.finish(&mut recorder), Ok(()));
    assert!(lexer.is_complete());
    let expected = [
        Token::Begin(Kind::Number, 0),
        Token::Text(b"123".to_vec()),
        Token::End(Kind::Number, 3),
    ];
    assert_eq!(recorder.tokens, expected);
    let fault = Fault {
        cause: Cause::Unexpected,
        at: 3,
    };
    assert_eq!(lexer.push(b"4", &mut recorder), Err(fault));
}

#[test]
fn a_complete_text_says_so_before_its_end() {
    let mut lexer = Lexer::new();
    let mut recorder = Recorder::default();
    assert_eq!(lexer.push(b"[{}", &mut recorder), Ok(()));
    assert_eq!((lexer.depth(), lexer.is_complete()), (1, false));
    assert_eq!(lexer.push(b"]", &mut recorder), Ok(()));
    assert_eq!((lexer.depth(), lexer.is_complete()), (0, true));
    assert_eq!(lexer.push(b" \n", &mut recorder), Ok(()));
    assert_eq!(lexer.finish(&mut recorder), Ok(()));
}

#[test]
fn a_plain_string_in_one_piece_is_one_part_of_the_piece() {
    for length in 0..600 {
        let text = format!("\"{}\"", "x".repeat(length));
        let mut recorder = Recorder::default();
        assert_eq!(Lexer::new().push(text.as_bytes(), &mut recorder), Ok(()));
        assert_eq!(recorder.parts, length.min(1));
        assert_eq!(string(text.as_bytes()).len(), length);
    }
}

#[test]
fn what_ends_plain_text_is_found_at_every_place() {
    for length in 0..200 {
        for byte in 0..0x20 {
            let mut text = vec![b'"'];
            text.resize(1 + length, 0xff);
            text.push(byte);
            text.extend_from_slice(&[b'y'; 100]);
            text.push(b'"');
            let fault = Fault {
                cause: Cause::Unexpected,
                at: 1 + length as u64,
            };
            let (tokens, result) = read_whole(&text);
            assert_eq!(result, Err(fault));
            assert_eq!(tokens.len(), if length == 0 { 1 } else { 2 });
        }
        let plain = "é".repeat(length);
        assert_eq!(
            string(format!("\"{plain}\\n{plain}\"").as_bytes()),
            format!("{plain}\n{plain}").as_bytes()
        );
    }
}

proptest! {
    #[test]
    fn plain_text_ends_at_the_first_byte_that_is_not_plain(
        bytes in proptest::collection::vec(any::<u8>(), 0..40), length in 0..100_usize,
    ) {
        let mut inside = vec![0x7f; length];
        inside.extend(bytes);
        let text = [b"\"", &inside[..], &b"\"".repeat(40)].concat();
        let end = inside.iter().position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\'));
        let end = end.unwrap_or(inside.len());
        let (tokens, _) = read_whole(&text);
        match (tokens.get(1), text[1 + end]) {
            // What an escape stands for is joined to it.
            (Some(Token::Text(told)), b'\\') => prop_assert!(told.starts_with(&inside[..end])),
            (Some(Token::Text(told)), _) => prop_assert_eq!(told, &inside[..end]),
            (Some(Token::End(_, at)), b'"') => prop_assert_eq!((*at, end), (2, 0)),
            (other, _) => prop_assert!(other.is_none() && end == 0),
        }
    }
}

#[test]
fn a_control_character_far_into_a_long_string_is_refused() {
    for at in [4_095, 4_096, 4_097, 100_000] {
        let mut text = vec![b'x'; 200_000];
        text[0] = b'"';
        text[at] = 0x1f;
        let whole = read_whole(&text);
        assert_eq!(
            whole.1,
            Err(Fault {
                cause: Cause::Unexpected,
                at: at as u64
            })
        );
        assert_eq!(read(text.chunks(777)), whole);
    }
}

#[test]
fn bytes_that_are_no_utf_8_pass_in_strings_only() {
    let text: Vec<u8> = [b'"']
        .into_iter()
        .chain(0x80..=0xff)
        .chain([b'"'])
        .collect();
    assert_eq!(string(&text), text[1..text.len() - 1]);
    assert_eq!(
        read_whole(b"[\x80]").1,
        Err(Fault {
            cause: Cause::Unexpected,
            at: 1
        })
    );
}

#[test]
fn a_text_as_deep_as_the_limit_is_read_and_a_deeper_one_is_not() {
    for (open, close) in [("[", "]"), ("{\"k\":", "}"), ("[{\"k\":", "}]")] {
        let levels = open.matches(['[', '{']).count();
        let count = DEPTH_MAX / levels;
        let text = format!("{}1{}", open.repeat(count), close.repeat(count));
        let whole = read_whole(text.as_bytes());
        assert_eq!(whole.1, Ok(()));
        assert_eq!(read(text.as_bytes().chunks(1)), whole);
        let deeper = format!("{}[", open.repeat(count));
        let fault = Fault {
            cause: Cause::TooDeep,
            at: deeper.len() as u64 - 1,
        };
        let whole = read_whole(deeper.as_bytes());
        assert_eq!(whole.1, Err(fault));
        assert_eq!(read(deeper.as_bytes().chunks(1)), whole);
    }
}

#[test]
fn a_depth_bomb_stops_at_the_limit() {
    for bomb in [&b"["[..], b"{\"\":", b"[[],"] {
        let text = bomb.repeat(1_000_000);
        let (tokens, result) = read_whole(&text);
        assert_eq!(result.map_err(|fault| fault.cause), Err(Cause::TooDeep));
        assert!(tokens.len() <= 4 * DEPTH_MAX);
    }
}

#[test]
fn containers_beside_each_other_are_not_deep() {
    let text = format!("[{}[]]", "[{}],".repeat(100_000));
    assert_eq!(read_whole(text.as_bytes()).1, Ok(()));
}

#[test]
fn a_key_of_a_mebibyte_is_read() {
    let key = "k".repeat(1 << 20);
    let text = format!("{{\"{key}\":1}}");
    let (tokens, result) = read(text.as_bytes().chunks(1000));
    assert_eq!(result, Ok(()));
    assert_eq!(tokens.get(2), Some(&Token::Text(key.into_bytes())));
}

#[test]
fn five_megabytes_of_digits_are_one_number() {
    let digits = vec![b'7'; 5_000_000];
    let (tokens, result) = read(digits.chunks(65_536));
    assert_eq!(result, Ok(()));
    assert_eq!(tokens.get(1), Some(&Token::Text(digits.clone())));
    assert_eq!(read_whole(&digits), (tokens, Ok(())));
}

#[test]
fn empty_pieces_change_nothing() {
    let text = br#"{"a\n":[12,true]}"#;
    let pieces = text.chunks(1).flat_map(|piece| [&[][..], piece, &[]]);
    assert_eq!(read(pieces), read_whole(text));
}

#[test]
fn a_fault_says_what_and_where_but_not_the_text() {
    let (_, result) = read_whole(b"{secret}");
    assert_eq!(
        result.map_err(|fault| fault.to_string()),
        Err("unexpected byte at byte 1".to_owned())
    );
}

/// With white space behind it, so that what is read in words has whole ones.
fn padded(text: &[u8]) -> Vec<u8> {
    [text, &[b' '; 40]].concat()
}
