use core::num::NonZeroU32;

use super::*;
use crate::workload::Piece;

fn plan(pieces: &[(u64, u32)], prompt_tokens: u32) -> Plan {
    let pieces = pieces.iter().map(|&(key, end_tokens)| Piece {
        key: BlockKey(key),
        end_tokens,
    });
    Plan {
        pieces: pieces.collect(),
        prompt_tokens: NonZeroU32::new(prompt_tokens).unwrap(),
        output_tokens: NonZeroU32::MIN,
        adapter: None,
        class: 0,
        session: None,
        next: None,
    }
}

fn sixteen() -> BlockSize {
    BlockSize::new(16).unwrap()
}

fn shared(a: &[BlockHash], b: &[BlockHash]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[test]
fn requests_share_the_full_blocks_of_their_common_pieces_and_no_more() {
    let a = blocks(&plan(&[(7, 100)], 200), own_content(1), sixteen(), 99);
    let b = blocks(&plan(&[(7, 100)], 300), own_content(2), sixteen(), 99);
    assert_eq!((a.len(), b.len()), (12, 18));
    assert_eq!(shared(&a, &b), 100 / 16);
}

#[test]
fn a_longer_chain_of_pieces_keeps_the_blocks_of_the_shorter_one() {
    let a = blocks(
        &plan(&[(1, 64), (2, 130)], 130),
        own_content(1),
        sixteen(),
        99,
    );
    let b = blocks(
        &plan(&[(1, 64), (2, 130), (3, 200)], 200),
        own_content(2),
        sixteen(),
        99,
    );
    assert_eq!(shared(&a, &b), 130 / 16);
    let c = blocks(
        &plan(&[(1, 64), (9, 130)], 130),
        own_content(3),
        sixteen(),
        99,
    );
    assert_eq!(shared(&a, &c), 64 / 16);
}

#[test]
fn blocks_of_one_prompt_differ() {
    let mut hashes = blocks(&plan(&[(1, 800)], 1600), own_content(1), sixteen(), 99);
    let count = hashes.len();
    hashes.sort_unstable_by_key(|hash| hash.0);
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn the_pickers_blocks_belong_to_the_part_in_which_they_end() {
    let keys: Vec<_> = (0..6).map(BlockKey).collect();
    let parts = [(BlockKey(70), 40_u32), (BlockKey(71), 90)];
    let mut names = BTreeMap::new();
    name_keys(parts.into_iter(), &keys, sixteen(), &mut names);
    assert_eq!(names[&BlockKey(70)], keys[..2]);
    assert_eq!(names[&BlockKey(71)], keys[2..5]);
}
