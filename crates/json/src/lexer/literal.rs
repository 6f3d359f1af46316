//! `true`, `false` and `null`.

use super::cursor::Cursor;
use super::{Cause, Fault, Kind};

/// A literal of which a part is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal {
    /// Which one.
    pub(super) kind: Kind,
    /// What is still to come.
    rest: &'static [u8],
}

impl Literal {
    /// The literal that this byte begins; the byte itself is still to come.
    #[inline]
    pub(super) const fn beginning(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Self {
                kind: Kind::True,
                rest: b"true",
            }),
            b'f' => Some(Self {
                kind: Kind::False,
                rest: b"false",
            }),
            b'n' => Some(Self {
                kind: Kind::Null,
                rest: b"null",
            }),
            _ => None,
        }
    }

    /// Reads the literal from its first byte on, if it lies whole in the piece. Nothing happens otherwise.
    #[inline]
    pub(super) fn read_whole(&self, cursor: &mut Cursor<'_>) -> bool {
        let rest = cursor.rest();
        let is_whole = match self.kind {
            Kind::True => rest.starts_with(b"true"),
            Kind::False => rest.starts_with(b"false"),
            _ => rest.starts_with(b"null"),
        };
        if is_whole {
            cursor.advance(self.rest.len());
        }
        is_whole
    }

    /// Reads on. Whether the literal ended; if not, the piece did.
    pub(super) fn read(&mut self, cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
        while let Some((expected, rest)) = self.rest.split_first() {
            let Some(byte) = cursor.peek() else {
                return Ok(false);
            };
            if byte != *expected {
                return Err(Fault {
                    cause: Cause::Unexpected,
                    at: cursor.offset(),
                });
            }
            cursor.advance(1);
            self.rest = rest;
        }
        Ok(true)
    }
}
