//! The end of what came out, which what comes may repeat.

use super::super::{CHUNK_BYTES, Output, Undecodable};

/// What came out last, which what comes may repeat.
pub(in super::super) struct Window {
    bytes: Vec<u8>,
    /// How many of them were flushed.
    flushed: usize,
}

impl Window {
    pub(in super::super) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            flushed: 0,
        }
    }

    /// Forgets all.
    pub(in super::super) fn clear(&mut self) {
        self.bytes.clear();
        self.flushed = 0;
    }

    /// Whether there is no room for one more symbol's bytes.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() - self.flushed > CHUNK_BYTES - REPEATED_BYTES_MAX
    }

    /// Adds a byte.
    pub(super) fn put(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Adds what came out so far back.
    pub(super) fn repeat(&mut self, distance: usize, mut length: usize) -> Result<(), Undecodable> {
        let start = self.bytes.len().checked_sub(distance).ok_or(Undecodable)?;
        while length > 0 {
            // What is repeated may reach into itself. Then there is twice as much of it in each round.
            let end = self.bytes.len().min(start + length);
            self.bytes.extend_from_within(start..end);
            length -= end - start;
        }
        Ok(())
    }

    /// Gives what was not given, and keeps what can be repeated.
    pub(super) fn flush(
        &mut self,
        output: &mut Output<'_>,
        seen: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Undecodable> {
        let chunk = self.bytes.get(self.flushed..).unwrap_or_default();
        output.put(chunk)?;
        seen(chunk);
        let old = self.bytes.len().saturating_sub(DISTANCE_MAX);
        self.bytes.drain(..old);
        self.flushed = self.bytes.len();
        Ok(())
    }
}

/// Longest repetition.
const REPEATED_BYTES_MAX: usize = 258;

/// Farthest that a repetition reaches back.
const DISTANCE_MAX: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repetition_is_as_if_it_came_byte_by_byte() {
        for distance in 1..=40 {
            for length in 0..=REPEATED_BYTES_MAX {
                let mut expected: Vec<u8> = (0..40).collect();
                let mut window = Window::new();
                expected.iter().for_each(|byte| window.put(*byte));
                for _ in 0..length {
                    expected.push(expected[expected.len() - distance]);
                }
                assert_eq!(window.repeat(distance, length), Ok(()));
                assert_eq!(window.bytes, expected, "{distance} {length}");
            }
        }
        let mut window = Window::new();
        window.put(0);
        assert_eq!(window.repeat(2, 3), Err(Undecodable));
    }
}
