use super::*;

impl KvMemory {
    /// Panics unless the memory agrees with what its holders say that they hold.
    pub(crate) fn assert_agrees(&self, private: u32, holders: &BTreeMap<u64, u32>) {
        assert_eq!(self.private, private, "private blocks");
        let held: BTreeMap<u64, u32> = self
            .cached
            .iter()
            .filter(|(_, block)| block.holders > 0)
            .map(|(key, block)| (key.0, block.holders))
            .collect();
        assert_eq!(&held, holders, "holders of cached blocks");
        let idle = self.cached.values().filter(|block| block.holders == 0);
        assert_eq!(idle.count(), self.idle.len(), "idle blocks");
        for (released, key) in &self.idle {
            assert_eq!(self.cached[key].released, *released);
        }
        let all = u64::from(self.private) + self.cached.len() as u64 + u64::from(self.free());
        assert_eq!(all, u64::from(self.blocks), "free + cached + private");
    }
}

fn keys(numbers: core::ops::Range<u64>) -> Vec<BlockKey> {
    numbers.map(BlockKey).collect()
}

fn memory_with_idle(blocks: u32, prompts: &[Vec<BlockKey>]) -> KvMemory {
    let mut memory = KvMemory::new(blocks, CacheReports::Nothing);
    for prompt in prompts {
        assert!(memory.allocate(prompt.len() as u32));
        for &key in prompt {
            memory.publish(key);
        }
        memory.release(prompt, 0);
    }
    memory
}

#[test]
fn the_longest_idle_prefix_is_evicted_first_and_from_its_end() {
    let (old, new) = (keys(0..3), keys(10..12));
    let mut memory = memory_with_idle(5, &[old.clone(), new.clone()]);
    assert!(memory.allocate(2));
    assert_eq!(memory.lookup(&old).blocks, 1);
    assert_eq!(memory.lookup(&new).blocks, 2);
}

#[test]
fn a_hit_makes_a_prefix_the_last_to_be_evicted() {
    let (old, new) = (keys(0..3), keys(10..12));
    let mut memory = memory_with_idle(5, &[old.clone(), new.clone()]);
    memory.hold(&old);
    memory.release(&old, 0);
    assert!(memory.allocate(2));
    assert_eq!(memory.lookup(&old).blocks, 3);
    assert_eq!(memory.lookup(&new).blocks, 0);
}

#[test]
fn a_held_block_is_never_evicted() {
    let prompt = keys(0..3);
    let mut memory = memory_with_idle(5, std::slice::from_ref(&prompt));
    memory.hold(&prompt[..2]);
    assert!(!memory.allocate(4));
    assert!(memory.allocate(3));
    assert_eq!(memory.lookup(&prompt).blocks, 2);
    assert_eq!(memory.held(), 5);
}

#[test]
fn room_for_a_prompt_does_not_count_its_own_idle_blocks_twice() {
    let prompt = keys(0..3);
    let memory = memory_with_idle(4, std::slice::from_ref(&prompt));
    let hit = memory.lookup(&prompt);
    assert_eq!(hit, Hit { blocks: 3, idle: 3 });
    assert!(memory.has_room(1, hit));
    assert!(!memory.has_room(2, hit));
}

#[test]
fn the_same_block_computed_twice_is_kept_once() {
    let mut memory = KvMemory::new(4, CacheReports::Nothing);
    assert!(memory.allocate(2));
    memory.publish(BlockKey(7));
    memory.publish(BlockKey(7));
    assert_eq!(memory.held(), 1);
    memory.assert_agrees(0, &BTreeMap::from([(7, 2)]));
    memory.release(&[BlockKey(7)], 0);
    assert_eq!(memory.held(), 1);
    memory.release(&[BlockKey(7)], 0);
    assert_eq!(memory.held(), 0);
}
