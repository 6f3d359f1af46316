use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const SEED: u64 = 7;
const AMPLE: usize = 1 << 30;

fn endpoint(slot: u32) -> EndpointId {
    EndpointId {
        slot,
        generation: 1,
    }
}

fn keys(range: core::ops::Range<u64>) -> Vec<BlockKey> {
    range.map(BlockKey).collect()
}

fn run(index: &Index, endpoint: EndpointId, keys: &[BlockKey]) -> u32 {
    let mut matches = Matches::default();
    index.lookup(keys, &mut matches);
    matches.blocks(endpoint)
}

#[test]
fn a_gap_ends_an_endpoints_run_although_it_holds_later_blocks() {
    let mut index = Index::new(AMPLE, SEED);
    let prompt = keys(0..5);
    index.insert(endpoint(1), &prompt, None);
    index.insert(endpoint(2), &prompt[..2], None);
    index.insert(endpoint(2), &prompt[3..], None);
    index.insert(endpoint(3), &prompt[1..], None);
    let mut matches = Matches::default();
    index.lookup(&prompt, &mut matches);
    assert_eq!(matches.blocks(endpoint(1)), 5);
    assert_eq!(matches.blocks(endpoint(2)), 2);
    assert_eq!(matches.blocks(endpoint(3)), 0);
    assert_eq!(matches.blocks(endpoint(4)), 0);
}

#[test]
fn a_used_scratch_remembers_nothing() {
    let mut index = Index::new(AMPLE, SEED);
    index.insert(endpoint(1), &keys(0..3), None);
    let mut matches = Matches::default();
    index.lookup(&keys(0..3), &mut matches);
    index.lookup(&keys(10..13), &mut matches);
    assert_eq!(matches.blocks(endpoint(1)), 0);
    index.lookup(&keys(0..3), &mut matches);
    index.lookup(&[], &mut matches);
    assert_eq!(matches.blocks(endpoint(1)), 0);
}

#[test]
fn lives_of_one_slot_do_not_match_for_each_other() {
    let mut index = Index::new(AMPLE, SEED);
    let life = |generation| EndpointId {
        slot: 4,
        generation,
    };
    index.insert(life(2), &keys(0..3), None);
    assert_eq!(run(&index, life(1), &keys(0..3)), 0);
    assert_eq!(run(&index, life(3), &keys(0..3)), 0);
    index.insert(life(3), &keys(0..1), None);
    index.remove(life(2));
    assert_eq!(run(&index, life(2), &keys(0..3)), 0);
    assert_eq!(run(&index, life(3), &keys(0..3)), 1);
    assert_eq!(index.blocks(), 1);
}

#[test]
fn the_engines_own_limit_keeps_the_head_of_a_prompt() {
    let mut index = Index::new(AMPLE, SEED);
    index.insert(endpoint(1), &keys(0..10), Some(4));
    assert_eq!(run(&index, endpoint(1), &keys(0..10)), 4);
    index.insert(endpoint(1), &keys(20..22), Some(4));
    assert_eq!(run(&index, endpoint(1), &keys(0..10)), 2);
    index.insert(endpoint(1), &[], Some(3));
    assert_eq!(index.blocks(), 3);
    assert_eq!(run(&index, endpoint(1), &keys(20..22)), 2);
}

#[test]
fn a_full_budget_takes_from_the_endpoint_that_holds_the_most() {
    let mut index = Index::new(16 * 1024, SEED);
    index.insert(endpoint(1), &keys(1000..1050), None);
    index.insert(endpoint(2), &keys(0..10_000), None);
    let full = index.blocks();
    assert_eq!(run(&index, endpoint(1), &keys(1000..1050)), 50);
    assert_eq!(
        run(&index, endpoint(2), &keys(0..10_000)) as usize,
        full - 50
    );
    index.insert(endpoint(3), &keys(2000..2030), None);
    assert_eq!(run(&index, endpoint(1), &keys(1000..1050)), 50);
    assert_eq!(run(&index, endpoint(3), &keys(2000..2030)), 30);
    assert_eq!(
        run(&index, endpoint(2), &keys(0..10_000)) as usize,
        full - 80
    );
}

#[test]
fn an_endpoint_at_its_own_limit_replaces_its_own_blocks_only() {
    let mut index = Index::new(16 * 1024, SEED);
    index.insert(endpoint(1), &keys(1000..1020), Some(20));
    index.insert(endpoint(2), &keys(0..10_000), None);
    let others = index.blocks() - 20;
    index.insert(endpoint(1), &keys(2000..2020), Some(20));
    assert_eq!(run(&index, endpoint(1), &keys(2000..2020)), 20);
    assert_eq!(run(&index, endpoint(2), &keys(0..10_000)) as usize, others);
}

