//! A short text, kept where it stands.

use core::fmt;

/// The text of a token, if it is short. Of a longer one only that.
#[derive(Clone, Copy)]
pub(crate) struct Word {
    bytes: [u8; Self::BYTES_MAX],
    len: usize,
}

impl Word {
    /// The longest word that is looked for has a few bytes less.
    pub(crate) const BYTES_MAX: usize = 48;

    pub(crate) const NONE: Self = Self {
        bytes: [0; Self::BYTES_MAX],
        len: 0,
    };

    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The text. `None` if it is too long.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        self.bytes.get(..self.len)
    }

    /// The whole number that the text is, if it is one.
    pub(crate) fn number(&self) -> Option<u64> {
        core::str::from_utf8(self.bytes()?).ok()?.parse().ok()
    }

    pub(crate) const fn clear(&mut self) {
        self.len = 0;
    }

    pub(crate) fn push(&mut self, part: &[u8]) {
        let end = self.len.saturating_add(part.len());
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(part);
        }
        self.len = end;
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.bytes().map(String::from_utf8_lossy);
        f.debug_tuple("Word").field(&text).finish()
    }
}
