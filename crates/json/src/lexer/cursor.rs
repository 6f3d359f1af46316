//! A place in a piece.

/// Goes through one piece and knows where that lies in the text.
#[derive(Debug)]
pub(super) struct Cursor<'p> {
    /// The piece.
    piece: &'p [u8],
    /// Bytes of the piece that are read.
    at: usize,
    /// Bytes of the text before the piece.
    before: u64,
}

impl<'p> Cursor<'p> {
    /// At the beginning of a piece that has so many bytes of the text before it.
    pub(super) const fn new(piece: &'p [u8], before: u64) -> Self {
        Self {
            piece,
            at: 0,
            before,
        }
    }

    /// The next byte.
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.piece.get(self.at).copied()
    }

    /// What is left of the piece.
    #[inline]
    pub(super) fn rest(&self) -> &'p [u8] {
        self.piece.get(self.at..).unwrap_or_default()
    }

    /// Goes on by that many bytes, none of which may lie behind the piece.
    #[inline]
    pub(super) const fn advance(&mut self, bytes: usize) {
        debug_assert!(
            bytes <= self.piece.len() - self.at,
            "the cursor stays in its piece"
        );
        self.at += bytes;
    }

    /// Bytes of the text before the next one.
    #[inline]
    pub(super) const fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Goes over white space to the next byte, which is left there.
    #[inline]
    pub(super) fn skip_space(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        if byte > b' ' {
            Some(byte)
        } else {
            self.skip_long_space()
        }
    }

    fn skip_long_space(&mut self) -> Option<u8> {
        loop {
            match self.peek()? {
                b' ' | b'\n' | b'\r' | b'\t' => self.at += 1,
                byte => return Some(byte),
            }
            // Texts that are laid out for people have long runs of spaces before each line.
            while let Some(word) = self.rest().first_chunk::<8>() {
                let spaces = leading_spaces(u64::from_le_bytes(*word));
                self.at += spaces;
                if spaces < 8 {
                    break;
                }
            }
        }
    }
}

/// Bytes of a word, the lowest first, before the first one that is no space; 8 if all are spaces.
#[inline]
const fn leading_spaces(word: u64) -> usize {
    (word ^ SPACES).trailing_zeros() as usize / 8
}

const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