#[test]
fn b75_a_prompt_of_100_000_blocks_fits_its_budget_or_keeps_its_head() {
    let prompt = keys(0..100_000);
    let mut roomy = Index::new(4 << 20, SEED);
    roomy.insert(endpoint(1), &prompt, None);
    assert_eq!(run(&roomy, endpoint(1), &prompt), 100_000);
    assert!(roomy.bytes() <= 4 << 20);

    let mut narrow = Index::new(1 << 20, SEED);
    narrow.insert(endpoint(1), &prompt, None);
    assert!(narrow.bytes() <= 1 << 20);
    assert_eq!(run(&narrow, endpoint(1), &prompt) as usize, narrow.blocks());
    assert!(narrow.blocks() * ENTRY_BYTES > (1 << 20) * 99 / 100);
}

#[test]
fn a_budget_that_pays_for_nothing_holds_nothing() {
    for bytes_max in 0..2048 {
        let mut index = Index::new(bytes_max, SEED);
        for slot in 0..40 {
            index.insert(endpoint(slot), &keys(0..40), None);
            assert!(
                index.bytes() <= bytes_max,
                "{} of {bytes_max}",
                index.bytes()
            );
        }
    }
}

#[test]
fn a_smaller_budget_is_in_force_at_once_and_a_larger_one_can_be_filled() {
    let mut index = Index::new(AMPLE, SEED);
    for slot in 0..20 {
        index.insert(endpoint(slot), &keys(0..1000), None);
    }
    index.set_bytes_max(100_000);
    assert!(index.bytes() <= 100_000);
    let held = index.blocks();
    assert!(held > 2000);
    for slot in 0..20 {
        let blocks = run(&index, endpoint(slot), &keys(0..1000)) as usize;
        assert!(blocks == held / 20 || blocks == held / 20 + 1);
    }
    index.set_bytes_max(10);
    assert_eq!((index.blocks(), index.bytes()), (0, 0));
    index.set_bytes_max(AMPLE);
    index.insert(endpoint(3), &keys(0..1000), None);
    assert_eq!(run(&index, endpoint(3), &keys(0..1000)), 1000);
}

#[test]
fn forgotten_blocks_are_one_endpoints_only_and_leave_a_gap() {
    let mut index = Index::new(AMPLE, SEED);
    for slot in [1, 2] {
        index.insert(endpoint(slot), &keys(0..5), None);
    }
    index.forget(endpoint(1), &[BlockKey(2), BlockKey(77)]);
    assert_eq!(run(&index, endpoint(1), &keys(0..5)), 2);
    assert_eq!(run(&index, endpoint(1), &keys(3..5)), 2);
    assert_eq!(run(&index, endpoint(2), &keys(0..5)), 5);
    index.forget(endpoint(1), &keys(0..5));
    index.forget(endpoint(3), &keys(0..5));
    assert_eq!(index.blocks(), 5);
    index.insert(endpoint(1), &keys(0..5), None);
    assert_eq!(run(&index, endpoint(1), &keys(0..5)), 5);
}

#[test]
fn blocks_that_are_used_again_stay_when_room_is_needed() {
    let mut index = Index::new(16 * 1024, SEED);
    index.insert(endpoint(1), &keys(0..20), None);
    index.insert(endpoint(1), &keys(100..120), None);
    index.refresh(endpoint(1), &keys(0..30));
    assert_eq!(index.blocks(), 40);
    index.insert(endpoint(1), &[], Some(20));
    assert_eq!(run(&index, endpoint(1), &keys(0..20)), 20);
}

#[derive(Clone, Debug)]
enum Step {
    Insert(EndpointId, Vec<BlockKey>, Option<usize>),
    Refresh(EndpointId, Vec<BlockKey>),
    Forget(EndpointId, Vec<BlockKey>),
    Remove(EndpointId),
    Budget(usize),
}

fn any_endpoint() -> impl Strategy<Value = EndpointId> {
    (0..4u32, 0..3u32).prop_map(|(slot, generation)| EndpointId { slot, generation })
}

/// Keys of a prompt: a start and a length in one of a few conversations.
fn any_prompt() -> impl Strategy<Value = Vec<BlockKey>> {
    (0..4u64, 0..6u64, 0..40u64)
        .prop_map(|(talk, from, len)| keys(talk * 100 + from..talk * 100 + from + len))
}

