//! How much of what an engine is believed to have in its cache it really has.

use pointsman_domain::units::{Tokens, Unit};

/// Compares beliefs with what the engine told of its answers, of which older ones count less and less.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheTrust {
    believed: f64,
    held: f64,
}

impl CacheTrust {
    /// The engine was believed to have `believed` of a prompt's tokens, and had `held`.
    pub fn compared(&mut self, believed: Tokens, held: Tokens) {
        if believed == Tokens(0) {
            return;
        }
        let held = held.0.min(believed.0);
        self.believed = self.believed.mul_add(KEPT, believed.0 as f64);
        self.held = self.held.mul_add(KEPT, held as f64);
    }

    /// The share of what is believed that is to be expected: all of it until something else is known.
    pub fn share(&self) -> Unit {
        Unit::clamped((self.held + DOUBT_TOKENS) / (self.believed + DOUBT_TOKENS))
    }

    /// What is to be expected of so many tokens.
    pub fn expected(&self, believed: Tokens) -> Tokens {
        if self.held >= self.believed {
            return believed;
        }
        Tokens((believed.0 as f64 * self.share().value()) as u64)
    }
}

/// What each answer leaves of the weight of those before it: the last twenty or so count.
const KEPT: f64 = 0.95;

/// So many tokens that were not found change little.
const DOUBT_TOKENS: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_as_believed_is_expected_whole() {
        let mut trust = CacheTrust::default();
        assert_eq!(trust.share(), Unit::ONE);
        for _ in 0..10 {
            trust.compared(Tokens(1000), Tokens(1500));
            trust.compared(Tokens(0), Tokens(0));
        }
        assert_eq!(trust.expected(Tokens(777)), Tokens(777));
    }

    #[test]
    fn an_engine_without_a_cache_is_soon_expected_to_have_nothing() {
        let mut trust = CacheTrust::default();
        trust.compared(Tokens(1024), Tokens(0));
        assert_eq!(trust.expected(Tokens(1000)), Tokens(500));
        for _ in 0..60 {
            trust.compared(Tokens(8192), Tokens(0));
        }
        assert!(trust.expected(Tokens(1000)) < Tokens(10));
        // And it is believed again once it has.
        for _ in 0..60 {
            trust.compared(Tokens(8192), Tokens(8192));
        }
        assert!(trust.expected(Tokens(1000)) > Tokens(950));
    }
}
