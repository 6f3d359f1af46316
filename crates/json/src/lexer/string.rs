//! Keys and strings: long plain parts by reference, escapes through a small buffer.

mod code;
mod escape;
mod plain;
mod run;

use super::cursor::Cursor;
use super::{Cause, Fault, Kind, Visit};
use escape::Escapes;

/// A key or string of which a part is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// Which of both.
    pub(super) kind: Kind,
    escapes: Escapes,
}

impl Text {
    /// One whose quote is read.
    #[inline]
    pub(super) const fn new(kind: Kind) -> Self {
        Self {
            kind,
            escapes: Escapes::NONE,
        }
    }

    /// Reads on. Whether the closing quote came and is read; if not, the piece ended.
    #[inline]
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<bool, Fault> {
        if Self::read_plain(cursor, visit) == Some(b'"') {
            cursor.advance(1);
            return Ok(true);
        }
        self.read_rest(cursor, visit)
    }

    /// Reads on behind plain text.
    #[inline(never)]
    fn read_rest(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<bool, Fault> {
        let mut byte = cursor.peek();
        loop {
            match byte {
                Some(b'"') => {
                    cursor.advance(1);
                    return Ok(true);
                }
                Some(b'\\') => self.escapes.read(cursor, visit)?,
                Some(_) => {
                    return Err(Fault {
                        cause: Cause::Unexpected,
                        at: cursor.offset(),
                    });
                }
                None => return Ok(false),
            }
            byte = Self::read_plain(cursor, visit);
        }
    }

    /// Reads plain text. The byte behind it.
    #[inline]
    fn read_plain(cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> Option<u8> {
        let rest = cursor.rest();
        let length = plain::length(rest);
        if let Some(part) = rest.get(..length).filter(|part| !part.is_empty()) {
            visit.part(part);
        }
        cursor.advance(length);
        rest.get(length).copied()
    }

    /// Reads on from the beginning of a piece.
    pub(super) fn resume(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<bool, Fault> {
        self.escapes.resume(cursor, visit)?;
        self.read(cursor, visit)
    }
}
