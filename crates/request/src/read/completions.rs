//! `…/completions`: the prompt is a text or token ids, or a list of either.
//!
//! Token ids are hashed as little-endian words and a block of tokens has four bytes for each, so a
//! block holds exactly its number of ids. The marks between prompts are words too, and greater than
//! any id, so a text and a list of ids never give the same bytes.

use core::fmt;

use pointsman_domain::block::{BLOCKS_MAX, BlockHasher, BlockSize};
use pointsman_domain::facts::Prompt;
use pointsman_domain::units::Tokens;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, SeqAccess, Visitor};

use super::members::PromptForm;

/// The prompt form of this dialect.
pub(crate) struct Prompts;

impl PromptForm for Prompts {
    const FIELD: &'static str = "prompt";
    const EXPECTED: &'static str =
        "a text, an array of texts, an array of token ids or an array of such arrays, not empty";

    fn read<'de, D: Deserializer<'de>>(
        json: D,
        block: BlockSize,
    ) -> Result<Option<Prompt>, D::Error> {
        let mut collected = Collected {
            hasher: BlockHasher::new(block, BLOCKS_MAX),
            kind: None,
            ids: 0,
        };
        let length = json.deserialize_any(Top(&mut collected))?;
        let tokens = match collected.kind {
            Some(Kind::Ids | Kind::Lists) => Tokens(collected.ids),
            Some(Kind::Texts) | None => Tokens::of_text_bytes(collected.hasher.bytes()),
        };
        Ok((length > 0).then(|| Prompt {
            blocks: collected.hasher.finish(),
            block_size: block,
            tokens,
        }))
    }
}

/// What was read of the prompt so far.
struct Collected {
    hasher: BlockHasher,
    kind: Option<Kind>,
    ids: u64,
}

/// What the prompt, or each element of it, is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Texts,
    Ids,
    Lists,
}

impl Collected {
    /// Elements of different kinds are no prompt.
    fn expect<E: Error>(&mut self, kind: Kind) -> Result<(), E> {
        if *self.kind.get_or_insert(kind) == kind {
            Ok(())
        } else {
            Err(E::custom("elements of different kinds"))
        }
    }

    fn text<E: Error>(&mut self, text: &str) -> Result<(), E> {
        self.expect(Kind::Texts)?;
        self.hasher.push(&TEXT);
        self.hasher.push(text.as_bytes());
        Ok(())
    }

    fn id<E: Error>(&mut self, id: u64) -> Result<(), E> {
        let id = u32::try_from(id)
            .ok()
            .filter(|id| *id < ID_LIMIT)
            .ok_or_else(|| E::custom("no token id"))?;
        self.hasher.push(&id.to_le_bytes());
        self.ids += 1;
        Ok(())
    }
}

/// Visits the whole prompt and says how many elements, or bytes of text, it has.
struct Top<'c>(&'c mut Collected);

impl<'de> Visitor<'de> for Top<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or an array")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        self.0.text(text)?;
        Ok(text.len())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<usize, A::Error> {
        let mut elements = 0;
        while seq.next_element_seed(Element(self.0))?.is_some() {
            elements += 1;
        }
        Ok(elements)
    }
}

/// Visits one element of a prompt that is an array.
struct Element<'c>(&'c mut Collected);

impl<'de> DeserializeSeed<'de> for Element<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Element<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a token id or an array of token ids")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.text(text)
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<(), E> {
        self.0.expect(Kind::Ids)?;
        self.0.id(id)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        // One list of ids is the same prompt as the ids themselves.
        if self.0.kind.is_some() {
            self.0.hasher.push(&NEXT_LIST);
        }
        self.0.expect(Kind::Lists)?;
        while let Some(id) = seq.next_element()? {
            self.0.id(id)?;
        }
        Ok(())
    }
}

/// Ids have no byte above 0xf7 at their end, so that they differ from the marks; vocabularies are a
/// thousand times smaller.
const ID_LIMIT: u32 = 0xf800_0000;

const TEXT: [u8; 4] = [0xf8; 4];
const NEXT_LIST: [u8; 4] = [0xfb; 4];

#[cfg(test)]
mod tests;
