mod of_media;
mod of_messages;
mod of_prompts;

use pointsman_domain::block::BlockHash;
use pointsman_domain::units::Tokens;
use pointsman_json::lexer::{Lexer, Visit};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::media::MEDIA_TOKENS;
use super::prompts::ID_LIMIT;
use super::*;

/// Hands all tokens of a text to a transcript.
struct Whole(Transcript);

impl Visit for Whole {
    fn begin(&mut self, kind: Kind, _at: u64) {
        self.0.begin(kind);
    }

    fn part(&mut self, part: &[u8]) {
        self.0.part(part);
    }

    fn end(&mut self, kind: Kind, _end: u64) {
        self.0.end(kind);
    }
}

fn written(kind: SegmentKind, size: u32, text: &str) -> Written {
    let block = BlockSize::new(size).unwrap();
    let mut whole = Whole(Transcript::new(block));
    whole.0.start(kind, Written::nothing(block));
    let mut lexer = Lexer::new();
    lexer.push(text.as_bytes(), &mut whole).unwrap();
    lexer.finish(&mut whole).unwrap();
    whole.0.stop(Written::nothing(block))
}

/// Blocks of one token, so that nearly every byte of the transcript is in one.
fn read(kind: SegmentKind, value: &Json) -> Written {
    written(kind, 1, &value.to_string())
}

fn blocks(messages: &Json) -> Vec<BlockHash> {
    let written = read(SegmentKind::Messages, messages);
    assert_eq!(written.state, State::Read);
    written.hasher.finish()
}

fn tokens(messages: &Json) -> Tokens {
    let written = read(SegmentKind::Messages, messages);
    Tokens::of_text_bytes(written.hasher.bytes())
}

/// A user's message with these content parts, long enough after them to fill the last block.
fn parts(parts: &Json) -> Json {
    json!([{"role": "user", "content": parts, "name": "a long name to fill the block"}])
}
