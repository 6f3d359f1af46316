//! Follows a JSON text to the values that are the model's name.

use bytes::Bytes;
use pointsman_json::lexer::{Kind, Visit};

use super::passage::Passage;
use crate::word::Word;

/// Where a text has a model's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scent {
    /// At its top level.
    Body,
    /// There, and in the response or message that an event may carry.
    Event,
}

/// The place in a text.
#[derive(Debug)]
pub(super) struct Hunt {
    scent: Scent,
    depth: u64,
    /// Inside a response or message that lies at the top level.
    in_envelope: bool,
    /// The key before the value that comes.
    key: Word,
    key_is_open: bool,
    /// Of the value that may be the name so many bytes have been as in the name.
    matched: Option<usize>,
}

impl Hunt {
    pub(super) const fn new(scent: Scent) -> Self {
        Self {
            scent,
            depth: 0,
            in_envelope: false,
            key: Word::NONE,
            key_is_open: false,
            matched: None,
        }
    }

    /// The visitor of the part of the text that lies in one piece.
    pub(super) const fn pass<'a, 'b, F>(
        &'a mut self,
        name: &'a [u8],
        passage: &'a mut Passage<'b, F>,
    ) -> Pass<'a, 'b, F> {
        Pass {
            hunt: self,
            name,
            passage,
        }
    }

    /// Whether keys count where the text is now.
    const fn is_on(&self) -> bool {
        self.depth == 1 || (self.depth == 2 && self.in_envelope)
    }
}

/// A hunt through one piece.
pub(super) struct Pass<'a, 'b, F> {
    hunt: &'a mut Hunt,
    name: &'a [u8],
    passage: &'a mut Passage<'b, F>,
}

impl<F: FnMut(Bytes)> Visit for Pass<'_, '_, F> {
    fn begin(&mut self, kind: Kind, at: u64) {
        let hunt = &mut *self.hunt;
        match kind {
            Kind::Object | Kind::Array => {
                let is_envelope = hunt.scent == Scent::Event
                    && hunt.depth == 1
                    && kind == Kind::Object
                    && matches!(hunt.key.bytes(), Some(b"response" | b"message"));
                if hunt.depth < 2 {
                    hunt.in_envelope = is_envelope;
                }
                hunt.depth = hunt.depth.saturating_add(1);
                hunt.key.clear();
            }
            Kind::Key if hunt.is_on() => {
                hunt.key.clear();
                hunt.key_is_open = true;
            }
            Kind::String if hunt.is_on() && hunt.key.bytes() == Some(b"model") => {
                hunt.matched = Some(0);
                self.passage.suspect(at);
            }
            _ => {}
        }
    }

    fn part(&mut self, part: &[u8]) {
        let hunt = &mut *self.hunt;
        if hunt.key_is_open {
            hunt.key.push(part);
        } else if let Some(matched) = hunt.matched {
            let is_name = self
                .name
                .get(matched..)
                .is_some_and(|rest| rest.starts_with(part));
            hunt.matched = is_name.then(|| matched + part.len());
            if !is_name {
                self.passage.lose();
            }
        }
    }

    fn end(&mut self, kind: Kind, end: u64) {
        let hunt = &mut *self.hunt;
        match kind {
            Kind::Object | Kind::Array => {
                hunt.depth = hunt.depth.saturating_sub(1);
                // The key before a container is used up, and in an array there is none.
                hunt.key.clear();
            }
            Kind::Key => hunt.key_is_open = false,
            _ => match hunt.matched.take() {
                Some(matched) if matched == self.name.len() => self.passage.replace(end),
                Some(_) => self.passage.lose(),
                None => {}
            },
        }
    }
}
