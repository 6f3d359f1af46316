use pointsman_domain::block::BlockSize;
use pointsman_domain::facts::{MEDIA_MAX, MediaItem, MediaKind, NameHash};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::rewrite::rewrite;

const BOUNDARY: &str = "X";

/// Headers of a part with a name, and what else its disposition says.
fn headed(name: &str, content: &[u8]) -> Vec<u8> {
    let file = if name == "file" {
        "; filename=\"a.wav\"\r\nContent-Type: audio/wav"
    } else {
        ""
    };
    let header = format!("--X\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
    [header.as_bytes(), content, b"\r\n"].concat()
}

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body: Vec<u8> = parts
        .iter()
        .flat_map(|(name, content)| headed(name, content))
        .collect();
    body.extend(b"--X--\r\n");
    body
}

fn facts_of(pieces: &[Bytes], boundary: &str) -> (RequestFacts, Option<ModelPlace>) {
    let mut facts = RequestFacts::passthrough(BlockSize::DEFAULT);
    let place = read(&mut facts, pieces, boundary);
    (facts, place)
}

fn facts(body: &[u8]) -> (RequestFacts, Option<ModelPlace>) {
    facts_of(&[Bytes::copy_from_slice(body)], BOUNDARY)
}

/// What is known of a body that says nothing.
fn nothing() -> (RequestFacts, Option<ModelPlace>) {
    let facts = RequestFacts {
        model: ModelName::Absent,
        ..RequestFacts::passthrough(BlockSize::DEFAULT)
    };
    (facts, None)
}

fn named(name: &str) -> ModelName {
    ModelName::Named(name.into())
}

fn audio(content: &[u8]) -> MediaItem {
    MediaItem {
        kind: MediaKind::Audio,
        content: xxh3_64(content),
        tokens: pointsman_domain::units::Tokens(content.len().div_ceil(320) as u64),
    }
}

/// The text of the model's part in another body.
fn with_model(body: &[u8], place: ModelPlace, model: &str) -> Vec<u8> {
    let rewritten = rewrite(vec![Bytes::copy_from_slice(body)], &place, model);
    rewritten.unwrap().body.concat()
}

/// Every byte, and whatever looks like a delimiter and is none.
fn binary() -> Vec<u8> {
    let mut file: Vec<u8> = (0..=255).collect();
    file.extend(b"\r\n--\r\r\n--\r\n-\r\n--Y\r\n\r\n--XY\r\n\r\n--X-\r\n\r\n--X \t-");
    file.extend(b"\n--X\n--X--\n\r\n--X\r\r\r\n--X\rX");
    file.extend((0..=255).rev());
    file
}

#[test]
fn b07_an_audio_upload_says_its_model_and_its_content() {
    let file = binary();
    let body = form(&[
        ("file", &file),
        ("model", b"whisper"),
        ("stream", b"true"),
        ("user", b"me"),
        ("temperature", b"0"),
    ]);
    let (facts, place) = facts(&body);
    assert_eq!(facts.model, named("whisper"));
    assert!(facts.stream);
    assert_eq!(facts.user, Some(NameHash::of(b"me")));
    assert_eq!(facts.media, [audio(&file)]);
    let other = form(&[
        ("file", &file),
        ("model", b"other one"),
        ("stream", b"true"),
        ("user", b"me"),
        ("temperature", b"0"),
    ]);
    assert_eq!(with_model(&body, place.unwrap(), "other one"), other);
}

#[test]
fn b07_the_content_of_a_file_decides_and_nothing_else_of_it() {
    let content = |file: &[u8]| facts(&form(&[("file", file)])).0.media;
    assert_eq!(content(b"abc"), content(b"abc"));
    assert_ne!(content(b"abc"), content(b"abd"));
    assert_eq!(content(b""), [audio(b"")]);
    assert_eq!(content(&[7; 321])[0].tokens.0, 2);
}

#[test]
fn a_form_without_a_model_is_routed_by_load() {
    let (facts, place) = facts(&form(&[("file", b"abc")]));
    assert_eq!((facts.model, place), (ModelName::Absent, None));
    assert_eq!(self::facts(b"--X--\r\n"), nothing());
    assert_eq!(self::facts(b"--X--"), nothing());
}

