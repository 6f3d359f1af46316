//! Escapes, decoded in runs, and bytewise where a piece ends within one.

use super::super::cursor::Cursor;
use super::super::{Cause, Fault, Visit};
use super::code::{digit, encoded, is_high, is_low, meaning, pair};
use super::run::Run;

/// How far an escape is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escapes {
    /// Where in an escape.
    step: Step,
    /// The first half of a surrogate pair, whose second may still come.
    high: Option<u16>,
}

/// A place in an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// In none.
    Outside,
    /// Behind the backslash.
    Backslash,
    /// Among the four digits.
    Digits { seen: u8, value: u16 },
}

impl Escapes {
    /// No escape.
    pub(super) const NONE: Self = Self {
        step: Step::Outside,
        high: None,
    };

    /// Reads from a backslash on: escapes and the short plain text between them, up to where plain
    /// reading is faster, or to the end of the piece.
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        let mut run = Run::new();
        while run.add_escape(cursor, visit) {
            if cursor.peek() != Some(b'\\') && !run.add_plain(cursor, visit) {
                run.flush(visit);
                return Ok(());
            }
        }
        run.flush(visit);
        self.step = Step::Backslash;
        cursor.advance(1);
        self.resume(cursor, visit)
    }

    /// Reads bytewise until no escape is open, or to the end of the piece.
    pub(super) fn resume(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        while self.step != Step::Outside || self.high.is_some() {
            let Some(byte) = cursor.peek() else { break };
            let Some(is_taken) = self.take(byte, visit) else {
                return Err(Fault {
                    cause: Cause::Unexpected,
                    at: cursor.offset(),
                });
            };
            cursor.advance(usize::from(is_taken));
        }
        Ok(())
    }

    /// Takes the next byte, unless it belongs to the plain text behind. None if it cannot stand there.
    fn take(&mut self, byte: u8, visit: &mut impl Visit) -> Option<bool> {
        match self.step {
            Step::Outside if byte == b'\\' => self.step = Step::Backslash,
            Step::Outside => {
                self.give_high(visit);
                return Some(false);
            }
            Step::Backslash if byte == b'u' => self.step = Step::Digits { seen: 0, value: 0 },
            Step::Backslash => {
                let meant = meaning(byte)?;
                self.give_high(visit);
                give(u32::from(meant), visit);
                self.step = Step::Outside;
            }
            Step::Digits { seen, value } => {
                let value = value << 4 | u16::from(digit(byte)?);
                if seen < 3 {
                    self.step = Step::Digits {
                        seen: seen + 1,
                        value,
                    };
                } else {
                    self.step = Step::Outside;
                    self.take_unit(value, visit);
                }
            }
        }
        Some(true)
    }

    /// Takes a code unit that is written in digits.
    fn take_unit(&mut self, unit: u16, visit: &mut impl Visit) {
        if let (Some(high), true) = (self.high, is_low(unit)) {
            self.high = None;
            return give(pair(high, unit), visit);
        }
        self.give_high(visit);
        if is_high(unit) {
            self.high = Some(unit);
        } else {
            give(u32::from(unit), visit);
        }
    }

    /// Gives the first half whose second does not come.
    fn give_high(&mut self, visit: &mut impl Visit) {
        if let Some(high) = self.high.take() {
            give(u32::from(high), visit);
        }
    }
}

fn give(code: u32, visit: &mut impl Visit) {
    let (bytes, length) = encoded(code);
    if let Some(part) = bytes.get(..length) {
        visit.part(part);
    }
}
