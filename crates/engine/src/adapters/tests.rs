use core::num::NonZeroU32;
use core::time::Duration;
use std::collections::BTreeMap;

use super::*;

impl ResidentAdapters {
    /// Panics unless this agrees with what its holders say that they hold.
    pub(crate) fn assert_agrees(&self, holders: &BTreeMap<AdapterId, u32>) {
        let held: BTreeMap<AdapterId, u32> = self
            .residents
            .iter()
            .filter(|resident| resident.holders > 0)
            .map(|resident| (resident.adapter, resident.holders))
            .collect();
        assert_eq!(&held, holders, "holders of adapters");
        assert!(self.residents.len() <= self.slots);
    }
}

fn adapters(slots: u32) -> ResidentAdapters {
    ResidentAdapters::new(AdapterSlots {
        slots: NonZeroU32::new(slots).unwrap(),
        load: Duration::ZERO,
    })
}

#[test]
fn the_least_recently_used_adapter_leaves() {
    let mut adapters = adapters(2);
    let [a, b, c] = [1, 2, 3].map(AdapterId);
    assert_eq!(adapters.touch(a), Use::Loaded);
    assert_eq!(adapters.touch(b), Use::Loaded);
    assert_eq!(adapters.touch(a), Use::Resident);
    assert_eq!(adapters.touch(c), Use::Loaded);
    assert_eq!(adapters.touch(a), Use::Resident);
    assert_eq!(adapters.touch(b), Use::Loaded);
}

#[test]
fn a_held_adapter_stays_and_counts_as_used_until_it_is_released() {
    let mut adapters = adapters(2);
    let [a, b, c] = [1, 2, 3].map(AdapterId);
    adapters.hold(a);
    adapters.hold(a);
    adapters.hold(b);
    assert!(!adapters.has_room(c));
    assert!(!adapters.release(a), "another one holds it");
    assert!(!adapters.has_room(c));
    assert!(adapters.release(b));
    assert!(adapters.has_room(c));
    assert!(adapters.release(a));
    adapters.touch(c);
    assert_eq!(adapters.touch(a), Use::Resident, "it was released last");
}
