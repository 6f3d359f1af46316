//! The chats that are asked: words of a seed, in JSON.

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// What the prompts of one cell have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct PromptSet {
    /// Bytes of each, as JSON.
    pub(super) bytes: usize,
    /// How many different ones there are.
    pub(super) count: usize,
    /// Share of the text that all begin with, in percent.
    pub(super) shared_percent: u8,
    /// What they are made from.
    pub(super) seed: u64,
}

impl PromptSet {
    /// The request bodies: chats whose system prompt is common to all and whose question is not.
    pub(super) fn bodies(&self) -> Vec<String> {
        let frame = HEAD.len() + MIDDLE.len() + TAIL.len();
        let text_bytes = self.bytes.saturating_sub(frame);
        let shared_bytes = text_bytes * usize::from(self.shared_percent.min(100)) / 100;
        let shared = words(shared_bytes, &mut Pcg64Mcg::seed_from_u64(self.seed));
        let mut own = Pcg64Mcg::seed_from_u64(!self.seed);
        (0..self.count)
            .map(|_| {
                let question = words(text_bytes - shared_bytes, &mut own);
                [HEAD, &shared, MIDDLE, &question, TAIL].concat()
            })
            .collect()
    }
}

fn words(bytes: usize, rng: &mut Pcg64Mcg) -> String {
    let mut text = String::with_capacity(bytes + WORD_LETTERS_MAX + 1);
    while text.len() < bytes {
        let letters = rng.random_range(WORD_LETTERS_MIN..=WORD_LETTERS_MAX);
        text.extend((0..letters).map(|_| char::from(rng.random_range(b'a'..=b'z'))));
        text.push(' ');
    }
    text.truncate(bytes);
    text
}

const HEAD: &str = r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":64,"messages":[{"role":"system","content":""#;
const MIDDLE: &str = r#""},{"role":"user","content":""#;
const TAIL: &str = r#""}]}"#;
const WORD_LETTERS_MIN: usize = 3;
const WORD_LETTERS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn set(bytes: usize, shared_percent: u8) -> PromptSet {
        PromptSet {
            bytes,
            count: 3,
            shared_percent,
            seed: 1,
        }
    }

    #[test]
    fn prompts_are_chats_of_the_asked_length_that_share_the_asked_part() {
        for bytes in [256, 1024, 16_384] {
            let bodies = set(bytes, 50).bodies();
            let chats: Vec<Value> = bodies
                .iter()
                .map(|body| {
                    assert_eq!(body.len(), bytes);
                    serde_json::from_str(body).unwrap()
                })
                .collect();
            assert_eq!(chats.len(), 3);
            for other in &chats[1..] {
                assert_eq!(chats[0]["messages"][0], other["messages"][0]);
                assert_ne!(chats[0]["messages"][1], other["messages"][1]);
            }
        }
    }

    #[test]
    fn nothing_or_everything_can_be_shared() {
        let content = |body: &str, message: usize| {
            let chat: Value = serde_json::from_str(body).unwrap();
            let content = chat["messages"][message]["content"].as_str().unwrap();
            content.len()
        };
        let bodies = set(1024, 0).bodies();
        assert_eq!(content(&bodies[0], 0), 0);
        assert_ne!(bodies[0], bodies[1]);
        let bodies = set(1024, 100).bodies();
        assert_eq!(content(&bodies[0], 1), 0);
        assert_eq!(bodies[0], bodies[1]);
    }
}
