//! `Generate` and `Embed` of vLLM's gRPC service: token ids or a text, with media by the hashes of what
//! is put in their places.
//!
//! A call sends one message. One that is compressed, or that is no message, is left to the engine and
//! routed by load.

mod message;

use core::num::NonZeroU32;

use bytes::Bytes;
use pointsman_domain::block::{BLOCKS_MAX, BlockHash, BlockHasher, BlockSize};
use pointsman_domain::facts::{Dialect, MEDIA_MAX, MediaItem, MediaKind, Prompt, RequestFacts};
use pointsman_domain::units::Tokens;
use pointsman_proto::grpc::FrameHeader;
use xxhash_rust::xxh3::Xxh3Default;

use self::message::{Source, Value};
use super::marks;
use super::places::{self, PLACES_MAX, Place};
use super::prompt::of_first_blocks;

/// Completes `facts` by what the first message says. The numbers of fields are those of
/// `proto/vllm_engine.proto`.
pub(crate) fn read(facts: &mut RequestFacts, body: &[Bytes], block: BlockSize) {
    if let Some(call) = Call::read(facts.dialect, body, block) {
        call.give(facts);
    }
}

/// What a message says.
struct Call {
    block: BlockSize,
    hasher: BlockHasher,
    /// How many ids the prompt is, unless it is a text.
    ids: Option<u64>,
    is_stream: bool,
    output_tokens_max: Option<u32>,
    choices: u32,
    is_constrained: bool,
    truncation: Option<u64>,
    media: Media,
}

/// The media of a prompt, and their places.
#[derive(Default)]
struct Media {
    contents: Vec<u64>,
    places: Vec<Place>,
    /// The hash of all that have no place among the first, or none in the prompt.
    unplaced: Option<Xxh3Default>,
}

impl Call {
    fn read(dialect: Dialect, body: &[Bytes], block: BlockSize) -> Option<Self> {
        let mut source = Source::new(body);
        let mut header = [0; FrameHeader::BYTES];
        let mut room = header.iter_mut();
        source.bytes(FrameHeader::BYTES as u64, |slice| {
            room.by_ref().zip(slice).for_each(|(to, from)| *to = *from);
            Some(())
        })?;
        let header = FrameHeader::read(header);
        if header.compressed {
            return None;
        }
        let mut call = Self {
            block,
            hasher: BlockHasher::new(block, BLOCKS_MAX),
            ids: None,
            is_stream: false,
            output_tokens_max: None,
            choices: 0,
            is_constrained: false,
            truncation: None,
            media: Media::default(),
        };
        let is_embedding = dialect == Dialect::GrpcEmbed;
        source.message(header.message_bytes.into(), |source, field, value| {
            match (field, value) {
                (2, Value::Bytes(bytes)) => call.tokenized(source, bytes),
                _ if is_embedding => Some(()),
                (3, Value::Bytes(bytes)) => call.text(source, bytes),
                (4, Value::Bytes(bytes)) => call.parameters(source, bytes),
                (5, Value::Number(is_stream)) => {
                    call.is_stream = is_stream != 0;
                    Some(())
                }
                (7, Value::Bytes(bytes)) => call.media.read(source, bytes),
                _ => Some(()),
            }
        })?;
        Some(call)
    }

    /// Token ids. Those of a message that comes twice are one list, and come in the place of a text.
    fn tokenized(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        if self.ids.is_none() {
            self.hasher.clear();
        }
        let ids = self.ids.get_or_insert(0);
        let hasher = &mut self.hasher;
        let mut id = |id: u64| {
            let [a, b, c, d, ..] = id.to_le_bytes();
            hasher.push(&[a, b, c, d]);
            *ids = ids.saturating_add(1);
        };
        source.message(bytes, |source, field, value| match (field, value) {
            (2, Value::Bytes(bytes)) => source.numbers(bytes, &mut id),
            (2, Value::Number(number)) => {
                id(number);
                Some(())
            }
            _ => Some(()),
        })
    }

    /// A text, in the place of what came before.
    fn text(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        self.ids = None;
        self.hasher.clear();
        self.hasher.push(&TEXT_MARK);
        source.bytes(bytes, |slice| {
            self.hasher.push(slice);
            Some(())
        })
    }

    fn parameters(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        source.message(bytes, |_, field, value| {
            match (field, value) {
                (8, Value::Number(tokens)) => self.output_tokens_max = Some(low(tokens)),
                (15, Value::Number(choices)) => self.choices = low(choices),
                (16..=19 | 21, Value::Bytes(_)) => self.is_constrained = true,
                (20, Value::Number(is_object)) => self.is_constrained = is_object != 0,
                (27, Value::Number(tokens)) => self.truncation = Some(tokens),
                _ => {}
            }
            Some(())
        })
    }

