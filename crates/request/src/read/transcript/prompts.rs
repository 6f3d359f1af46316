//! Prompts that are texts or token ids, or lists of either.
//!
//! Token ids are hashed as little-endian words and a block of tokens has four bytes for each, so a
//! block holds exactly its number of ids. The marks between prompts are words too, and greater than
//! any id, so a text and a list of ids never give the same bytes.

use super::{State, Target, Transcript};
use crate::read::marks;

/// What is known of the prompts of a list.
pub(super) struct Prompts {
    form: Option<Form>,
    id: u64,
    /// How many bytes of the current id were hashed as they are written.
    written_bytes: Option<usize>,
    has_written_ids: bool,
}

/// What the prompts of a list are. A list of different kinds is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Texts,
    Ids,
    Lists,
    Objects,
}

impl Prompts {
    /// Before any prompt.
    pub(super) const fn new() -> Self {
        Self {
            form: None,
            id: 0,
            written_bytes: None,
            has_written_ids: false,
        }
    }

    /// Forgets the prompts before.
    pub(super) const fn clear(&mut self) {
        self.form = None;
        self.has_written_ids = false;
    }

    /// Whether an id is written as a fraction or with an exponent. Some engines take such a list, and
    /// how long it is to them is not known.
    pub(super) const fn has_written_ids(&self) -> bool {
        self.has_written_ids
    }

    /// Whether the prompt is one list of ids.
    #[inline]
    pub(super) fn are_ids(&self) -> bool {
        self.form == Some(Form::Ids)
    }
}

impl Transcript {
    /// A prompt of text begins.
    pub(super) fn begin_prompt(&mut self) {
        self.expect(Form::Texts);
        self.written.prompts = self.written.prompts.saturating_add(1);
        self.written.push_unrendered(&NEXT_TEXT);
        self.bytes_of_none = self.written.hasher.bytes();
        self.target = Target::Text;
    }

    /// The next prompt of a list is of this form.
    pub(super) fn expect(&mut self, form: Form) {
        if *self.prompts.form.get_or_insert(form) != form {
            self.written.state = State::Wrong;
        }
    }

    /// The next prompt of a list is a list of ids.
    pub(super) fn next_list(&mut self) {
        // One list of ids is the same prompt as the ids themselves.
        if self.prompts.form.is_some() {
            self.written.push_unrendered(&NEXT_LIST);
        }
        self.expect(Form::Lists);
        self.written.prompts = self.written.prompts.saturating_add(1);
        self.written.ids.get_or_insert(0);
    }

    /// A token id begins.
    #[inline]
    pub(super) fn begin_id(&mut self) {
        self.prompts.id = 0;
        self.prompts.written_bytes = None;
        self.target = Target::Id;
    }

    /// The next part of a token id.
    #[inline]
    pub(super) fn part_of_id(&mut self, part: &[u8]) {
        for (index, byte) in part.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            let id = self.prompts.id;
            self.prompts.id = match digit {
                0..=9 if self.prompts.written_bytes.is_none() => {
                    id.saturating_mul(10).saturating_add(digit.into())
                }
                _ => {
                    self.part_as_written(part.get(index..).unwrap_or_default());
                    return;
                }
            };
        }
    }

    /// The rest of a part of a token id in which there is more than digits.
    #[cold]
    fn part_as_written(&mut self, rest: &[u8]) {
        if self.prompts.written_bytes.is_none() {
            if rest.starts_with(b"-") || self.prompts.id >= ID_LIMIT.into() {
                // A sign, or what no vocabulary has: no id, whatever follows.
                self.prompts.id = u64::MAX;
                return;
            }
            let id = self.prompts.id.to_le_bytes();
            self.written.push_unrendered(&WRITTEN_ID);
            self.written.push_unrendered(&id);
        }
        self.written.push_unrendered(rest);
        let before = self.prompts.written_bytes.unwrap_or(0);
        self.prompts.written_bytes = Some(before.saturating_add(rest.len()));
    }

    /// A token id has ended.
    #[inline]
    pub(super) fn end_id(&mut self) {
        self.target = Target::Nothing;
        if let Some(bytes) = self.prompts.written_bytes.take() {
            self.prompts.has_written_ids = true;
            // The end fills a word, and one more that stands for the token.
            let (end, _) = WRITTEN_END.split_at(WORD_BYTES - bytes % WORD_BYTES);
            self.written.push_unrendered(end);
            self.written.hasher.push(&WRITTEN_END);
            return;
        }
        match u32::try_from(self.prompts.id) {
            Ok(id) if id < ID_LIMIT => {
                self.written.hasher.push(&id.to_le_bytes());
                let ids = self.written.ids.get_or_insert(0);
                *ids = ids.saturating_add(1);
            }
            _ => self.written.state = State::Wrong,
        }
    }
}

/// Ids have no byte above 0xf7 at their end, so that they differ from the marks; vocabularies are a
/// thousand times smaller.
pub(super) const ID_LIMIT: u32 = 0xf800_0000;

const NEXT_TEXT: [u8; 4] = [marks::TEXT; 4];
const NEXT_LIST: [u8; 4] = [marks::LIST; 4];
/// Before an id that is written as a fraction or with an exponent.
const WRITTEN_ID: [u8; 4] = [marks::NUMBER; 4];
/// Behind it.
const WRITTEN_END: [u8; WORD_BYTES] = [marks::END; WORD_BYTES];
const WORD_BYTES: usize = 4;
