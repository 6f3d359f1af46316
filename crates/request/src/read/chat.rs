//! `…/chat/completions`: the prompt is the list of messages.
//!
//! The messages are hashed as a transcript in which every value starts with a mark and every element
//! of a list and every member of an object is closed by one. Marks are bytes that no UTF-8 text
//! contains, so different messages never give the same transcript; and since the list itself is not
//! closed, the transcript of a chat is the beginning of that of any longer one.

use core::fmt;

use pointsman_domain::block::{BLOCKS_MAX, BlockHasher, BlockSize};
use pointsman_domain::facts::Prompt;
use pointsman_domain::units::{BYTES_PER_TOKEN, Tokens};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64;

use super::members::{Name, PromptForm};

/// The prompt form of this dialect.
pub(crate) struct Messages;

impl PromptForm for Messages {
    const FIELD: &'static str = "messages";
    const EXPECTED: &'static str = "an array with at least one message";

    fn read<'de, D: Deserializer<'de>>(
        json: D,
        block: BlockSize,
    ) -> Result<Option<Prompt>, D::Error> {
        let mut transcript = Transcript(BlockHasher::new(block, BLOCKS_MAX));
        let messages = json.deserialize_seq(List(&mut transcript))?;
        let tokens = Tokens::of_text_bytes(transcript.0.bytes());
        Ok((messages > 0).then(|| Prompt {
            blocks: transcript.0.finish(),
            block_size: block,
            tokens,
        }))
    }
}

/// The byte stream that is hashed.
struct Transcript(BlockHasher);

impl Transcript {
    fn mark(&mut self, mark: u8) {
        self.0.push(&[mark]);
    }

    fn put(&mut self, mark: u8, bytes: &[u8]) {
        self.mark(mark);
        self.0.push(bytes);
    }

    fn scalar<E>(&mut self, value: impl ToString) -> Result<(), E> {
        self.put(RAW, value.to_string().as_bytes());
        Ok(())
    }

    /// An image or the like stands for as many tokens as an engine makes of an ordinary one, whatever
    /// the size of its file; its content decides which.
    fn media(&mut self, content: &[u8]) {
        let digest = xxh3_64(content).to_le_bytes();
        self.mark(MEDIA);
        // Many short members would else become a prompt of a hundred times the body's length.
        let times = MEDIA_TOKENS * BYTES_PER_TOKEN / digest.len() as u64;
        self.0.repeat(&digest, times);
    }
}

/// Visits a list and says how many elements it has.
struct List<'t>(&'t mut Transcript);

impl<'de> Visitor<'de> for List<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut elements = 0;
        while seq.next_element_seed(Value(self.0))?.is_some() {
            self.0.mark(END);
            elements += 1;
        }
        Ok(elements)
    }
}

/// Visits a message, its content or a part of it, which may have any type: what is wrong with them
/// is for the engine to say.
struct Value<'t>(&'t mut Transcript);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.put(TEXT, text.as_bytes());
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        self.0.mark(LIST);
        List(self.0).visit_seq(seq).map(drop)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let transcript = self.0;
        transcript.mark(OBJECT);
        while let Some(Name(name)) = map.next_key()? {
            let name = name.as_ref();
            if UNRENDERED.contains(&name) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            transcript.put(NAME, name.as_bytes());
            if TEXTS.contains(&name) {
                map.next_value_seed(Value(transcript))?;
            } else {
                let raw = map.next_value::<&RawValue>()?.get();
                if MEDIA_NAMES.contains(&name) && raw != "null" {
                    transcript.media(raw.as_bytes());
                } else {
                    transcript.put(RAW, raw.as_bytes());
                }
            }
            transcript.mark(END);
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.scalar("null")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.scalar(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // With an exponent, as `1e300` has three hundred digits without.
        self.0.scalar(format_args!("{value:e}"))
    }
}

/// Members with long text, which is hashed without its escapes. All others are hashed as written.
const TEXTS: [&str; 4] = ["content", "text", "reasoning", "reasoning_content"];

/// Members of a content part that hold media, or say where they are.
const MEDIA_NAMES: [&str; 9] = [
    "image_url",
    "image",
    "image_embeds",
    "audio_url",
    "input_audio",
    "audio_embeds",
    "video_url",
    "video",
    "file",
];

/// Members that no template renders. Clients move their cache marks from turn to turn, which would
/// give earlier messages other hashes.
const UNRENDERED: [&str; 1] = ["cache_control"];

/// Near what engines make of an image of ordinary size; today's pickers assume 225.
const MEDIA_TOKENS: u64 = 256;

const TEXT: u8 = 0xf8;
const RAW: u8 = 0xf9;
const MEDIA: u8 = 0xfa;
const LIST: u8 = 0xfb;
const OBJECT: u8 = 0xfc;
const NAME: u8 = 0xfd;
const END: u8 = 0xff;

#[cfg(test)]
mod tests;
