//! Numbers, as they are written.

use super::cursor::Cursor;
use super::{Cause, Fault, Visit};

/// How far a number is read: what came last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// Nothing yet.
    Beginning,
    /// The sign.
    Minus,
    /// A zero, which no further digit may follow.
    Zero,
    /// A digit before the point.
    Integer,
    /// The point.
    Point,
    /// A digit behind the point.
    Fraction,
    /// The letter.
    Exponent,
    /// The sign behind the letter.
    ExponentSign,
    /// A digit of the exponent.
    ExponentDigit,
}

impl Number {
    /// Reads a number from its first byte on, if it is short, without exponent, and lies in the piece
    /// with the byte behind it, as most do. Else nothing happens.
    #[inline]
    pub(super) fn read_short(cursor: &mut Cursor<'_>, visit: &mut impl Visit) -> bool {
        let rest = cursor.rest();
        let Some(length) = integer_length(rest).or_else(|| decimal_length(rest)) else {
            return false;
        };
        visit.part(rest.get(..length).unwrap_or_default());
        cursor.advance(length);
        true
    }

    /// Reads on. Whether the number ended, before the byte that is next; if not, the piece did.
    #[inline]
    pub(super) fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        visit: &mut impl Visit,
    ) -> Result<bool, Fault> {
        let rest = cursor.rest();
        let mut length = 0;
        let mut stage = *self;
        let mut byte = rest.get(length).copied();
        while let Some(next) = byte.and_then(|byte| stage.after(byte)) {
            stage = next;
            length += 1;
            byte = rest.get(length).copied();
            if stage.repeats() {
                length += rest.get(length..).map_or(0, digits);
                byte = rest.get(length).copied();
            }
        }
        *self = stage;
        if let Some(part) = rest.get(..length).filter(|part| !part.is_empty()) {
            visit.part(part);
        }
        cursor.advance(length);
        match byte {
            None => Ok(false),
            Some(_) if stage.may_end() => Ok(true),
            Some(_) => Err(Fault {
                cause: Cause::Unexpected,
                at: cursor.offset(),
            }),
        }
    }

    /// Whether what is read is a number.
    pub(super) const fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Integer | Self::Fraction | Self::ExponentDigit
        )
    }

    const fn repeats(self) -> bool {
        matches!(self, Self::Integer | Self::Fraction | Self::ExponentDigit)
    }

    /// The stage that this byte leads to, if it belongs to the number.
    #[inline]
    const fn after(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Beginning, b'-') => Some(Self::Minus),
            (Self::Beginning | Self::Minus, b'0') => Some(Self::Zero),
            (Self::Beginning | Self::Minus | Self::Integer, b'0'..=b'9') => Some(Self::Integer),
            (Self::Zero | Self::Integer, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Integer | Self::Fraction, b'e' | b'E') => Some(Self::Exponent),
            (Self::Exponent, b'+' | b'-') => Some(Self::ExponentSign),
            (Self::Exponent | Self::ExponentSign | Self::ExponentDigit, b'0'..=b'9') => {
                Some(Self::ExponentDigit)
            }
            _ => None,
        }
    }
}

/// Bytes of the number that the text begins with, if it is a short integer without sign and ends there.
#[inline]
fn integer_length(text: &[u8]) -> Option<usize> {
    let length = short_digits(text)?;
    let behind = text.get(length)?;
    let is_led_by_zero = length > 1 && text.first() == Some(&b'0');
    (!is_led_by_zero && !matches!(behind, b'.' | b'e' | b'E')).then_some(length)
}

/// Bytes of the number that the text begins with, if it is a short one without exponent and ends there.
#[inline(never)]
fn decimal_length(text: &[u8]) -> Option<usize> {
    let unsigned = text.strip_prefix(b"-").unwrap_or(text);
    let integer = short_digits(unsigned)?;
    let is_led_by_zero = integer > 1 && unsigned.first() == Some(&b'0');
    let length = match unsigned.get(integer)? {
        b'.' => integer + 1 + digits(unsigned.get(integer + 1..)?),
        _ => integer,
    };
    let behind = unsigned.get(length)?;
    let is_fraction_empty = length == integer + 1;
    let is_whole = !is_led_by_zero && !is_fraction_empty && !matches!(behind, b'e' | b'E');
    is_whole.then_some(text.len() - unsigned.len() + length)
}

/// Digits at the beginning of a text, if there are any, and so few that one look finds their end.
#[inline]
fn short_digits(text: &[u8]) -> Option<usize> {
    let word = text.first_chunk::<8>()?;
    let digits = leading_digits(u64::from_le_bytes(*word));
    matches!(digits, 1..8).then_some(digits)
}

/// Digits at the beginning of a text.
#[inline]
fn digits(text: &[u8]) -> usize {
    let (words, tail) = text.as_chunks::<8>();
    let mut length = 0;
    for word in words {
        let found = leading_digits(u64::from_le_bytes(*word));
        length += found;
        if found < 8 {
            return length;
        }
    }
    length + tail.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Bytes of a word, the lowest first, before the first one that is no digit; 8 if all are.
#[inline]
const fn leading_digits(word: u64) -> usize {
    // Digits become their values, and the sum reaches the high bit from ten on. Without the high bits no
    // sum carries into the next byte.
    let values = word ^ ZEROS;
    let marks = (((values & !HIGHS) + TENS_TO_HIGH) | values) & HIGHS;
    marks.trailing_zeros() as usize / 8
}

const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
const TENS_TO_HIGH: u64 = u64::from_ne_bytes([0x80 - 10; 8]);