#[test]
fn of_a_part_that_comes_twice_the_last_counts() {
    let body = form(&[
        ("model", b"a"),
        ("stream", b"1"),
        ("model", b"b"),
        ("stream", b"0"),
    ]);
    let (facts, place) = facts(&body);
    assert_eq!((facts.model, facts.stream), (named("b"), false));
    let other = form(&[
        ("model", b"a"),
        ("stream", b"1"),
        ("model", b"c"),
        ("stream", b"0"),
    ]);
    assert_eq!(with_model(&body, place.unwrap(), "c"), other);
}

#[test]
fn a_name_that_is_none_is_absent_and_can_be_replaced() {
    for name in [&b""[..], &[b'x'; 257], b"\xff"] {
        let body = form(&[("model", name)]);
        let (facts, place) = facts(&body);
        assert_eq!(facts.model, ModelName::Absent);
        let other = form(&[("model", b"m")]);
        assert_eq!(with_model(&body, place.unwrap(), "m"), other);
    }
    let longest = form(&[("model", &[b'x'; 256])]);
    assert_eq!(facts(&longest).0.model, named(&"x".repeat(256)));
}

#[test]
fn a_stream_is_what_engines_take_for_true() {
    for (text, expected) in [
        ("true", true),
        ("True", true),
        ("1", true),
        ("on", true),
        ("false", false),
        ("", false),
        ("truer", false),
        (&"1".repeat(300), false),
    ] {
        let (facts, _) = facts(&form(&[("stream", text.as_bytes())]));
        assert_eq!(facts.stream, expected, "{text}");
    }
}

#[test]
fn the_name_of_a_part_is_found_however_its_headers_are_written() {
    for headers in [
        "Content-Disposition: form-data; name=model",
        "content-disposition:form-data;name=\"model\"",
        "X: y\r\nCONTENT-DISPOSITION : Form-Data ; Name = \"mod\\el\"; x=\"; name=file\"",
        "Content-Disposition: form-data; name=\"model\"\r\nContent-Type: text/plain",
    ] {
        let body = format!("--X\r\n{headers}\r\n\r\nm\r\n--X--");
        assert_eq!(facts(body.as_bytes()).0.model, named("m"), "{headers}");
    }
    for headers in [
        "Content-Disposition: form-data; name=\"model\"; filename=\"model\"",
        "Content-Disposition: attachment; name=\"model\"",
        "Content-Disposition: form-data; name=\"Model\"",
        "Content-Disposition: form-data; names=\"model\"",
        "Content-Disposition: form-data; x=\"name=model\"",
        "Content-Type: form-data; name=\"model\"",
        "name=\"model\"",
    ] {
        let body = format!("--X\r\n{headers}\r\n\r\nm\r\n--X--");
        assert_eq!(facts(body.as_bytes()), nothing(), "{headers}");
    }
}

#[test]
fn what_is_before_the_first_and_after_the_last_delimiter_does_not_count() {
    let form = form(&[("model", b"m")]);
    let other = self::form(&[("model", b"other")]);
    for before in [
        &b""[..],
        b"\r\n",
        b"hello\r\n",
        b"--Y\r\n\r\n",
        b"\r\n--\r\n",
    ] {
        let body = [before, &form, &other].concat();
        let (facts, place) = facts(&body);
        assert_eq!(facts.model, named("m"));
        let expected = [before, &self::form(&[("model", b"x")]), &other].concat();
        assert_eq!(with_model(&body, place.unwrap(), "x"), expected);
    }
}

#[test]
fn blanks_may_follow_a_delimiter() {
    let part = "Content-Disposition: form-data; name=model\r\n\r\nm";
    let body = format!("--X \t\r\n{part}\r\n--X\t\r\n\r\nother\r\n--X--");
    assert_eq!(facts(body.as_bytes()).0.model, named("m"));
    let many = " ".repeat(100);
    let body = format!("--X{many}\r\n{part}\r\n--X--");
    assert_eq!(facts(body.as_bytes()), nothing());
}

#[test]
fn a_body_that_is_not_what_it_says_says_nothing() {
    let whole = form(&[("stream", b"true"), ("model", b"m"), ("file", b"abc")]);
    let end = whole.len() - b"\r\n".len();
    for cut in 0..end {
        assert_eq!(facts(&whole[..cut]), nothing(), "{cut}");
    }
    for body in [
        &b"{\"model\":\"m\"}"[..],
        b"",
        b"--Y\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--Y--",
        b"--X\nContent-Disposition: form-data; name=model\n\nm\n--X--",
        b"x--X\r\nContent-Disposition: form-data; name=model\r\n\r\nm\r\n--X--",
    ] {
        assert_eq!(facts(body), nothing());
    }
}

