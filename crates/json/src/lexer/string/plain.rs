//! The search for the end of plain text.

use memchr::memchr2;

/// Bytes before the first one that is not plain: a quote, a backslash or a control character.
///
/// Most strings are short, so the first bytes are looked at in words, in place; what is longer goes
/// to loops that take some time to start.
#[inline]
pub(super) fn length(text: &[u8]) -> usize {
    let (words, _) = text.as_chunks::<8>();
    let mut length = 0;
    for word in words.iter().take(NEAR_WORDS) {
        let found = marks(u64::from_le_bytes(*word)).trailing_zeros() as usize / 8;
        length += found;
        if found < 8 {
            return length;
        }
    }
    far_length(text, length)
}

/// Bytes of a block before the first one that is not plain; all if all are.
#[inline]
pub(super) fn block_length(block: &[u8; BLOCK_BYTES]) -> usize {
    let block = u128::from_le_bytes(*block);
    let (low, high) = (marks(block as u64), marks((block >> 64) as u64));
    (u128::from(high) << 64 | u128::from(low)).trailing_zeros() as usize / 8
}

/// Marks, in its highest bit, the lowest byte of a word that is not plain, and maybe some above it.
#[inline]
const fn marks(word: u64) -> u64 {
    // A difference borrows from the byte above only where a byte is found already, so the lowest mark
    // is exact. The patterns have no high bit, so that a byte's is what it is in the word.
    let quotes = (word ^ QUOTES).wrapping_sub(ONES);
    let backslashes = (word ^ BACKSLASHES).wrapping_sub(ONES);
    let controls = word.wrapping_sub(SPACES);
    (quotes | backslashes | controls) & !word & HIGHS
}

#[inline(never)]
fn far_length(text: &[u8], mut length: usize) -> usize {
    // In blocks, so that the second look finds the bytes where the first one left them.
    while let Some(rest) = text.get(length..).filter(|rest| !rest.is_empty()) {
        let block = rest.get(..FAR_BYTES).unwrap_or(rest);
        let end = memchr2(b'"', b'\\', block).unwrap_or(block.len());
        let run = block.get(..end).unwrap_or(block);
        if run.iter().fold(u8::MAX, |least, byte| least.min(*byte)) < b' ' {
            let controls = run.iter().position(|byte| *byte < b' ');
            return length + controls.unwrap_or(end);
        }
        length += end;
        if end < block.len() {
            break;
        }
    }
    length
}

/// After so many words without a find, the string is long.
const NEAR_WORDS: usize = 8;

/// Bytes of a block.
pub(super) const BLOCK_BYTES: usize = 16;

/// Bytes looked at twice in a row.
const FAR_BYTES: usize = 4096;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_ne_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_ne_bytes([b'\\'; 8]);
const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
