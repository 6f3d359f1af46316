//! One text or number that a fact is made of.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// A text or number as it comes. Its beginning is kept, and all of it is hashed.
pub(crate) struct Scalar {
    head: Vec<u8>,
    /// Of the whole, once it is longer than what is kept.
    hash: Xxh3Default,
    is_longer: bool,
}

impl Scalar {
    /// Before any value.
    pub(crate) const fn new() -> Self {
        Self {
            head: Vec::new(),
            hash: Xxh3Default::new(),
            is_longer: false,
        }
    }

    /// Forgets the value before.
    pub(crate) fn clear(&mut self) {
        self.head.clear();
        self.is_longer = false;
    }

    /// The next part of the value.
    pub(crate) fn part(&mut self, part: &[u8]) {
        if !self.is_longer && self.head.len() + part.len() <= KEPT_BYTES_MAX {
            self.head.extend_from_slice(part);
            return;
        }
        if !self.is_longer {
            self.is_longer = true;
            self.hash.reset();
            self.hash.update(&self.head);
        }
        self.hash.update(part);
    }

    /// The whole value; `None` if it is longer than what is kept.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        (!self.is_longer).then_some(&self.head)
    }

    /// The hash of the whole value, of whatever length.
    pub(crate) fn hash(&self) -> u64 {
        match self.whole() {
            Some(whole) => xxh3_64(whole),
            None => self.hash.digest(),
        }
    }

    /// The number that is written, if it counts something.
    pub(crate) fn count(&self) -> Option<u64> {
        let text = core::str::from_utf8(self.whole()?).ok()?;
        text.parse().ok().or_else(|| whole_float(text))
    }
}

/// A whole number that is written with a point or an exponent, which engines take for the same.
fn whole_float(text: &str) -> Option<u64> {
    // Up to here each whole number is a float of its own.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    let number: f64 = text.parse().ok()?;
    let is_whole = number.fract() == 0.0 && (0.0..=WHOLE_MAX).contains(&number);
    is_whole.then_some(number as u64)
}

/// Longest value that is kept: the longest name of a model that goes into the facts.
pub(crate) const KEPT_BYTES_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parts: &[&[u8]]) -> Scalar {
        let mut scalar = Scalar::new();
        scalar.part(b"the value before");
        scalar.clear();
        for part in parts {
            scalar.part(part);
        }
        scalar
    }

    #[test]
    fn only_whole_numbers_that_are_not_negative_count() {
        for (text, count) in [
            ("0", Some(0)),
            ("100", Some(100)),
            ("100.0", Some(100)),
            ("1e3", Some(1000)),
            ("1.5e1", Some(15)),
            ("-0", Some(0)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e400", None),
            ("7.5", None),
            ("-7", None),
            ("-1e3", None),
        ] {
            assert_eq!(read(&[text.as_bytes()]).count(), count, "{text}");
        }
        let long = format!("1{}", "0".repeat(KEPT_BYTES_MAX));
        assert_eq!(read(&[long.as_bytes()]).count(), None);
    }

    #[test]
    fn a_value_of_any_length_has_one_hash_and_only_a_short_one_is_kept() {
        let text = vec![b'a'; KEPT_BYTES_MAX + 1];
        for length in [0, 1, KEPT_BYTES_MAX, KEPT_BYTES_MAX + 1] {
            let text = &text[..length];
            let (head, tail) = text.split_at(length / 2);
            for parts in [&[text][..], &[head, tail]] {
                let scalar = read(parts);
                assert_eq!(scalar.hash(), xxh3_64(text));
                let is_kept = length <= KEPT_BYTES_MAX;
                assert_eq!(scalar.whole(), is_kept.then_some(text));
                assert!(scalar.head.len() <= KEPT_BYTES_MAX);
            }
        }
    }
}
