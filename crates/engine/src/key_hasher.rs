//! A hasher for maps by block key.

use core::hash::{BuildHasherDefault, Hasher};

/// Builds a [`KeyHasher`].
pub(crate) type BuildKeyHasher = BuildHasherDefault<KeyHasher>;

/// Block keys are hashes already, and the order of these maps is never observed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The simulator may use small numbers as keys: the multiplication spreads them.
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
