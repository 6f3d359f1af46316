//! Body bytes that all sessions hold, against one limit.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// The process's held bytes.
#[derive(Debug)]
pub(crate) struct HeldBytes {
    held: AtomicUsize,
    max: usize,
}

/// A session's part of them, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldShare {
    all: Arc<HeldBytes>,
    bytes: usize,
}

impl HeldBytes {
    /// None held of at most `max`.
    pub(crate) const fn new(max: usize) -> Self {
        Self {
            held: AtomicUsize::new(0),
            max,
        }
    }

    /// Bytes held now.
    pub(crate) fn now(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

impl HeldShare {
    /// A share of nothing.
    pub(crate) const fn new(all: Arc<HeldBytes>) -> Self {
        Self { all, bytes: 0 }
    }

    /// Makes this share `bytes`; `false` if that passes the process's limit.
    pub(crate) fn set(&mut self, bytes: usize) -> bool {
        if bytes == self.bytes {
            // So it is at nearly every message, and all sessions share the counter.
            return true;
        }
        let grown = bytes.saturating_sub(self.bytes);
        let shrunk = self.bytes.saturating_sub(bytes);
        self.bytes = bytes;
        self.all.held.fetch_sub(shrunk, Ordering::Relaxed);
        let before = self.all.held.fetch_add(grown, Ordering::Relaxed);
        grown == 0 || before.saturating_add(grown) <= self.all.max
    }
}

impl Drop for HeldShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_limit_and_are_given_back() {
        let all = Arc::new(HeldBytes::new(100));
        let mut one = HeldShare::new(Arc::clone(&all));
        let mut other = HeldShare::new(Arc::clone(&all));
        assert!(one.set(60));
        assert!(other.set(40));
        assert!(!other.set(41));
        assert!(other.set(10), "shrinking is always allowed");
        drop(one);
        assert_eq!(all.now(), 10);
        assert!(other.set(100));
    }
}
