//! Messages of protobuf, read where they lie.
//!
//! The generated types would hold each id and each hash in memory of its own, many times the length of
//! a hostile message. Here a message is walked, and whoever asks keeps what it wants.

use bytes::Bytes;

use crate::read::pieces::Pieces;

/// A body from which messages are read.
pub(super) struct Source<'a> {
    pieces: Pieces<'a>,
    /// Bytes before the one that comes next.
    at: u64,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number.
    Number(u64),
    /// So many bytes, which come next: a text, a message, or numbers one after the other.
    Bytes(u64),
    /// A number of fixed length, which nothing that is read is.
    Fixed,
}

impl<'a> Source<'a> {
    pub(super) const fn new(body: &'a [Bytes]) -> Self {
        Self {
            pieces: Pieces::new(body),
            at: 0,
        }
    }

    /// Walks a message of this length: `take` gets the number and value of each field, and need not
    /// read the bytes of one. `None` if it is no message, or if `take` gives up.
    pub(super) fn message(
        &mut self,
        bytes: u64,
        mut take: impl FnMut(&mut Self, u64, Value) -> Option<()>,
    ) -> Option<()> {
        let end = self.at.checked_add(bytes)?;
        while self.at < end {
            let key = self.number()?;
            let (value, field_bytes) = match key & 7 {
                0 => (Value::Number(self.number()?), 0),
                1 => (Value::Fixed, 8),
                2 => {
                    let bytes = self.number()?;
                    (Value::Bytes(bytes), bytes)
                }
                5 => (Value::Fixed, 4),
                // Groups, which this format has long given up.
                _ => return None,
            };
            let field_end = self.at.checked_add(field_bytes)?;
            if field_end > end {
                return None;
            }
            take(self, key >> 3, value)?;
            let left = field_end.checked_sub(self.at)?;
            self.bytes(left, |_| Some(()))?;
        }
        (self.at == end).then_some(())
    }

    /// Gives bytes to `sink`, slice by slice; `None` if there are not as many, or if it gives up.
    pub(super) fn bytes(
        &mut self,
        bytes: u64,
        sink: impl FnMut(&'a [u8]) -> Option<()>,
    ) -> Option<()> {
        self.at = self.at.checked_add(bytes)?;
        self.pieces.take(bytes, sink)
    }

    /// Gives the numbers that these bytes are.
    pub(super) fn numbers(&mut self, bytes: u64, mut take: impl FnMut(u64)) -> Option<()> {
        let mut number = Number::default();
        self.bytes(bytes, |slice| {
            for &byte in slice {
                if let Some(whole) = number.push(byte)? {
                    take(whole);
                }
            }
            Some(())
        })?;
        number.is_at_beginning().then_some(())
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = Number::default();
        loop {
            let byte = *self.pieces.next().first()?;
            self.pieces.advance(1);
            self.at += 1;
            if let Some(whole) = number.push(byte)? {
                return Some(whole);
            }
        }
    }
}

/// A number of up to ten bytes with seven bits each, the lowest first.
#[derive(Default)]
struct Number {
    value: u64,
    bits: u32,
}

impl Number {
    /// The number, if this byte ends it; nothing at all if it is longer than any.
    fn push(&mut self, byte: u8) -> Option<Option<u64>> {
        if self.bits == 63 && byte > 1 {
            return None;
        }
        self.value |= u64::from(byte & 0x7f) << self.bits;
        if byte & 0x80 != 0 {
            self.bits += 7;
            return Some(None);
        }
        self.bits = 0;
        Some(Some(core::mem::take(&mut self.value)))
    }

    const fn is_at_beginning(&self) -> bool {
        self.bits == 0
    }
}
