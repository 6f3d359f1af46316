//! Small units with a meaning.

use core::ops::{Add, AddAssign};

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

/// A number of tokens. Estimates and counts reported by an engine share this unit.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Tokens(pub u64);

impl Tokens {
    /// No tokens.
    pub const ZERO: Self = Self(0);

    /// What remains after taking away `other`; never below zero.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// The estimate for a text of `bytes` bytes: one token per four bytes, as today's pickers count.
    pub const fn of_text_bytes(bytes: u64) -> Self {
        Self(bytes.div_ceil(BYTES_PER_TOKEN))
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A time in milliseconds, as clients and configurations write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Milliseconds(pub u32);

/// Bytes of text that count as one token where no tokenizer was asked.
pub const BYTES_PER_TOKEN: u64 = 4;

/// A share or score within `0..=1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize)]
pub struct Unit(f64);

impl Unit {
    /// The least score.
    pub const ZERO: Self = Self(0.0);
    /// The best score.
    pub const ONE: Self = Self(1.0);

    /// `value` moved into `0..=1`; NaN becomes 0.
    pub const fn clamped(value: f64) -> Self {
        if value.is_nan() {
            Self(0.0)
        } else {
            Self(value.clamp(0.0, 1.0))
        }
    }

    /// `part / whole` moved into `0..=1`; 0 when `whole` is 0.
    pub fn ratio(part: f64, whole: f64) -> Self {
        if whole > 0.0 {
            Self::clamped(part / whole)
        } else {
            Self::ZERO
        }
    }

    /// The number within `0..=1`.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for Unit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = f64::deserialize(from)?;
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value))
        } else {
            let expected = &"a number within 0..=1";
            Err(D::Error::invalid_value(Unexpected::Float(value), expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_cannot_leave_its_range() {
        assert_eq!(Unit::clamped(f64::NAN), Unit::ZERO);
        assert_eq!(Unit::clamped(f64::INFINITY), Unit::ONE);
        assert_eq!(Unit::clamped(-3.0), Unit::ZERO);
        assert_eq!(Unit::ratio(1.0, 0.0), Unit::ZERO);
        assert_eq!(Unit::ratio(1.0, 4.0), Unit::clamped(0.25));
    }

    #[test]
    fn a_text_of_any_length_counts_at_least_its_quarter() {
        assert_eq!(Tokens::of_text_bytes(0), Tokens(0));
        assert_eq!(Tokens::of_text_bytes(1), Tokens(1));
        assert_eq!(Tokens::of_text_bytes(8), Tokens(2));
    }
}
