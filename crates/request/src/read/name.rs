//! A short name as it comes.

use super::form::NAME_BYTES_MAX;

/// The beginning of a name, in which every known name has room.
pub(crate) struct Name {
    head: [u8; NAME_BYTES_MAX],
    length: usize,
    is_longer: bool,
}

impl Name {
    /// Before any name.
    pub(crate) const fn new() -> Self {
        Self {
            head: [0; NAME_BYTES_MAX],
            length: 0,
            is_longer: false,
        }
    }

    /// Forgets the name before.
    pub(crate) fn clear(&mut self) {
        self.length = 0;
        self.is_longer = false;
    }

    /// Takes the next part, and gives back what of it has no room.
    #[inline]
    pub(crate) fn part<'p>(&mut self, part: &'p [u8]) -> &'p [u8] {
        let room = self.head.get_mut(self.length..).unwrap_or_default();
        let kept = room.len().min(part.len());
        let (part, rest) = part.split_at(kept);
        if let Some(room) = room.get_mut(..kept) {
            room.copy_from_slice(part);
        }
        self.length += kept;
        self.is_longer |= !rest.is_empty();
        rest
    }

    /// What was kept.
    #[inline]
    pub(crate) fn head(&self) -> &[u8] {
        self.head.get(..self.length).unwrap_or_default()
    }

    /// The whole name; `None` if it is longer than any known one.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (!self.is_longer).then(|| self.head())
    }
}
