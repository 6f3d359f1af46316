use pointsman_domain::block::BlockHash;
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use xxhash_rust::xxh3::xxh3_64;

use super::*;

fn read(prompt: &Json) -> Result<Option<Prompt>, serde_json::Error> {
    let text = prompt.to_string();
    let mut json = serde_json::Deserializer::from_str(&text);
    Prompts::read(&mut json, BlockSize::new(2).unwrap())
}

fn prompt(prompt: &Json) -> Prompt {
    read(prompt).unwrap().unwrap()
}

#[test]
fn b02_every_legal_shape_is_read_and_ids_are_counted() {
    assert_eq!(prompt(&json!([1, 2, 3])).tokens, Tokens(3));
    assert_eq!(prompt(&json!([[1, 2], [3]])).tokens, Tokens(3));
    assert_eq!(prompt(&json!([15496, 995])).tokens, Tokens(2));
    assert!(prompt(&json!("a")).tokens > Tokens::ZERO);
    assert!(prompt(&json!(["a", "b"])).tokens > prompt(&json!(["a"])).tokens);
}

#[test]
fn ids_are_hashed_as_little_endian_words() {
    let words = |ids: [u32; 2]| BlockHash(xxh3_64(&ids.map(u32::to_le_bytes).concat()));
    let blocks = prompt(&json!([1, 2, 3, 4, 5])).blocks;
    assert_eq!(blocks, [words([1, 2]), words([3, 4])]);
}

#[test]
fn a_text_alone_and_in_a_list_is_one_prompt_and_so_are_ids() {
    assert_eq!(
        prompt(&json!("a long text")),
        prompt(&json!(["a long text"]))
    );
    assert_eq!(prompt(&json!([1, 2, 3])), prompt(&json!([[1, 2, 3]])));
}

#[test]
fn prompts_that_differ_only_in_their_borders_differ() {
    let blocks = |value| prompt(&value).blocks;
    assert_ne!(
        blocks(json!([[1, 2], [3, 4]])),
        blocks(json!([[1, 2, 3, 4]]))
    );
    assert_ne!(
        blocks(json!([[1, 2, 3], [4]])),
        blocks(json!([[1, 2], [3, 4]]))
    );
    assert_ne!(
        blocks(json!(["ab", "cdefghijkl"])),
        blocks(json!(["abcdefghijkl"]))
    );
    // A text of the bytes of token ids is no list of them.
    assert_ne!(
        blocks(json!("\u{1}\0\0\0\u{2}\0\0\0")),
        blocks(json!([1, 2]))
    );
}

#[test]
fn an_empty_prompt_is_none() {
    for empty in [json!(""), json!([])] {
        assert_eq!(read(&empty).unwrap(), None);
    }
}

#[test]
fn anything_else_has_a_wrong_type() {
    for wrong in [
        json!(null),
        json!(7),
        json!(true),
        json!({"text": "a"}),
        json!([1, "a"]),
        json!(["a", 1]),
        json!([[1], 2]),
        json!([["a"]]),
        json!([[[1]]]),
        json!([null]),
        json!([-1]),
        json!([1.5]),
        json!([u32::MAX]),
        json!([1_u64 << 32]),
    ] {
        let error = read(&wrong).unwrap_err();
        assert_eq!(
            error.classify(),
            serde_json::error::Category::Data,
            "{wrong}"
        );
    }
}

proptest! {
    #[test]
    fn a_growing_prompt_keeps_its_earlier_blocks(
        ids in proptest::collection::vec(0..ID_LIMIT, 1..40),
        text in "[a-z]{1,60}",
        length in any::<prop::sample::Index>(),
    ) {
        let start = prompt(&json!(ids[..=length.index(ids.len())]));
        let whole = prompt(&json!(ids));
        prop_assert_eq!(&whole.blocks[..start.blocks.len()], &start.blocks[..]);
        let start = prompt(&json!(text[..=length.index(text.len())]));
        let whole = prompt(&json!(text));
        prop_assert_eq!(&whole.blocks[..start.blocks.len()], &start.blocks[..]);
    }
}
