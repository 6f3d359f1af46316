//! The body pieces that are held until the decision, exactly as they came.

use bytes::Bytes;

/// Pieces of one body, in order.
#[derive(Debug, Default)]
pub(crate) struct HeldBody {
    pieces: Vec<Bytes>,
    bytes: usize,
}

/// The body is over the limit; all of it was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl HeldBody {
    /// Adds a piece. Over `bytes_max` bytes in all, everything is dropped at once.
    pub(crate) fn push(&mut self, piece: Bytes, bytes_max: usize) -> Result<(), TooLarge> {
        if piece.is_empty() {
            return Ok(());
        }
        self.bytes = self.bytes.saturating_add(piece.len());
        if self.bytes > bytes_max || self.pieces.len() >= PIECES_MAX {
            *self = Self::default();
            return Err(TooLarge);
        }
        self.pieces.push(piece);
        Ok(())
    }

    /// Bytes of body.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes of memory, what each piece costs beside its bytes included.
    pub(crate) const fn memory_bytes(&self) -> usize {
        let overhead = self.pieces.len().saturating_mul(PIECE_OVERHEAD_BYTES);
        self.bytes.saturating_add(overhead)
    }

    /// The pieces, none of them empty.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// Gives the pieces away.
    pub(crate) fn take(&mut self) -> Vec<Bytes> {
        self.bytes = 0;
        core::mem::take(&mut self.pieces)
    }
}

/// Pieces in one body: bounds the memory that a body in many tiny pieces costs beyond its bytes. A
/// body at the default limit fits in pieces of 512 bytes.
pub(crate) const PIECES_MAX: usize = 65_536;

/// Rather more than the handle of a piece and the allocations behind it: a body in pieces of one byte
/// takes some 57 bytes for each.
pub(crate) const PIECE_OVERHEAD_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_over_the_limit_is_dropped_at_once() {
        let mut held = HeldBody::default();
        assert_eq!(held.push(Bytes::from_static(b"12345"), 8), Ok(()));
        assert_eq!(held.push(Bytes::from_static(b"678"), 8), Ok(()));
        assert_eq!(held.bytes(), 8);
        assert_eq!(held.push(Bytes::from_static(b"9"), 8), Err(TooLarge));
        assert_eq!((held.bytes(), held.pieces().len()), (0, 0));
        assert_eq!(held.memory_bytes(), 0);
    }

    #[test]
    fn each_piece_costs_memory_beside_its_bytes_until_it_is_taken() {
        let mut held = HeldBody::default();
        for piece in ["1", "", "234"] {
            assert_eq!(held.push(Bytes::from_static(piece.as_bytes()), 8), Ok(()));
        }
        assert_eq!(held.bytes(), 4);
        assert_eq!(held.memory_bytes(), 4 + 2 * PIECE_OVERHEAD_BYTES);
        held.take();
        assert_eq!(held.memory_bytes(), 0);
    }

    #[test]
    fn b23_a_body_in_tiny_pieces_costs_bounded_memory() {
        let mut held = HeldBody::default();
        let piece = Bytes::from_static(b"x");
        for _ in 0..PIECES_MAX {
            assert_eq!(held.push(piece.clone(), usize::MAX), Ok(()));
        }
        assert_eq!(held.push(piece, usize::MAX), Err(TooLarge));
        assert_eq!(held.pieces().len(), 0);
    }
}
