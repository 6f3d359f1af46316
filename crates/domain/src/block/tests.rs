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

fn hasher() -> BlockHasher {
    BlockHasher::new(BlockSize::new(4).unwrap(), BLOCKS_MAX)
}

#[test]
fn what_comes_after_a_closed_part_begins_a_block_of_its_own() {
    let rest = |part: &[u8]| {
        let mut hasher = hasher();
        hasher.push(part);
        hasher.close();
        let closed = hasher.hashes().len();
        hasher.push(&[7; 40]);
        hasher.finish().split_off(closed)
    };
    assert_eq!(rest(&[1; 16]), rest(&[2; 21]));
    assert_eq!(rest(&[]), hashes(&[&[7; 40]]));
}

#[test]
fn a_closed_partial_block_is_like_no_other_block_and_counts_as_one() {
    let closed = |part: &[u8]| {
        let mut hasher = hasher();
        hasher.push(part);
        hasher.close();
        assert_eq!(hasher.bytes(), 16 * hasher.hashes().len() as u64);
        hasher.finish()
    };
    assert_eq!(closed(&[1; 16]), hashes(&[&[1; 16]]));
    assert_eq!(closed(&[]), []);
    let lengths = [7, 8, 15, 16].map(|length| closed(&[0; 16][..length]));
    for (index, one) in lengths.iter().enumerate() {
        assert_eq!(one.len(), 1);
        assert!(!lengths[..index].contains(one));
    }
}

#[test]
fn closing_never_makes_more_blocks_than_the_limit() {
    let mut hasher = BlockHasher::new(BlockSize::new(4).unwrap(), 2);
    hasher.push(&[1; 20]);
    hasher.close();
    hasher.push(&[2; 20]);
    hasher.close();
    assert_eq!(hasher.hashes().len(), 2);
    assert_eq!(hasher.bytes(), 64);
}

#[test]
fn a_digest_tells_all_that_was_taken_apart() {
    let digests = [0, 1, 15, 16, 17, 32].map(|length| {
        let mut hasher = hasher();
        hasher.push(&[0; 32][..length]);
        hasher.digest()
    });
    for (index, one) in digests.iter().enumerate() {
        assert!(!digests[..index].contains(one));
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

    #[test]
    fn what_was_forgotten_leaves_no_trace(
        before in proptest::collection::vec(any::<u8>(), 0..40),
        forgotten in proptest::collection::vec(any::<u8>(), 0..80),
        after in proptest::collection::vec(any::<u8>(), 0..40),
        blocks_max in 0_usize..5,
    ) {
        let size = BlockSize::new(4).unwrap();
        let mut expected = BlockHasher::new(size, blocks_max);
        expected.push(&before);
        expected.push(&after);

        let mut rewound = BlockHasher::new(size, blocks_max);
        rewound.push(&before);
        rewound.set_checkpoint();
        let (head, tail) = forgotten.split_at(forgotten.len() / 3);
        rewound.push(head);
        rewound.push(tail);
        if forgotten.len() % 2 == 0 {
            rewound.close();
        }
        rewound.rewind();
        // It is used up.
        rewound.rewind();
        rewound.push(&after);

        let mut cleared = BlockHasher::new(size, blocks_max);
        cleared.push(&forgotten);
        cleared.close();
        cleared.clear();
        cleared.push(&before);
        cleared.push(&after);

        for other in [rewound, cleared] {
            prop_assert_eq!(other.bytes(), expected.bytes());
            prop_assert_eq!(other.digest(), expected.digest());
            prop_assert_eq!(other.hashes(), expected.hashes());
        }
    }
}
