//! A body that lies in pieces, read as one.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes};

/// What is left of a body.
pub(crate) struct Pieces<'a> {
    /// What is left of the piece that is read.
    piece: &'a [u8],
    rest: &'a [Bytes],
}

impl<'a> Pieces<'a> {
    pub(crate) const fn new(body: &'a [Bytes]) -> Self {
        Self {
            piece: &[],
            rest: body,
        }
    }

    /// The bytes that come next and lie together. None only at the end.
    pub(crate) fn next(&mut self) -> &'a [u8] {
        while self.piece.is_empty()
            && let Some((first, rest)) = self.rest.split_first()
        {
            self.piece = first;
            self.rest = rest;
        }
        self.piece
    }

    /// Leaves the first of [`next`](Self::next) behind.
    pub(crate) fn advance(&mut self, bytes: usize) {
        self.piece.advance(bytes.min(self.piece.len()));
    }

    /// Leaves bytes behind; `None` if there are not as many.
    pub(crate) fn skip(&mut self, bytes: u64) -> Option<()> {
        self.take(bytes, |_| Some(()))
    }

    /// Gives bytes to `sink`, slice by slice; `None` if there are not as many, or if it gives up.
    pub(crate) fn take(
        &mut self,
        mut bytes: u64,
        mut sink: impl FnMut(&'a [u8]) -> Option<()>,
    ) -> Option<()> {
        while bytes > 0 {
            let piece = self.next();
            let wanted = usize::try_from(bytes).unwrap_or(usize::MAX);
            let slice = piece.get(..wanted).unwrap_or(piece);
            if slice.is_empty() {
                return None;
            }
            sink(slice)?;
            self.advance(slice.len());
            bytes = bytes.saturating_sub(slice.len() as u64);
        }
        Some(())
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let length = self.next().read(to)?;
        self.advance(length);
        Ok(length)
    }
}
