//! Escapes that lie whole in a piece, decoded many at a time.

use super::super::Visit;
use super::super::cursor::Cursor;
use super::code::{encoded, is_high, is_low, meaning, nibble, pair};
use super::plain::{self, BLOCK_BYTES};

/// Decoded text that waits to be given.
pub(super) struct Run {
    bytes: [u8; RUN_BYTES],
    length: usize,
}

impl Run {
    #[inline]
    pub(super) const fn new() -> Self {
        Self {
            bytes: [0; RUN_BYTES],
            length: 0,
        }
    }

    /// Adds what an escape means and goes over it, if it lies whole in the piece. The first half of a
    /// surrogate pair without its second there, and what is no escape, count as not whole.
    #[inline]
    pub(super) fn add_escape(&mut self, cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> bool {
        let rest = cursor.rest();
        let Some([_, letter]) = rest.first_chunk::<2>() else {
            return false;
        };
        if let Some(meant) = meaning(*letter) {
            self.add(&[meant], 1, visit);
            cursor.advance(2);
            return true;
        }
        let Some((code, length)) = whole_code(rest) else {
            return false;
        };
        let (bytes, count) = encoded(code);
        self.add(&bytes, count, visit);
        cursor.advance(length);
        true
    }

    /// Adds what is plain and goes over it. Whether the next byte is a backslash, and a whole escape may
    /// follow.
    #[inline]
    pub(super) fn add_plain(&mut self, cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> bool {
        for _ in 0..PLAIN_BLOCKS {
            let rest = cursor.rest();
            let Some(block) = rest.first_chunk::<BLOCK_BYTES>() else {
                break;
            };
            let length = plain::block_length(block);
            self.add(block, length, visit);
            cursor.advance(length);
            if length < BLOCK_BYTES {
                return rest.get(length) == Some(&b'\\');
            }
        }
        false
    }

    /// Adds the first bytes of a block.
    #[inline]
    fn add<const N: usize>(&mut self, block: &[u8; N], length: usize, visit: &mut impl Visit) {
        if self.length > RUN_BYTES - N {
            self.flush(visit);
        }
        let free = self.bytes.get_mut(self.length..);
        if let Some(place) = free.and_then(|free| free.first_chunk_mut()) {
            *place = *block;
            self.length += length;
        }
    }

    #[inline]
    pub(super) fn flush(&mut self, visit: &mut impl Visit) {
        if let Some(part) = self
            .bytes
            .get(..self.length)
            .filter(|part| !part.is_empty())
        {
            visit.part(part);
        }
        self.length = 0;
    }
}

/// The code point of an escape in digits that lies whole in the text, and the length of the escape.
#[inline]
fn whole_code(text: &[u8]) -> Option<(u32, usize)> {
    let [b'\\', b'u', text @ ..] = text else {
        return None;
    };
    let unit = whole_unit(text)?;
    if !is_high(unit) {
        return Some((u32::from(unit), 6));
    }
    let [_, _, _, _, b'\\', b'u', text @ ..] = text else {
        return None;
    };
    let low = whole_unit(text).filter(|low| is_low(*low))?;
    Some((pair(unit, low), 12))
}

#[inline]
fn whole_unit(text: &[u8]) -> Option<u16> {
    let [first, second, third, fourth, ..] = text else {
        return None;
    };
    let nibbles = [first, second, third, fourth].map(|byte| u16::from(nibble(*byte)));
    let [first, second, third, fourth] = nibbles;
    let is_legal = (first | second | third | fourth) <= 0xf;
    is_legal.then_some(first << 12 | second << 8 | third << 4 | fourth)
}

/// Bytes that are given at once at most.
const RUN_BYTES: usize = 256;

/// After so many blocks without an escape, text is given by reference again.
const PLAIN_BLOCKS: usize = 4;
