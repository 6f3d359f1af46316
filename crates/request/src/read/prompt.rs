//! The parts of a prompt, put together.
//!
//! Clients send the parts (tools, system prompt, messages) in any order, engines render them in one.
//! So each part is hashed by itself, and all but the last end in a closed block: what comes next
//! begins with a block of its own, and conversations share tools and system prompts.

use core::num::NonZeroU32;

use pointsman_domain::block::{BLOCKS_MAX, BlockHash, BlockHasher, BlockSize};
use pointsman_domain::facts::{MEDIA_MAX, MediaItem, NameHash, Prompt, Session, SessionSource};
use pointsman_json::lexer::Kind;
use xxhash_rust::xxh3::xxh3_64;

use super::features::Features;
use super::form::{Form, SegmentForm};
use super::transcript::{State, Transcript, Written};
use crate::rejection::Rejection;

/// The parts of one prompt, each as often as it comes.
pub(crate) struct Segments {
    form: &'static Form,
    block: BlockSize,
    written: Vec<Written>,
    active: Option<usize>,
    transcript: Transcript,
}

/// A prompt with what else was found in it.
pub(crate) struct Found {
    /// The prompt.
    pub(crate) prompt: Prompt,
    /// The first media in it.
    pub(crate) media: Vec<MediaItem>,
    /// Whether the media that are listed changed the prompt where they are.
    pub(crate) is_media_placed: bool,
    /// Names its conversation.
    pub(crate) session: Option<Session>,
    /// How many prompts it is: each is answered by itself.
    pub(crate) prompts: NonZeroU32,
}

impl Segments {
    /// Before any part.
    pub(crate) fn new(form: &'static Form, block: BlockSize) -> Self {
        let nothing = |_: &SegmentForm| Written::nothing(block);
        Self {
            form,
            block,
            written: form.segments.iter().map(nothing).collect(),
            active: None,
            transcript: Transcript::new(block),
        }
    }

    /// What was read of the part with this index does not count.
    pub(crate) fn forget(&mut self, index: usize) {
        if let Some(written) = self.written.get_mut(index) {
            written.state = State::Missing;
        }
    }

    /// The value begins that is the part with this index. Of a part that comes twice the last counts.
    pub(crate) fn start(&mut self, index: usize) {
        let form = self.form.segments.get(index);
        let Some((form, written)) = form.zip(self.written.get_mut(index)) else {
            return;
        };
        let mut before = core::mem::replace(written, Written::nothing(self.block));
        if before.starts == STARTS_MAX {
            before.hasher = BlockHasher::new(self.block, 0);
        }
        self.transcript.start(form.kind, before);
        self.active = Some(index);
    }

    /// The value has ended.
    pub(crate) fn stop(&mut self) {
        let written = self.transcript.stop(Written::nothing(self.block));
        if let Some(place) = self
            .active
            .take()
            .and_then(|index| self.written.get_mut(index))
        {
            *place = written;
        }
    }

    /// A token of the value begins.
    #[inline]
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.transcript.begin(kind);
    }

    /// The next part of that token.
    #[inline]
    pub(crate) fn part(&mut self, part: &[u8]) {
        self.transcript.part(part);
    }

    /// A token of the value ends.
    #[inline]
    pub(crate) fn end(&mut self, kind: Kind) {
        self.transcript.end(kind);
    }

    /// The fault of a body that has not the prompt which its dialect demands; `is_elsewhere` where
    /// another member takes the prompt's place.
    pub(crate) fn fault(&self, is_elsewhere: bool) -> Option<Rejection> {
        let parts = self.form.segments.iter().zip(&self.written);
        let demanded = parts.filter_map(|(form, written)| Some((form.demand?, written.state)));
        let mut fault = None;
        let mut is_read = is_elsewhere;
        for (demand, state) in demanded {
            let (field, expected) = (demand.field, demand.expected);
            let (rank, found) = match state {
                State::Wrong => (3, Rejection::WrongType { field, expected }),
                State::Empty => (2, Rejection::EmptyField { field, expected }),
                State::Null => (1, Rejection::WrongType { field, expected }),
                State::Missing => (0, Rejection::MissingField { field, expected }),
                State::Read => {
                    is_read = true;
                    continue;
                }
            };
            if fault.is_none_or(|(most, _)| rank > most) {
                fault = Some((rank, found));
            }
        }
        // One that is wrong is a fault beside any other.
        let is_fault = |rank| rank == 3 || !is_read;
        fault
            .filter(|&(rank, _)| is_fault(rank))
            .map(|(_, found)| found)
    }

    /// The prompt, with the media in it that `features` lists.
    pub(crate) fn finish(self, features: Option<&Features>) -> Found {
        let mut parts = self.written;
        parts.retain(|part| part.state == State::Read);
        let mut found = Found {
            prompt: Prompt {
                is_counted: !parts.is_empty() && parts.iter().all(|part| part.ids.is_some()),
                ..Prompt::unknown(self.block)
            },
            media: Vec::new(),
            is_media_placed: false,
            session: None,
            prompts: NonZeroU32::MIN,
        };
        let last = parts.len().saturating_sub(1);
        let mut is_hashed = true;
        for (index, mut part) in parts.into_iter().enumerate() {
            found.prompt.tokens += part.tokens();
            found.media.append(&mut part.media);
            // A key depends on all that comes before it.
            is_hashed &= part.is_hashed();
            let blocks = if index < last {
                part.hasher.close();
                part.hasher.finish()
            } else {
                found.end(part, features)
            };
            if !is_hashed {
                continue;
            }
            if found.prompt.blocks.is_empty() {
                found.prompt.blocks = blocks;
            } else {
                found.prompt.blocks.extend(blocks);
            }
        }
        found.prompt.blocks.truncate(BLOCKS_MAX);
        found.media.truncate(MEDIA_MAX);
        found
    }
}

impl Found {
    /// Takes what the last part says besides its blocks, and gives these.
    fn end(&mut self, part: Written, features: Option<&Features>) -> Vec<BlockHash> {
        let (ids, is_hashed) = (part.ids_alone(), part.is_hashed());
        let mut blocks = part.hasher.finish();
        if let Some(features) = features {
            let listed = features.put_into(&mut blocks, self.prompt.block_size, ids);
            self.media.extend(listed.media);
            self.is_media_placed = listed.is_placed;
        }
        self.prompts = NonZeroU32::new(part.prompts).unwrap_or(NonZeroU32::MIN);
        // The beginning of the last part stays as it is while the part grows: messages up to the first
        // of a user's, or else the first blocks.
        if is_hashed {
            let named = part.session.map(of_prompt);
            self.session = named.or_else(|| of_first_blocks(&blocks));
        }
        blocks
    }
}

/// Names a conversation by the first blocks of its prompt. One that has fewer gets no name, as it would
/// be another once the prompt has grown.
pub(crate) fn of_first_blocks(blocks: &[BlockHash]) -> Option<Session> {
    let (first, _) = blocks.split_first_chunk::<SESSION_BLOCKS>()?;
    let bytes = first.map(|BlockHash(hash)| hash.to_le_bytes());
    Some(of_prompt(xxh3_64(bytes.as_flattened())))
}

/// The session of a prompt that begins with what has this hash.
const fn of_prompt(hash: u64) -> Session {
    Session {
        id: NameHash(hash),
        source: SessionSource::Prompt,
    }
}

/// Blocks that tell the conversations apart which are no list of messages.
const SESSION_BLOCKS: usize = 4;

/// How often a part may come whose last counts. A short member can make many blocks, so of more of
/// them the bytes are counted and none is hashed.
pub(crate) const STARTS_MAX: u32 = 16;
