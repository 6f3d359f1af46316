//! Which containers lie in each other, in one bit for each.

use super::DEPTH_MAX;

/// What holds others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// `{}`.
    Object,
    /// `[]`.
    Array,
}

/// The containers that are open.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// A bit is set where an object is open.
    objects: [u64; DEPTH_MAX / 64],
    /// How many are open.
    depth: usize,
}

impl Nest {
    /// None is open.
    pub(super) const fn new() -> Self {
        Self {
            objects: [0; DEPTH_MAX / 64],
            depth: 0,
        }
    }

    /// How many are open.
    pub(super) const fn depth(&self) -> usize {
        self.depth
    }

    /// Opens one inside the innermost. False, and nothing happens, if that is too deep.
    #[inline]
    #[must_use]
    pub(super) fn open(&mut self, container: Container) -> bool {
        let Some(word) = self.objects.get_mut(self.depth / 64) else {
            return false;
        };
        let bit = 1 << (self.depth % 64);
        match container {
            Container::Object => *word |= bit,
            Container::Array => *word &= !bit,
        }
        self.depth += 1;
        true
    }

    /// Closes the innermost and gives the one around it.
    #[inline]
    pub(super) fn close(&mut self) -> Option<Container> {
        self.depth = self.depth.saturating_sub(1);
        let place = self.depth.checked_sub(1)?;
        let word = self.objects.get(place / 64)?;
        Some(if word >> (place % 64) & 1 == 1 {
            Container::Object
        } else {
            Container::Array
        })
    }
}

const _: () = assert!(DEPTH_MAX.is_multiple_of(64), "the limit fills its words");
