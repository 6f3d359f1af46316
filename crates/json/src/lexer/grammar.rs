//! Which token may follow which.

use super::cursor::Cursor;
use super::depth::Container;
use super::literal::Literal;
use super::number::Number;
use super::string::Text;
use super::{Cause, Fault, Kind, Lexer, Open, Visit};

/// What may come next, white space apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The first byte of a byte order mark, or else a value.
    Mark,
    /// The second byte of the mark.
    MarkSecond,
    /// The third byte of the mark.
    MarkThird,
    /// A value.
    Value,
    /// A value, or the end of an array without any.
    ValueOrEnd,
    /// A key.
    Key,
    /// A key, or the end of an object without any.
    KeyOrEnd,
    /// The colon behind a key.
    Colon,
    /// A comma, or the end of an object.
    CommaInObject,
    /// A comma, or the end of an array.
    CommaInArray,
    /// Nothing: the text is complete.
    Nothing,
}

impl Lexer {
    /// Reads tokens up to the end of the piece.
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        if let Expected::Mark | Expected::MarkSecond | Expected::MarkThird = self.expected {
            self.read_mark(cursor)?;
        }
        // The arms lie in the order in which tokens come, and each falls through to the next, so that a
        // member takes one round of the loop and few jumps that depend on the state.
        while let Some(mut byte) = cursor.skip_space() {
            if self.expected == Expected::CommaInObject && byte == b',' {
                cursor.advance(1);
                self.expected = Expected::Key;
                let Some(next) = cursor.skip_space() else {
                    break;
                };
                byte = next;
            }
            if matches!(self.expected, Expected::Key | Expected::KeyOrEnd) && byte == b'"' {
                self.expected = Expected::Colon;
                self.read_text(Kind::Key, cursor, visit)?;
                let Some(next) = cursor.skip_space() else {
                    break;
                };
                byte = next;
            }
            if self.expected == Expected::Colon && byte == b':'
                || self.expected == Expected::CommaInArray && byte == b','
            {
                cursor.advance(1);
                self.expected = Expected::Value;
                let Some(next) = cursor.skip_space() else {
                    break;
                };
                byte = next;
            }
            self.expected = match (self.expected, byte) {
                (Expected::CommaInObject | Expected::KeyOrEnd, b'}') => {
                    self.end(Kind::Object, cursor, visit)
                }
                (Expected::CommaInArray | Expected::ValueOrEnd, b']') => {
                    self.end(Kind::Array, cursor, visit)
                }
                (Expected::Value | Expected::ValueOrEnd, _) => {
                    self.read_value(byte, cursor, visit)?
                }
                _ => return Err(unexpected(cursor)),
            };
        }
        Ok(())
    }

    #[inline]
    fn read_value(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<Expected, Fault> {
        match byte {
            b'"' => self.read_text(Kind::String, cursor, visit)?,
            b'-' | b'0'..=b'9' => self.read_number(cursor, visit)?,
            b'{' => {
                self.begin(Container::Object, cursor, visit)?;
                return Ok(Expected::KeyOrEnd);
            }
            b'[' => {
                self.begin(Container::Array, cursor, visit)?;
                return Ok(Expected::ValueOrEnd);
            }
            _ => self.read_literal(byte, cursor, visit)?,
        }
        Ok(self.after_value)
    }

    /// Goes over the byte order mark that the text may begin with.
    fn read_mark(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        while let Some(byte) = cursor.peek() {
            let next = match (self.expected, byte) {
                (Expected::Mark, 0xef) => Expected::MarkSecond,
                (Expected::MarkSecond, 0xbb) => Expected::MarkThird,
                (Expected::MarkThird, 0xbf) => Expected::Value,
                (Expected::Mark, _) => {
                    self.expected = Expected::Value;
                    break;
                }
                (Expected::MarkSecond | Expected::MarkThird, _) => return Err(unexpected(cursor)),
                _ => break,
            };
            self.expected = next;
            cursor.advance(1);
        }
        Ok(())
    }

    #[inline]
    fn read_text(
        &mut self,
        kind: Kind,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        visit.begin(kind, cursor.offset());
        cursor.advance(1);
        let mut text = Text::new(kind);
        if text.read(cursor, visit)? {
            visit.end(kind, cursor.offset());
        } else {
            self.open = Some(Open::Text(text));
        }
        Ok(())
    }

    #[inline]
    fn read_number(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        visit.begin(Kind::Number, cursor.offset());
        if !Number::read_short(cursor, visit) {
            let mut number = Number::Beginning;
            if !number.read(cursor, visit)? {
                self.open = Some(Open::Number(number));
                return Ok(());
            }
        }
        visit.end(Kind::Number, cursor.offset());
        Ok(())
    }

    #[inline]
    fn read_literal(
        &mut self,
        byte: u8,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        let mut literal = Literal::beginning(byte).ok_or_else(|| unexpected(cursor))?;
        visit.begin(literal.kind, cursor.offset());
        if !literal.read_whole(cursor) && !literal.read(cursor)? {
            self.open = Some(Open::Literal(literal));
            return Ok(());
        }
        visit.end(literal.kind, cursor.offset());
        Ok(())
    }

    #[inline]
    fn begin(
        &mut self,
        container: Container,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<(), Fault> {
        if !self.nest.open(container) {
            return Err(Fault {
                cause: Cause::TooDeep,
                at: cursor.offset(),
            });
        }
        let (kind, after_value) = match container {
            Container::Object => (Kind::Object, Expected::CommaInObject),
            Container::Array => (Kind::Array, Expected::CommaInArray),
        };
        self.after_value = after_value;
        visit.begin(kind, cursor.offset());
        cursor.advance(1);
        Ok(())
    }

    /// Ends the innermost container. Gives what may come behind it.
    #[inline]
    fn end(&mut self, kind: Kind, cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> Expected {
        cursor.advance(1);
        visit.end(kind, cursor.offset());
        self.after_value = match self.nest.close() {
            Some(Container::Object) => Expected::CommaInObject,
            Some(Container::Array) => Expected::CommaInArray,
            None => Expected::Nothing,
        };
        self.after_value
    }
}

fn unexpected(cursor: &Cursor<'_>) -> Fault {
    Fault {
        cause: Cause::Unexpected,
        at: cursor.offset(),
    }
}