    fn give(mut self, facts: &mut RequestFacts) {
        let tokens = match self.ids {
            Some(ids) => Tokens(ids),
            None => {
                let text_bytes = self.hasher.bytes().saturating_sub(TEXT_MARK.len() as u64);
                Tokens::of_text_bytes(text_bytes)
            }
        };
        let mut blocks = self.hasher.finish();
        facts.media = self.media.put_into(&mut blocks, self.block, self.ids);
        facts.template_inputs = template_hash(self.truncation, self.media.unplaced.as_ref());
        facts.session = facts.session.or_else(|| of_first_blocks(&blocks));
        facts.prompt = Prompt {
            blocks,
            block_size: self.block,
            tokens,
            is_counted: self.ids.is_some(),
        };
        facts.stream = self.is_stream;
        facts.output_tokens_max = self.output_tokens_max.map(|tokens| Tokens(tokens.into()));
        facts.choices = NonZeroU32::new(self.choices).unwrap_or(NonZeroU32::MIN);
        facts.features.response_format = self.is_constrained;
    }
}

impl Media {
    fn read(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        source.message(bytes, |source, field, value| match (field, value) {
            (5, Value::Bytes(bytes)) => self.place(source, bytes),
            (6, Value::Bytes(bytes)) => self.content(source, bytes),
            _ => Some(()),
        })
    }

    fn place(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        let mut place = Place::default();
        source.message(bytes, |_, field, value| {
            match (field, value) {
                (1, Value::Number(offset)) => place.offset = low(offset),
                (2, Value::Number(length)) => place.length = low(length),
                _ => {}
            }
            Some(())
        })?;
        if self.places.len() < PLACES_MAX {
            self.places.push(place);
        }
        Some(())
    }

    fn content(&mut self, source: &mut Source<'_>, bytes: u64) -> Option<()> {
        let is_kept = self.contents.len() < PLACES_MAX;
        let mut own = is_kept.then(Xxh3Default::new);
        let hash = own
            .as_mut()
            .unwrap_or_else(|| self.unplaced.get_or_insert_with(Xxh3Default::new));
        source.bytes(bytes, |slice| {
            hash.update(slice);
            Some(())
        })?;
        hash.update(&[marks::END]);
        self.contents.extend(own.map(|hash| hash.digest()));
        Some(())
    }

    /// Puts the media in their places among the ids, of which a text has none. Tells the first media.
    fn put_into(
        &mut self,
        blocks: &mut [BlockHash],
        size: BlockSize,
        ids: Option<u64>,
    ) -> Vec<MediaItem> {
        let mut media = Vec::new();
        let mut placed = Vec::new();
        for (index, content) in core::mem::take(&mut self.contents).into_iter().enumerate() {
            let place = self.places.get(index).copied();
            if media.len() < MEDIA_MAX {
                media.push(MediaItem {
                    kind: MediaKind::Image,
                    content,
                    tokens: place.unwrap_or_default().tokens(),
                });
            }
            match place.filter(|place| ids.is_some_and(|ids| place.is_within(ids))) {
                Some(place) => placed.push((place, content)),
                None => self
                    .unplaced
                    .get_or_insert_with(Xxh3Default::new)
                    .update(&content.to_le_bytes()),
            }
        }
        places::put_into(blocks, size, placed);
        media
    }
}

/// What changes the prompt as a whole. 0 says that nothing does.
fn template_hash(truncation: Option<u64>, unplaced: Option<&Xxh3Default>) -> u64 {
    if truncation.is_none() && unplaced.is_none() {
        return 0;
    }
    let mut hash = Xxh3Default::new();
    if let Some(tokens) = truncation {
        hash.update(b"truncate_prompt_tokens");
        hash.update(&[marks::END]);
        hash.update(&tokens.to_le_bytes());
    }
    if let Some(contents) = unplaced {
        hash.update(b"mm_hashes");
        hash.update(&[marks::END]);
        hash.update(&contents.digest().to_le_bytes());
    }
    hash.digest().max(1)
}

/// A number of 32 bits, of which the others do not count.
const fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// What begins the bytes of a text, so that no list of ids has the same.
const TEXT_MARK: [u8; 1] = [marks::TEXT];

#[cfg(test)]
mod tests;
