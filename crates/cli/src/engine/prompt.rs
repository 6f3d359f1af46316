//! Text to blocks: the stand-in's chat template, its "tokenizer" and its answers.
//!
//! A token is four bytes. The answer is filler of one four-byte word per token and depends on nothing
//! but the prompt and the seed, so all its block keys are known when the request comes in, and a next
//! turn that quotes the answer finds prompt and answer in the cache.

use core::num::NonZeroU32;

use pointsman_domain::block::{BlockHasher, BlockKey, BlockSize, chain};
use pointsman_domain::units::{BYTES_PER_TOKEN, Tokens};
use rand::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg32;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One message of a chat.
#[derive(Debug, Deserialize)]
pub(crate) struct Message<'a> {
    role: String,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

/// A part of a message's content, if it is text.
#[derive(Deserialize)]
struct TextPart {
    text: String,
}

/// Writes a chat as the model would see it, up to where its answer begins.
pub(crate) fn render(messages: &[Message<'_>], tools: Option<&RawValue>) -> String {
    let mut prompt = String::new();
    if let Some(tools) = tools {
        push_turn(&mut prompt, "tools", tools.get());
    }
    for message in messages {
        let mut content = message.content.map_or_else(String::new, text_of);
        if let Some(calls) = message.tool_calls {
            content.push_str(calls.get());
        }
        push_turn(&mut prompt, &message.role, &content);
    }
    prompt.push_str("<|im_start|>assistant\n");
    prompt
}

/// A prompt given as token ids, as the bytes that this "tokenizer" would have turned into them.
pub(crate) fn bytes_of_ids(ids: &[u32]) -> Vec<u8> {
    ids.iter().flat_map(|id| id.to_le_bytes()).collect()
}

/// The number of tokens in a prompt; `None` if it has none, or more than can be counted.
pub(crate) fn tokens_of(prompt: &[u8]) -> Option<NonZeroU32> {
    let tokens = Tokens::of_text_bytes(prompt.len() as u64).0;
    u32::try_from(tokens).ok().and_then(NonZeroU32::new)
}

/// Writes answers, and cuts prompts and answers into blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    pub(crate) block_size: BlockSize,
    /// Another seed gives other answers.
    pub(crate) seed: u64,
}

impl Author {
    /// The answer to `prompt`: one word of [`BYTES_PER_TOKEN`] bytes per token.
    pub(crate) fn answer(&self, prompt: &[u8], tokens: NonZeroU32) -> String {
        // The padding closes the prompt's last block, so that every byte of it counts.
        let padding = vec![0; self.block_size.text_bytes()];
        let keys = self.keys(BlockKey(self.seed), &[prompt, &padding]);
        filler(keys.last().map_or(self.seed, |key| key.0), tokens)
    }

    /// The keys of the blocks of `pieces`, taken together as one text.
    pub(crate) fn keys(&self, root: BlockKey, pieces: &[&[u8]]) -> Vec<BlockKey> {
        // The size of a request's body bounds it.
        let mut hasher = BlockHasher::new(self.block_size, usize::MAX);
        for piece in pieces {
            hasher.push(piece);
        }
        chain(root, &hasher.finish())
    }
}

/// The word of `answer` that token `index` is.
pub(crate) fn word(answer: &str, index: u32) -> &str {
    let start = index as usize * BYTES_PER_TOKEN as usize;
    answer
        .get(start..start + BYTES_PER_TOKEN as usize)
        .unwrap_or_default()
}

fn push_turn(prompt: &mut String, role: &str, content: &str) {
    for piece in ["<|im_start|>", role, "\n", content, "<|im_end|>\n"] {
        prompt.push_str(piece);
    }
}

/// A content's text; what is not text stands as it was sent, so that another image is another prompt.
fn text_of(content: &RawValue) -> String {
    if let Ok(text) = serde_json::from_str::<Option<String>>(content.get()) {
        return text.unwrap_or_default();
    }
    let Ok(parts) = serde_json::from_str::<Vec<&RawValue>>(content.get()) else {
        return content.get().to_owned();
    };
    let text_of_part = |part: &&RawValue| {
        serde_json::from_str::<TextPart>(part.get())
            .map_or_else(|_| part.get().to_owned(), |part| part.text)
    };
    parts.iter().map(text_of_part).collect()
}

fn filler(seed: u64, tokens: NonZeroU32) -> String {
    let mut rng = Pcg32::seed_from_u64(seed);
    let mut text = String::with_capacity(tokens.get() as usize * BYTES_PER_TOKEN as usize);
    for _ in 0..tokens.get() {
        let place = rng.next_u32() as usize % WORDS.len();
        text.push_str(WORDS.get(place).copied().unwrap_or("and "));
    }
    text
}

/// All of [`BYTES_PER_TOKEN`] bytes, and nothing in them that JSON must escape.
const WORDS: [&str; 32] = [
    "the ", "and ", "for ", "are ", "but ", "not ", "you ", "all ", "any ", "can ", "her ", "was ",
    "one ", "our ", "out ", "day ", "get ", "has ", "him ", "his ", "how ", "man ", "new ", "now ",
    "old ", "see ", "two ", "way ", "who ", "boy ", "did ", "its ",
];

#[cfg(test)]
mod tests;
