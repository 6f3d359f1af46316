use std::io::Write as _;

use proptest::prelude::*;

use super::*;

const BODY: &[u8] = br#"{ "n" : 12345678901234567890.0, "model" : "old" ,"a":1e400}"#;

fn at(needle: &str) -> u64 {
    let start = BODY.windows(needle.len());
    let start = start.into_iter().position(|it| it == needle.as_bytes());
    start.unwrap() as u64
}

/// Where the body names its model.
fn named() -> ModelPlace {
    let start = at("\"old\"");
    ModelPlace::member(start, start + 5)
}

fn joined(body: &[Bytes]) -> String {
    String::from_utf8(body.concat()).unwrap()
}

fn rewritten(body: &[u8], place: &ModelPlace, model: &str) -> Option<String> {
    let body = vec![Bytes::copy_from_slice(body)];
    let rewritten = rewrite(body, place, model)?;
    assert!(!rewritten.is_decoded);
    Some(joined(&rewritten.body))
}

#[test]
fn only_the_name_changes() {
    let text = rewritten(BODY, &named(), "a much longer one");
    let expected = r#"{ "n" : 12345678901234567890.0, "model" : "a much longer one" ,"a":1e400}"#;
    assert_eq!(text.as_deref(), Some(expected));
}

#[test]
fn a_name_is_escaped_as_json_writes_it() {
    let text = rewritten(
        b"{\"model\":1}",
        &ModelPlace::member(9, 10),
        "a\"\\/\n\u{1f}é\u{2028}",
    );
    let expected = "{\"model\":\"a\\\"\\\\/\\u000a\\u001fé\u{2028}\"}";
    assert_eq!(text.as_deref(), Some(expected));
}

#[test]
fn a_body_without_a_name_gets_one() {
    let first = ModelPlace::new_member(1, false);
    let text = rewritten(br#"{"a":1}"#, &first, "m");
    assert_eq!(text.as_deref(), Some(r#"{"model":"m","a":1}"#));
    let only = ModelPlace::new_member(2, true);
    let text = rewritten(b" { } ", &only, "m");
    assert_eq!(text.as_deref(), Some(r#" {"model":"m" } "#));
}

#[test]
fn the_text_of_a_part_is_not_quoted_and_has_no_line_break() {
    let place = ModelPlace::part_text(1, 2);
    assert_eq!(
        rewritten(b"abc", &place, "\"x\"").as_deref(),
        Some("a\"x\"c")
    );
    assert_eq!(rewritten(b"abc", &place, "").as_deref(), Some("ac"));
    for model in ["a\r\nb", "a\n", "\rb"] {
        assert_eq!(rewritten(b"abc", &place, model), None);
    }
}

#[test]
fn a_place_that_is_not_in_the_body_is_none() {
    for place in [
        ModelPlace::member(0, 4),
        ModelPlace::member(4, 4),
        ModelPlace::member(2, 1),
        ModelPlace::member(u64::MAX, u64::MAX),
        ModelPlace::member(u64::MAX, 0),
        ModelPlace::new_member(4, true),
        ModelPlace::part_text(3, u64::MAX),
    ] {
        assert_eq!(rewritten(b"abc", &place, "m"), None, "{place:?}");
    }
    assert_eq!(rewrite(Vec::new(), &ModelPlace::member(0, 1), "m"), None);
}

#[test]
fn what_does_not_change_is_not_copied() {
    let piece = Bytes::from_static(BODY);
    let body = vec![piece.clone(), Bytes::new(), piece.clone()];
    let rewritten = rewrite(body, &named(), "new").unwrap();
    let [before, name, after, last] = rewritten.body.as_slice() else {
        panic!("four pieces: {rewritten:?}");
    };
    assert_eq!(name, "\"new\"");
    assert_eq!(before.as_ptr(), piece.as_ptr());
    let end = usize::try_from(at("\"old\"") + 5).unwrap();
    assert_eq!(after.as_ptr(), piece[end..].as_ptr());
    assert_eq!(last.as_ptr(), piece.as_ptr());
}

#[test]
fn a_compressed_body_comes_out_plain() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(BODY).unwrap();
    let gzip = encoder.finish().unwrap();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(BODY, level);
    let expected = rewritten(BODY, &named(), "new").unwrap();
    for (coded, coding) in [(gzip, Coding::Gzip), (zstd, Coding::Zstd)] {
        let place = named().coded(coding);
        let pieces = coded.chunks(7).map(Bytes::copy_from_slice).collect();
        let rewritten = rewrite(pieces, &place, "new").unwrap();
        assert!(rewritten.is_decoded);
        assert_eq!(joined(&rewritten.body), expected);
        let cut = vec![Bytes::copy_from_slice(&coded[..coded.len() - 1])];
        assert_eq!(rewrite(cut, &place, "new"), None);
    }
}

proptest! {
    #[test]
    fn a_splice_of_pieces_is_the_splice_of_the_whole(
        body in proptest::collection::vec(any::<u8>(), 0..60),
        cuts in proptest::collection::vec(0..60_usize, 0..8),
        start in 0..70_u64,
        end in 0..70_u64,
        form in 0..4_u8,
        model in "[a-z\"\\\\ é]{0,5}",
    ) {
        let (place, name) = match form {
            0 => (ModelPlace::member(start, end), quoted(&model)),
            1 => (ModelPlace::part_text(start, end), model.clone()),
            2 => {
                let name = format!("\"model\":{}", quoted(&model));
                (ModelPlace::new_member(start, true), name)
            }
            _ => {
                let name = format!("\"model\":{},", quoted(&model));
                (ModelPlace::new_member(start, false), name)
            }
        };
        let (first, last) = (usize::try_from(place.start)?, usize::try_from(place.end)?);
        let expected = (first <= last && last <= body.len())
            .then(|| [&body[..first], name.as_bytes(), &body[last..]].concat());

        let mut cuts: Vec<usize> = cuts.iter().map(|&cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces: Vec<Bytes> = cuts
            .windows(2)
            .map(|pair| Bytes::copy_from_slice(&body[pair[0]..pair[1]]))
            .collect();
        let rewritten = rewrite(pieces, &place, &model);
        if let Some(rewritten) = &rewritten {
            prop_assert!(rewritten.body.iter().all(|piece| !piece.is_empty()));
        }
        prop_assert_eq!(rewritten.map(|it| it.body.concat()), expected);
    }

    #[test]
    fn a_quoted_name_is_read_as_that_name(model in any::<String>()) {
        prop_assert_eq!(serde_json::from_str::<String>(&quoted(&model))?, model);
    }
}
