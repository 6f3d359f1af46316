use super::*;

fn author(seed: u64) -> Author {
    Author {
        block_size: BlockSize::new(2).unwrap(),
        seed,
    }
}

fn answer(author: Author, prompt: &str) -> String {
    author.answer(prompt.as_bytes(), NonZeroU32::new(16).unwrap())
}

#[test]
fn an_answer_depends_on_every_byte_of_the_prompt_and_on_the_seed_and_on_nothing_else() {
    let first = answer(author(1), "Tell me more");
    assert_eq!(first, answer(author(1), "Tell me more"));
    assert_ne!(first, answer(author(1), "Tell me morf"));
    assert_ne!(first, answer(author(1), "tell me more"));
    assert_ne!(first, answer(author(2), "Tell me more"));
}

#[test]
fn an_answer_is_one_word_of_four_bytes_per_token() {
    let text = answer(author(1), "x");
    let words: String = (0..16).map(|index| word(&text, index)).collect();
    assert_eq!(words, text);
    assert!((0..16).all(|index| word(&text, index).len() as u64 == BYTES_PER_TOKEN));
    assert_eq!(word(&text, 16), "");
}

#[test]
fn a_turn_that_quotes_the_answer_continues_the_blocks_of_prompt_and_answer() {
    let turn = |role: &str, content: &str| format!("<|im_start|>{role}\n{content}<|im_end|>\n");
    let first = format!("{}<|im_start|>assistant\n", turn("user", "Hello there"));
    let text = answer(author(1), &first);
    let next = turn("user", "Hello there") + &turn("assistant", &text) + &turn("user", "More");
    let root = BlockKey(0);
    let known = author(1).keys(root, &[first.as_bytes(), text.as_bytes()]);
    let asked = author(1).keys(root, &[next.as_bytes()]);
    assert!(known.len() > first.len() / 8);
    assert_eq!(known[..], asked[..known.len()]);
}

#[test]
fn tokens_are_four_bytes_each_and_an_empty_prompt_has_none() {
    assert_eq!(tokens_of(b""), None);
    assert_eq!(tokens_of(b"abc"), NonZeroU32::new(1));
    assert_eq!(tokens_of(&bytes_of_ids(&[7, 8, 9])), NonZeroU32::new(3));
}