#[test]
fn parts_and_headers_without_end_say_nothing() {
    let most = PARTS_MAX as usize;
    let mut parts = vec![("n", &b"1"[..]); most];
    parts[0] = ("model", b"m");
    assert_eq!(facts(&form(&parts)).0.model, named("m"));
    parts.push(("n", b"1"));
    assert_eq!(facts(&form(&parts)), nothing());

    let headed = |bytes: usize| {
        let name = "Content-Disposition: form-data; name=model\r\nX: ";
        let long = "x".repeat(bytes - name.len() - 4);
        format!("--X\r\n{name}{long}\r\n\r\nm\r\n--X--")
    };
    let longest = headed(HEADER_BYTES_MAX);
    assert_eq!(facts(longest.as_bytes()).0.model, named("m"));
    let longer = headed(HEADER_BYTES_MAX + 1);
    assert_eq!(facts(longer.as_bytes()), nothing());
    let lines = format!("--X\r\n{}", "x\r\n".repeat(1 << 20));
    assert_eq!(facts(lines.as_bytes()), nothing());
}

#[test]
fn b07_cuts_at_every_byte_change_nothing() {
    let file = binary();
    let body = form(&[("file", &file), ("model", b"m"), ("stream", b"true")]);
    let whole = facts(&body);
    assert_eq!(whole.0.media, [audio(&file)]);
    for cut in 0..body.len() {
        let (before, after) = body.split_at(cut);
        let pieces = [before, after].map(Bytes::copy_from_slice);
        assert_eq!(facts_of(&pieces, BOUNDARY), whole, "{cut}");
    }
    let bytes: Vec<Bytes> = body.chunks(1).map(Bytes::copy_from_slice).collect();
    assert_eq!(facts_of(&bytes, BOUNDARY), whole);
}

/// Bytes of which delimiters are made, and a few others.
fn confusing() -> impl Strategy<Value = Vec<u8>> {
    let byte = proptest::sample::select(&b"\r\r\n\n--X :;=\"a"[..]);
    proptest::collection::vec(byte, 0..60)
}

#[test]
fn only_the_first_files_are_told() {
    let contents: Vec<_> = (0..=MEDIA_MAX).map(|index| index.to_string()).collect();
    let file = |content| ("file", str::as_bytes(content));
    let mut parts: Vec<_> = contents.iter().map(|content| file(content)).collect();
    parts.push(("model", b"whisper"));
    let (facts, _) = facts(&form(&parts));
    let first = contents.iter().take(MEDIA_MAX);
    assert!(
        facts
            .media
            .into_iter()
            .eq(first.map(|content| audio(content.as_bytes())))
    );
    // What comes behind them is read all the same.
    assert_eq!(facts.model, named("whisper"));
}

proptest! {
    #[test]
    fn how_a_body_is_cut_into_pieces_changes_nothing(
        contents in proptest::collection::vec(confusing(), 0..4),
        tail in confusing(),
        cuts in proptest::collection::vec(any::<usize>(), 0..10),
    ) {
        let names = ["model", "file", "stream", "user"];
        let parts: Vec<_> = names.into_iter().zip(contents.iter().map(Vec::as_slice)).collect();
        let body = [form(&parts), tail].concat();
        let whole = facts(&body);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let pieces: Vec<Bytes> = cuts
            .windows(2)
            .map(|pair| Bytes::copy_from_slice(&body[pair[0]..pair[1]]))
            .collect();
        prop_assert_eq!(facts_of(&pieces, BOUNDARY), whole);
    }

    /// A content without the delimiter comes back as it is, and is found where it is.
    #[test]
    fn a_content_is_what_lies_between_delimiters(file in confusing(), model in "[a-z\r\n-]{0,9}") {
        prop_assume!(!file.windows(5).any(|it| it == b"\r\n--X"));
        let body = form(&[("file", &file), ("model", model.as_bytes())]);
        let (facts, place) = facts(&body);
        prop_assert_eq!(facts.media, [audio(&file)]);
        prop_assert_eq!(facts.model.name().unwrap_or_default(), &model);
        let expected = form(&[("file", &file), ("model", b"m")]);
        prop_assert_eq!(with_model(&body, place.unwrap(), "m"), expected);
    }

    #[test]
    fn no_bytes_panic(body in confusing(), boundary in "[X-]{1,3}") {
        facts_of(&[body.into()], &boundary);
    }
}
