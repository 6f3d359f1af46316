use crate::engine::tests::{article, job_of_pieces};

use super::*;

impl PieceCache {
    /// Panics unless the sums agree with the pieces.
    pub(in crate::article) fn assert_consistent(&self) {
        let tokens = self.pieces.values().map(|piece| u64::from(piece.tokens));
        assert_eq!(self.tokens, tokens.sum::<u64>());
        assert_eq!(self.pieces.len(), self.by_use.len());
        for (used, key) in &self.by_use {
            assert_eq!(self.pieces.get(key).map(|piece| piece.used), Some(*used));
        }
        assert!(self.tokens <= self.tokens_max || self.pieces.len() == 1);
    }
}

#[test]
fn a_piece_that_ends_before_it_begins_adds_no_tokens() {
    let mut cache = PieceCache::new(100, CacheReports::Nothing);
    cache.enter(&job_of_pieces(&[(1, 20), (2, 10)], 40, 1), &article());
    cache.assert_consistent();
    assert_eq!(cache.tokens, 20);
}

#[test]
fn the_order_of_use_is_that_of_the_last_look_or_entry() {
    let mut cache = PieceCache::new(30, CacheReports::Nothing);
    let prompts = [1, 2, 3, 4].map(|key| job_of_pieces(&[(key, 10)], 40, 1));
    for prompt in &prompts[..3] {
        cache.enter(prompt, &article());
    }
    assert_eq!(cache.look_up(&prompts[0], &article()), 10);
    cache.enter(&prompts[3], &article());
    let found = prompts.map(|prompt| cache.look_up(&prompt, &article()));
    assert_eq!(found, [10, 0, 10, 10]);
    cache.assert_consistent();
}
