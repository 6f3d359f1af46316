//! The adapters that are resident in an engine.

use crate::config::AdapterSlots;
use crate::job::AdapterId;

/// Resident adapters, no more than there are slots.
#[derive(Debug)]
pub(crate) struct ResidentAdapters {
    slots: usize,
    /// The least recently used one first.
    residents: Vec<Resident>,
}

/// What it takes to use an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Nothing, it is resident.
    Resident,
    /// It had to be loaded.
    Loaded,
}

#[derive(Clone, Copy, Debug)]
struct Resident {
    adapter: AdapterId,
    /// Running requests that keep it from leaving.
    holders: u32,
}

impl ResidentAdapters {
    pub(crate) fn new(slots: AdapterSlots) -> Self {
        Self {
            slots: usize::try_from(slots.slots.get()).unwrap_or(usize::MAX),
            residents: Vec::new(),
        }
    }

    /// Whether `adapter` is resident or can become so: its place can be free, or that of an adapter
    /// that nobody holds.
    pub(crate) fn has_room(&self, adapter: AdapterId) -> bool {
        self.residents.len() < self.slots
            || self
                .residents
                .iter()
                .any(|resident| resident.adapter == adapter || resident.holders == 0)
    }

    /// Makes `adapter` the most recently used one, loading it in place of the least recently used one
    /// that nobody holds. There has to be room for it.
    pub(crate) fn touch(&mut self, adapter: AdapterId) -> Use {
        debug_assert!(self.has_room(adapter), "no place for an adapter");
        if let Some(place) = self.place(adapter) {
            let resident = self.residents.remove(place);
            self.residents.push(resident);
            return Use::Resident;
        }
        if self.residents.len() >= self.slots {
            let unused = self.residents.iter().position(|r| r.holders == 0);
            if let Some(place) = unused {
                self.residents.remove(place);
            }
        }
        self.residents.push(Resident {
            adapter,
            holders: 0,
        });
        Use::Loaded
    }

    /// As [`Self::touch`], and keeps `adapter` resident until it is released as often as it is held.
    pub(crate) fn hold(&mut self, adapter: AdapterId) -> Use {
        let used = self.touch(adapter);
        if let Some(resident) = self.residents.last_mut() {
            resident.holders += 1;
        }
        used
    }

    /// Takes back one [`Self::hold`]; returns whether nobody holds `adapter` now.
    pub(crate) fn release(&mut self, adapter: AdapterId) -> bool {
        let Some(place) = self.place(adapter) else {
            debug_assert!(false, "a held adapter is never evicted");
            return false;
        };
        // It was in use up to now.
        let mut resident = self.residents.remove(place);
        resident.holders = resident.holders.saturating_sub(1);
        self.residents.push(resident);
        resident.holders == 0
    }

    fn place(&self, adapter: AdapterId) -> Option<usize> {
        self.residents.iter().position(|r| r.adapter == adapter)
    }
}

#[cfg(test)]
mod tests;
