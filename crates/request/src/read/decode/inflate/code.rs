//! Prefix codes.

use super::super::Undecodable;
use super::SYMBOLS;

/// A prefix code.
pub(super) struct Code {
    /// For the next bits, if a short code begins them, its symbol and the code's length in the lowest
    /// four bits; else 0.
    short: [u16; 1 << SHORT_BITS],
    /// How many codes of each length there are, from length 1.
    counts: [u16; CODE_BITS_MAX as usize],
    /// The symbols in the order of their codes.
    symbols: [u16; SYMBOLS],
    is_complete: bool,
}

impl Code {
    /// The code in which each symbol has the given length; one of length 0 has no code.
    ///
    /// A code that leaves bits without a symbol is one only where a single symbol has one bit, or none
    /// has any, as for the distances of a block that copies nothing.
    pub(super) fn new(lengths: &[u8]) -> Result<Self, Undecodable> {
        let mut counts = [0_u16; CODE_BITS_MAX as usize];
        for length in lengths.iter().filter_map(|length| length.checked_sub(1)) {
            *counts.get_mut(usize::from(length)).ok_or(Undecodable)? += 1;
        }
        // For each length its next code, and the next place among the symbols.
        let mut next = [(0_u32, 0_u16); CODE_BITS_MAX as usize];
        let (mut code, mut index) = (0, 0);
        for (next, &count) in next.iter_mut().zip(&counts) {
            code <<= 1;
            *next = (code, index);
            code += u32::from(count);
            index += count;
        }
        // At the end of that, `code` is how many of the longest codes are taken, or were by shorter ones.
        let is_complete = code == 1 << CODE_BITS_MAX;
        let [of_one_bit, ..] = counts;
        let is_single = index <= 1 && of_one_bit == index;
        if code > 1 << CODE_BITS_MAX || !(is_complete || is_single) {
            return Err(Undecodable);
        }

        let mut this = Self {
            short: [0; 1 << SHORT_BITS],
            counts,
            symbols: [0; SYMBOLS],
            is_complete,
        };
        for (symbol, &bits) in (0..).zip(lengths) {
            let place = usize::from(bits).checked_sub(1);
            if let Some(next) = place.and_then(|place| next.get_mut(place)) {
                this.enter(symbol, bits, *next)?;
                next.0 += 1;
                next.1 += 1;
            }
        }
        Ok(this)
    }

    /// Whether any bits begin with a code.
    pub(super) const fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The symbol that these bits begin with, and the length of its code.
    pub(super) fn symbol(&self, bits: u64) -> Option<(u16, u32)> {
        let index = bits & ((1 << SHORT_BITS) - 1);
        let entry = self.short.get(index as usize)?;
        if *entry != 0 {
            return Some((entry >> 4, u32::from(entry & 0xf)));
        }
        // Codes of one length are consecutive numbers, and begin where those one bit shorter end.
        let (mut code, mut first, mut index) = (0, 0, 0);
        for (length, &count) in (1..).zip(&self.counts) {
            code |= (bits >> (length - 1)) & 1;
            let count = u64::from(count);
            if code < first + count {
                let index = usize::try_from(index + code - first).ok()?;
                return Some((*self.symbols.get(index)?, length));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }

    fn enter(
        &mut self,
        symbol: u16,
        bits: u8,
        (code, index): (u32, u16),
    ) -> Result<(), Undecodable> {
        *self
            .symbols
            .get_mut(usize::from(index))
            .ok_or(Undecodable)? = symbol;
        if u32::from(bits) <= SHORT_BITS {
            // A code comes with its first bit first, all else with the lowest.
            let first = code.reverse_bits() >> (u32::BITS - u32::from(bits));
            let entry = symbol << 4 | u16::from(bits);
            for short in self
                .short
                .iter_mut()
                .skip(first as usize)
                .step_by(1 << bits)
            {
                *short = entry;
            }
        }
        Ok(())
    }
}

/// Longest code.
pub(super) const CODE_BITS_MAX: u32 = 15;

/// Codes of this length are found in one step. Longer ones are rare, as they stand for what is rare.
const SHORT_BITS: u32 = 10;
