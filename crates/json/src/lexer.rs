//! The lexer: bytes in, tokens out.

mod cursor;
mod depth;
mod grammar;
mod literal;
mod number;
mod string;

use thiserror::Error;

use cursor::Cursor;
use depth::Nest;
use grammar::Expected;
use literal::Literal;
use number::Number;
use string::Text;

/// Kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{` to `}`.
    Object,
    /// `[` to `]`.
    Array,
    /// The name of a member.
    Key,
    /// A text that is no name.
    String,
    /// A number.
    Number,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// Takes the tokens of one text, in order.
///
/// Offsets count bytes from the beginning of the text, a byte order mark included.
pub trait Visit {
    /// A token begins with the byte at `at`: a brace, a bracket, a quote, or its first character.
    fn begin(&mut self, kind: Kind, at: u64);

    /// The next part of a key's or string's text, without escapes, or of a number as it is written.
    /// Parts may be of any length; a border of two says nothing. A surrogate without its partner comes
    /// in the three bytes that UTF-8 would have for it; whether other bytes are UTF-8 is not checked.
    fn part(&mut self, part: &[u8]);

    /// The token that began last and has not ended ends before the byte at `end`.
    fn end(&mut self, kind: Kind, end: u64);
}

/// Why a text is not JSON, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{cause} at byte {at}")]
pub struct Fault {
    /// What is wrong.
    pub cause: Cause,
    /// Bytes before the fault.
    pub at: u64,
}

/// What can be wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Cause {
    /// A byte that cannot stand there.
    #[error("unexpected byte")]
    Unexpected,
    /// The text ended too early.
    #[error("unexpected end")]
    Incomplete,
    /// Objects and arrays lie in each other deeper than [`DEPTH_MAX`].
    #[error("nested too deep")]
    TooDeep,
}

/// Reads one JSON text.
///
/// It takes what RFC 8259 takes, and of what that leaves open: a byte order mark at the beginning,
/// surrogates without their partners, and bytes that are no UTF-8, in strings. It refuses what is
/// nested deeper than [`DEPTH_MAX`].
#[derive(Clone, Debug)]
pub struct Lexer {
    /// Bytes of the pieces that are read.
    before: u64,
    nest: Nest,
    /// What may come behind a value that ends in the innermost container.
    after_value: Expected,
    /// What may come next, or behind the token that is open.
    expected: Expected,
    /// The token in which the last piece ended.
    open: Option<Open>,
    fault: Option<Fault>,
}

impl Lexer {
    /// A lexer at the beginning of a text.
    pub const fn new() -> Self {
        Self {
            before: 0,
            nest: Nest::new(),
            after_value: Expected::Nothing,
            expected: Expected::Mark,
            open: None,
            fault: None,
        }
    }

    /// Takes the next piece. After a fault, all that follows is the same fault.
    pub fn push(&mut self, piece: &[u8], visit: &mut impl Visit) -> Result<(), Fault> {
        self.fault.map_or(Ok(()), Err)?;
        let mut cursor = Cursor::new(piece, self.before);
        let result = match self.resume(&mut cursor, visit) {
            Ok(true) => self.read(&mut cursor, visit),
            Ok(false) => Ok(()),
            Err(fault) => Err(fault),
        };
        self.before = cursor.offset();
        self.fault = result.err();
        result
    }

    /// Takes the end of the text.
    pub fn finish(&mut self, visit: &mut impl Visit) -> Result<(), Fault> {
        self.fault.map_or(Ok(()), Err)?;
        if let (Expected::Nothing, Some(Open::Number(number))) = (self.expected, self.open)
            && number.may_end()
        {
            self.open = None;
            visit.end(Kind::Number, self.before);
        }
        if self.is_complete() {
            return Ok(());
        }
        let fault = Fault {
            cause: Cause::Incomplete,
            at: self.before,
        };
        self.fault = Some(fault);
        Err(fault)
    }

    /// Containers that are open now: 1 among the members of a top-level object.
    pub const fn depth(&self) -> usize {
        self.nest.depth()
    }

    /// Whether the text is complete: what comes now may only be white space.
    pub const fn is_complete(&self) -> bool {
        matches!(self.expected, Expected::Nothing) && self.open.is_none() && self.fault.is_none()
    }

    /// Reads on in the token in which the last piece ended. Whether it ended too.
    fn resume(&mut self, cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> Result<bool, Fault> {
        let (kind, is_ended) = match &mut self.open {
            None => return Ok(true),
            Some(Open::Text(text)) => (text.kind, text.resume(cursor, visit)?),
            Some(Open::Number(number)) => (Kind::Number, number.read(cursor, visit)?),
            Some(Open::Literal(literal)) => (literal.kind, literal.read(cursor)?),
        };
        if is_ended {
            self.open = None;
            visit.end(kind, cursor.offset());
        }
        Ok(is_ended)
    }
}

impl Default for Lexer {
    fn default() -> Self {
        Self::new()
    }
}

/// A token that has begun and not ended, and is no container.
#[derive(Clone, Copy, Debug)]
enum Open {
    Text(Text),
    Number(Number),
    Literal(Literal),
}

/// Objects and arrays in each other. Engines' own parsers give up near here or before.
pub const DEPTH_MAX: usize = 1024;

#[cfg(test)]
mod tests;
