use proptest::prelude::*;

use super::*;

fn hashes(pieces: &[&[u8]]) -> Vec<BlockHash> {
    let mut hasher = BlockHasher::new(BlockSize::new(4).unwrap(), BLOCKS_MAX);
    for piece in pieces {
        hasher.push(piece);
    }
    hasher.finish()
}

#[test]
fn a_partial_last_block_has_no_hash() {
    assert_eq!(hashes(&[&[7; 15]]).len(), 0);
    assert_eq!(hashes(&[&[7; 16]]).len(), 1);
    assert_eq!(hashes(&[&[7; 33]]).len(), 2);
}

#[test]
fn a_growing_prompt_keeps_the_keys_of_its_earlier_blocks() {
    let root = PromptScope {
        model: "m",
        ..PromptScope::default()
    }
    .root();
    let short = chain(root, &hashes(&[&[1; 16], &[2; 20]]));
    let long = chain(root, &hashes(&[&[1; 16], &[2; 40]]));
    assert_eq!(short.len(), 2);
    assert_eq!(long[..2], short[..]);
}

#[test]
fn every_part_of_the_scope_changes_the_root() {
    let base = PromptScope {
        model: "m",
        ..PromptScope::default()
    };
    let roots = [
        base.root(),
        PromptScope { model: "n", ..base }.root(),
        PromptScope {
            cache_salt: Some(SaltHash::of("s")),
            ..base
        }
        .root(),
        PromptScope {
            cache_salt: Some(SaltHash::of("")),
            ..base
        }
        .root(),
        PromptScope {
            tenant: Some("s"),
            ..base
        }
        .root(),
        PromptScope {
            template_inputs: 1,
            ..base
        }
        .root(),
    ];
    for (i, a) in roots.iter().enumerate() {
        for b in &roots[i + 1..] {
            assert_ne!(a, b);
        }
    }
}

#[test]
fn the_same_block_has_another_key_behind_another_prefix() {
    let root = PromptScope::default().root();
    let keys = chain(root, &hashes(&[&[5; 16], &[5; 16]]));
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_long_prompt_has_bounded_blocks_and_counts_all_its_bytes() {
    let block = [3; 16];
    let full = vec![3; 16 * BLOCKS_MAX];
    assert_eq!(hashes(&[&full]).len(), BLOCKS_MAX);

    let long = vec![3; 16 * (BLOCKS_MAX + 5) + 7];
    let (head, tail) = long.split_at(9);
    let (middle, end) = long.split_at(16 * (BLOCKS_MAX - 1) + 1);
    for pieces in [
        &[&long[..]][..],
        &[head, tail],
        &[middle, end],
        &[&full, &block, &block],
    ] {
        assert_eq!(hashes(pieces), hashes(&[&full]));
    }

    let mut hasher = BlockHasher::new(BlockSize::new(4).unwrap(), BLOCKS_MAX);
    hasher.push(&long);
    hasher.push(&block);
    assert_eq!(hasher.bytes(), long.len() as u64 + 16);
}

#[test]
fn a_repetition_beyond_the_last_block_is_counted_and_not_hashed() {
    // Each of these would take years one by one.
    for times in [u64::MAX / 32, u64::MAX] {
        let mut hasher = BlockHasher::new(BlockSize::new(4).unwrap(), BLOCKS_MAX);
        hasher.repeat(&[3; 16], times);
        hasher.repeat(&[], times);
        assert_eq!(hasher.bytes(), times.saturating_mul(16));
        assert_eq!(hasher.finish().len(), BLOCKS_MAX);
    }
}

proptest! {
    #[test]
    fn a_repetition_is_as_many_pieces(
        before in proptest::collection::vec(any::<u8>(), 0..20),
        piece in proptest::collection::vec(any::<u8>(), 0..20),
        times in 0_u64..20,
    ) {
        let mut repeated = BlockHasher::new(BlockSize::new(4).unwrap(), BLOCKS_MAX);
        repeated.push(&before);
        repeated.repeat(&piece, times);
        let written = [before, piece.repeat(usize::try_from(times).unwrap())].concat();
        prop_assert_eq!(repeated.bytes(), written.len() as u64);
        prop_assert_eq!(repeated.finish(), hashes(&[&written]));
    }

    #[test]
    fn cutting_the_prompt_elsewhere_changes_nothing(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        cuts in proptest::collection::vec(0usize..300, 0..8),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|c| c.min(bytes.len())).collect();
        cuts.sort_unstable();
        cuts.push(bytes.len());
        let mut from = 0;
        let mut pieces = Vec::new();
        for cut in cuts {
            pieces.push(&bytes[from..cut]);
            from = cut;
        }
        prop_assert_eq!(hashes(&pieces), hashes(&[&bytes]));
    }
}