fn any_step(budget: core::ops::Range<usize>) -> impl Strategy<Value = Step> {
    let limit = prop_oneof![3 => Just(None), 1 => (0..60usize).prop_map(Some)];
    let insert = (any_endpoint(), any_prompt(), limit);
    prop_oneof![
        8 => insert.prop_map(|(endpoint, keys, limit)| Step::Insert(endpoint, keys, limit)),
        2 => (any_endpoint(), any_prompt()).prop_map(|(id, keys)| Step::Refresh(id, keys)),
        2 => (any_endpoint(), any_prompt()).prop_map(|(id, keys)| Step::Forget(id, keys)),
        1 => any_endpoint().prop_map(Step::Remove),
        1 => budget.prop_map(Step::Budget),
    ]
}

/// What an index without a budget holds, and when each entry was last used.
#[derive(Default)]
struct Model {
    uses: BTreeMap<(EndpointId, BlockKey), u64>,
    clock: u64,
}

impl Model {
    fn apply(&mut self, step: &Step) {
        match step {
            Step::Insert(endpoint, keys, limit) => {
                for &key in keys.iter().rev() {
                    self.clock += 1;
                    self.uses.insert((*endpoint, key), self.clock);
                }
                let newest = self.newest_first(*endpoint);
                for &key in newest.iter().skip(limit.unwrap_or(usize::MAX)) {
                    self.uses.remove(&(*endpoint, key));
                }
            }
            Step::Refresh(endpoint, keys) => {
                for &key in keys.iter().rev() {
                    self.clock += 1;
                    self.uses
                        .entry((*endpoint, key))
                        .and_modify(|at| *at = self.clock);
                }
            }
            Step::Forget(endpoint, keys) => {
                self.uses
                    .retain(|(id, key), _| id != endpoint || !keys.contains(key));
            }
            Step::Remove(endpoint) => self.uses.retain(|(id, _), _| id != endpoint),
            Step::Budget(_) => {}
        }
    }

    fn newest_first(&self, endpoint: EndpointId) -> Vec<BlockKey> {
        let own = self.uses.iter().filter(|((id, _), _)| *id == endpoint);
        let mut own: Vec<_> = own.map(|((_, key), at)| (*at, *key)).collect();
        own.sort_unstable_by(|a, b| b.cmp(a));
        own.into_iter().map(|(_, key)| key).collect()
    }

    fn run(&self, endpoint: EndpointId, keys: &[BlockKey]) -> u32 {
        let held = |key: &&BlockKey| self.uses.contains_key(&(endpoint, **key));
        keys.iter().take_while(held).count() as u32
    }
}

fn apply(index: &mut Index, step: &Step) {
    match step {
        Step::Insert(endpoint, keys, limit) => index.insert(*endpoint, keys, *limit),
        Step::Refresh(endpoint, keys) => index.refresh(*endpoint, keys),
        Step::Forget(endpoint, keys) => index.forget(*endpoint, keys),
        Step::Remove(endpoint) => index.remove(*endpoint),
        Step::Budget(bytes_max) => index.set_bytes_max(*bytes_max),
    }
}

fn all_endpoints() -> impl Iterator<Item = EndpointId> {
    (0..12).map(|i| EndpointId {
        slot: i / 3,
        generation: i % 3,
    })
}

proptest! {
    #[test]
    fn within_its_budget_the_index_equals_a_naive_map(
        seed in any::<u64>(),
        steps in proptest::collection::vec((any_step(AMPLE..AMPLE + 1), any_prompt()), 1..60),
    ) {
        let mut index = Index::new(AMPLE, seed);
        let mut model = Model::default();
        let mut matches = Matches::default();
        for (step, prompt) in steps {
            apply(&mut index, &step);
            model.apply(&step);
            index.lookup(&prompt, &mut matches);
            for endpoint in all_endpoints() {
                prop_assert_eq!(matches.blocks(endpoint), model.run(endpoint, &prompt));
            }
            prop_assert_eq!(index.blocks(), model.uses.len());
        }
    }

    #[test]
    fn under_any_budget_an_endpoint_keeps_its_most_recently_used_blocks(
        start in 0..12_000usize,
        steps in proptest::collection::vec(any_step(0..12_000), 1..60),
    ) {
        let mut index = Index::new(start, SEED);
        let mut model = Model::default();
        for step in steps {
            apply(&mut index, &step);
            prop_assert!(index.bytes() <= index.bytes_max());
            model.apply(&step);
            let mut kept = 0;
            for endpoint in all_endpoints() {
                let newest = model.newest_first(endpoint);
                let held = |key: &BlockKey| run(&index, endpoint, &[*key]) == 1;
                let count = newest.iter().take_while(|key| held(key)).count();
                // What left is no part of the naive map's either: it can only come back as new.
                for key in &newest[count..] {
                    prop_assert!(!held(key));
                    model.uses.remove(&(endpoint, *key));
                }
                kept += count;
            }
            prop_assert_eq!(kept, index.blocks());
        }
    }
}
