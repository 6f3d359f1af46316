//! Bits, the lowest of each byte first.

use super::super::Undecodable;
use super::code::{CODE_BITS_MAX, Code};
use crate::read::pieces::Pieces;

/// Reads a body bit by bit.
pub(in super::super) struct Bits<'a> {
    source: Pieces<'a>,
    /// The bits that come next, the first lowest.
    bits: u64,
    /// How many of them are of the body; the others are 0.
    count: u32,
}

impl<'a> Bits<'a> {
    pub(in super::super) const fn new(source: Pieces<'a>) -> Self {
        Self {
            source,
            bits: 0,
            count: 0,
        }
    }

    /// The next bits, 32 at most, as a number.
    pub(in super::super) fn take(&mut self, bits: u32) -> Result<u32, Undecodable> {
        debug_assert!(bits <= 32, "a number has at most 32 bits");
        self.fill(bits);
        let number = self.bits & ((1 << bits) - 1);
        self.leave(bits)?;
        u32::try_from(number).map_err(|_| Undecodable)
    }

    /// Goes on with the next whole byte.
    pub(in super::super) const fn align(&mut self) {
        let bits = self.count % 8;
        self.bits >>= bits;
        self.count -= bits;
    }

    /// Whether nothing is left.
    pub(in super::super) fn is_at_end(&mut self) -> bool {
        self.count == 0 && self.source.next().is_empty()
    }

    /// The symbol that comes next in a code.
    pub(super) fn symbol(&mut self, code: &Code) -> Result<u16, Undecodable> {
        self.fill(CODE_BITS_MAX);
        let (symbol, length) = code.symbol(self.bits).ok_or(Undecodable)?;
        self.leave(length)?;
        Ok(symbol)
    }

    /// Brings in bits, until there are as many as `wanted` or the body ends.
    fn fill(&mut self, wanted: u32) {
        while self.count < wanted {
            let next = self.source.next();
            if let Some(word) = next.first_chunk() {
                self.bits |= u64::from_le_bytes(*word) << self.count;
                let bytes = (63 - self.count) / 8;
                self.count += bytes * 8;
                self.source.advance(bytes as usize);
                // What was brought in beyond the whole bytes comes again.
                self.bits &= u64::MAX >> (64 - self.count);
            } else if let Some(&byte) = next.first() {
                self.bits |= u64::from(byte) << self.count;
                self.count += 8;
                self.source.advance(1);
            } else {
                return;
            }
        }
    }

    fn leave(&mut self, bits: u32) -> Result<(), Undecodable> {
        self.count = self.count.checked_sub(bits).ok_or(Undecodable)?;
        self.bits >>= bits;
        Ok(())
    }
}
