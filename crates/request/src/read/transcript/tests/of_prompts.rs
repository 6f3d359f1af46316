use xxhash_rust::xxh3::xxh3_64;

use super::*;

fn prompts(value: &Json) -> Written {
    written(SegmentKind::Prompts, 2, &value.to_string())
}

fn hashes(value: &Json) -> Vec<BlockHash> {
    let written = prompts(value);
    assert_eq!(written.state, State::Read, "{value}");
    written.hasher.finish()
}

#[test]
fn b02_every_legal_shape_is_read_and_ids_are_counted() {
    for (value, ids) in [
        (json!([1, 2, 3]), Some(3)),
        (json!([[1, 2], [3]]), Some(3)),
        (json!([15496, 995]), Some(2)),
        (json!("a"), None),
        (json!(["a", "b"]), None),
        (json!([""]), None),
        (json!([[]]), Some(0)),
    ] {
        let written = prompts(&value);
        assert_eq!((written.state, written.ids), (State::Read, ids), "{value}");
    }
}

#[test]
fn ids_are_hashed_as_little_endian_words() {
    let words = |ids: [u32; 2]| BlockHash(xxh3_64(&ids.map(u32::to_le_bytes).concat()));
    assert_eq!(
        hashes(&json!([1, 2, 300, 128_000, 5])),
        [words([1, 2]), words([300, 128_000])]
    );
}

#[test]
fn a_text_alone_and_in_a_list_is_one_prompt_and_so_are_ids() {
    assert_eq!(
        hashes(&json!("a long text")),
        hashes(&json!(["a long text"]))
    );
    assert_eq!(hashes(&json!([1, 2, 3])), hashes(&json!([[1, 2, 3]])));
}

#[test]
fn prompts_that_differ_only_in_their_borders_differ() {
    assert_ne!(
        hashes(&json!([[1, 2], [3, 4]])),
        hashes(&json!([[1, 2, 3, 4]]))
    );
    assert_ne!(
        hashes(&json!([[1, 2, 3], [4]])),
        hashes(&json!([[1, 2], [3, 4]]))
    );
    assert_ne!(
        hashes(&json!(["ab", "cdefghijkl"])),
        hashes(&json!(["abcdefghijkl"]))
    );
    // A text of the bytes of token ids is no list of them.
    assert_ne!(
        hashes(&json!("\u{1}\0\0\0\u{2}\0\0\0")),
        hashes(&json!([1, 2]))
    );
}

#[test]
fn an_empty_prompt_is_told() {
    for (value, state) in [
        (json!(""), State::Empty),
        (json!([]), State::Empty),
        (json!(null), State::Null),
    ] {
        assert_eq!(prompts(&value).state, state, "{value}");
    }
}

#[test]
fn anything_else_has_a_wrong_type() {
    for wrong in [
        "7",
        "true",
        r#"{"text":"a"}"#,
        r#"[1,"a"]"#,
        r#"["a",1]"#,
        "[[1],2]",
        "[1,[2]]",
        r#"[["a"]]"#,
        "[[[1]]]",
        "[null]",
        "[-1]",
        "[-0]",
        "[-1.0]",
        "[-1e0]",
        "[4294967295.0]",
        "[18446744073709551616e1]",
        "[4294967295]",
        "[4294967296]",
        "[18446744073709551616]",
        "[99999999999999999999999999999]",
        r#"[{"text":"a"}]"#,
    ] {
        let written = written(SegmentKind::Prompts, 2, wrong);
        assert_eq!(written.state, State::Wrong, "{wrong}");
    }
    for wrong in [r#""a""#, r#"["a"]"#, r#"[{"text":"a"}]"#] {
        assert_eq!(
            written(SegmentKind::Ids, 2, wrong).state,
            State::Wrong,
            "{wrong}"
        );
    }
    // What comes after a fault does not mend it.
    for wrong in [r#"[null,"a"]"#, "[[null],[1]]", "[{},1,2,3]"] {
        assert_eq!(
            prompts(&serde_json::from_str(wrong).unwrap()).state,
            State::Wrong
        );
    }
}

#[test]
fn ids_with_a_point_or_an_exponent_are_hashed_as_written_and_not_counted() {
    let lists = [
        "[1,10]",
        "[1,1e1]",
        "[1,1E1]",
        "[1,1e+1]",
        "[1,10.0]",
        "[1.0,10]",
        "[1,10.00]",
        "[1,10.000]",
        "[1,10.0000]",
        "[1,10.00000]",
        "[1,2.0,10]",
        "[[1.0],[10]]",
        "[[1],[10.0]]",
    ];
    let read = |list: &str| written(SegmentKind::Prompts, 1, list);
    for (index, list) in lists.iter().enumerate() {
        let one = read(list);
        assert_eq!(one.state, State::Read, "{list}");
        assert_eq!(one.ids.is_some(), index == 0, "{list}");
        let expected = list.matches(',').count() as u64 + 1;
        assert_eq!(one.tokens(), Tokens(expected), "{list}");
        for other in &lists[..index] {
            assert_ne!(
                read(other).hasher.hashes(),
                one.hasher.hashes(),
                "{list} {other}"
            );
        }
    }
    // However the number is cut, and whatever came before it.
    let mut whole = Whole(Transcript::new(BlockSize::DEFAULT));
    let block = BlockSize::new(1).unwrap();
    whole.0.start(SegmentKind::Prompts, Written::nothing(block));
    let mut lexer = Lexer::new();
    for byte in "[1,10.00]".as_bytes() {
        lexer.push(&[*byte], &mut whole).unwrap();
    }
    lexer.finish(&mut whole).unwrap();
    let cut = whole.0.stop(Written::nothing(block));
    assert_eq!(cut.hasher.hashes(), read("[1,10.00]").hasher.hashes());
}

#[test]
fn marks_between_prompts_are_no_tokens() {
    let many = json!(vec!["abcd"; 100]);
    assert_eq!(prompts(&many).tokens(), Tokens(100));
    assert_eq!(prompts(&json!("abcd")).tokens(), Tokens(1));
    assert_eq!(prompts(&json!(["", ""])).tokens(), Tokens(0));
}

#[test]
fn objects_with_text_and_media_are_prompts_where_they_are_allowed() {
    let read = |value: &Json| read(SegmentKind::PromptsOrObjects, value);
    let written = read(&json!([{"text": "a cat", "image": "data:a"}, {"text": "a dog"}]));
    assert_eq!(written.state, State::Read);
    assert_eq!((written.media.len(), written.prompts), (1, 2));
    let other = read(&json!([{"text": "a cat", "image": "data:b"}, {"text": "a dog"}]));
    assert_ne!(written.hasher.hashes(), other.hasher.hashes());
    assert_eq!(read(&json!([{"text": "a"}, "b"])).state, State::Wrong);
    assert_eq!(read(&json!({"text": "a"})).state, State::Wrong);
}

proptest! {
    #[test]
    fn a_growing_prompt_keeps_its_earlier_blocks(
        ids in proptest::collection::vec(0..ID_LIMIT, 1..40),
        text in "[a-z]{1,60}",
        length in any::<prop::sample::Index>(),
    ) {
        let start = hashes(&json!(ids[..=length.index(ids.len())]));
        prop_assert_eq!(&hashes(&json!(ids))[..start.len()], &start[..]);
        let start = hashes(&json!(text[..=length.index(text.len())]));
        prop_assert_eq!(&hashes(&json!(text))[..start.len()], &start[..]);
    }
}
