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
        Self { form: None, id: 0 }
    }

    /// Forgets the prompts before.
    pub(super) const fn clear(&mut self) {
        self.form = None;
    }

    /// Whether the prompt is one list of ids.
    #[inline]
    pub(super) fn are_ids(&self) -> bool {
        self.form == Some(Form::Ids)
    }

    /// The next part of a token id.
    #[inline]
    pub(super) fn part_of_id(&mut self, part: &[u8]) {
        for byte in part {
            let digit = byte.wrapping_sub(b'0');
            self.id = match digit {
                0..=9 => self.id.saturating_mul(10).saturating_add(digit.into()),
                // A sign, a point or an exponent: no id, whatever follows.
                _ => u64::MAX,
            };
        }
    }
}

impl Transcript {
    /// A prompt of text begins.
    pub(super) fn begin_prompt(&mut self) {
        self.expect(Form::Texts);
        self.written.prompts = self.written.prompts.saturating_add(1);
        self.written.hasher.push(&NEXT_TEXT);
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
            self.written.hasher.push(&NEXT_LIST);
        }
        self.expect(Form::Lists);
        self.written.prompts = self.written.prompts.saturating_add(1);
        self.written.ids.get_or_insert(0);
    }

    /// A token id begins.
    #[inline]
    pub(super) fn begin_id(&mut self) {
        self.prompts.id = 0;
        self.target = Target::Id;
    }

    /// A token id has ended.
    #[inline]
    pub(super) fn end_id(&mut self) {
        self.target = Target::Nothing;
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
