//! One hash of a value, however it is spaced and escaped.

use pointsman_json::lexer::Kind;
use xxhash_rust::xxh3::Xxh3Default;

use super::marks;

/// Takes the tokens of one value.
pub(crate) struct Fingerprint(Xxh3Default);

impl Fingerprint {
    /// Before any value.
    pub(crate) const fn new() -> Self {
        Self(Xxh3Default::new())
    }

    /// Forgets the value before.
    pub(crate) fn clear(&mut self) {
        self.0.reset();
    }

    /// A token begins.
    pub(crate) fn begin(&mut self, kind: Kind) {
        self.0.update(&[marks::of(kind)]);
    }

    /// The next part of a token.
    pub(crate) fn part(&mut self, part: &[u8]) {
        self.0.update(part);
    }

    /// A token ends.
    pub(crate) fn end(&mut self, kind: Kind) {
        // The value of a name begins with a mark, which ends the name.
        if kind != Kind::Key {
            self.0.update(&[marks::END]);
        }
    }

    /// The hash of the value that has ended.
    pub(crate) fn digest(&self) -> u64 {
        self.0.digest()
    }
}
