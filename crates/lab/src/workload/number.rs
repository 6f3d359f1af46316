//! Numbers and lists of a specification that cannot be out of range.

use core::ops::RangeInclusive;

use serde::Deserialize;

/// A number above 0 and up to a thousand million.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Positive(f64);

/// A number from 0 to a thousand million.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Amount(f64);

/// Two amounts, `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "[Amount; 2]")]
pub struct Range {
    low: f64,
    high: f64,
}

/// How uneven something is, from 0 (even) to 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Unevenness(f64);

/// A squared coefficient of variation from 1 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub struct VariationSquared(f64);

/// How many there are, from 1 to ten million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u64")]
pub struct Count(u32);

/// A list with at least one entry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct NonEmpty<T> {
    first: T,
    others: Vec<T>,
}

impl Positive {
    pub(crate) const ONE: Self = Self(1.0);

    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Amount {
    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Range {
    /// The lower end.
    pub const fn low(self) -> f64 {
        self.low
    }

    /// The upper end, which is not below the lower one.
    pub const fn high(self) -> f64 {
        self.high
    }
}

impl Unevenness {
    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl VariationSquared {
    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Count {
    pub(crate) const ONE: Self = Self(1);
    pub(crate) const MAX: Self = Self(COUNT_MAX);

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl<T> NonEmpty<T> {
    /// All entries.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        core::iter::once(&self.first).chain(&self.others)
    }

    /// The first and the others.
    pub fn split_first(&self) -> (&T, &[T]) {
        (&self.first, &self.others)
    }
}

impl TryFrom<f64> for Positive {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        if value > 0.0 && value <= AMOUNT_MAX {
            Ok(Self(value))
        } else {
            Err(format!(
                "expected a number above 0 and up to {AMOUNT_MAX}, got {value}"
            ))
        }
    }
}

impl TryFrom<f64> for Amount {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        within(value, 0.0..=AMOUNT_MAX).map(Self)
    }
}

impl TryFrom<[Amount; 2]> for Range {
    type Error = String;

    fn try_from([low, high]: [Amount; 2]) -> Result<Self, String> {
        let (low, high) = (low.value(), high.value());
        if low <= high {
            Ok(Self { low, high })
        } else {
            Err(format!(
                "expected [low, high], got {low}, which is above {high}"
            ))
        }
    }
}

impl TryFrom<f64> for Unevenness {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        within(value, 0.0..=10.0).map(Self)
    }
}

impl TryFrom<f64> for VariationSquared {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        within(value, 1.0..=1000.0).map(Self)
    }
}

impl TryFrom<u64> for Count {
    type Error = String;

    fn try_from(value: u64) -> Result<Self, String> {
        u32::try_from(value)
            .ok()
            .filter(|count| (1..=COUNT_MAX).contains(count))
            .map(Self)
            .ok_or_else(|| format!("expected a whole number from 1 to {COUNT_MAX}, got {value}"))
    }
}

impl<T> TryFrom<Vec<T>> for NonEmpty<T> {
    type Error = &'static str;

    fn try_from(entries: Vec<T>) -> Result<Self, Self::Error> {
        let mut entries = entries.into_iter();
        let first = entries.next().ok_or("expected at least one entry")?;
        Ok(Self {
            first,
            others: entries.collect(),
        })
    }
}

fn within(value: f64, range: RangeInclusive<f64>) -> Result<f64, String> {
    if range.contains(&value) {
        Ok(value)
    } else {
        let (low, high) = range.into_inner();
        Err(format!(
            "expected a number from {low} to {high}, got {value}"
        ))
    }
}

/// Milliseconds and tokens in these amounts can be added up by the million in 64 bits.
const AMOUNT_MAX: f64 = 1e9;

/// Ten million requests are hours of simulation, and a gigabyte of plans.
const COUNT_MAX: u32 = 10_000_000;

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json};

    use super::*;

    fn refusal<T: DeserializeOwned>(value: Value) -> String {
        serde_json::from_value::<T>(value)
            .err()
            .unwrap()
            .to_string()
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        assert!(refusal::<Positive>(json!(0)).contains("above 0"));
        assert!(refusal::<Amount>(json!(-1)).contains("from 0 to"));
        assert!(refusal::<Unevenness>(json!(10.5)).contains("from 0 to 10"));
        assert!(refusal::<VariationSquared>(json!(0.9)).contains("from 1 to 1000"));
        assert!(refusal::<Count>(json!(0)).contains("from 1 to 10000000"));
        assert!(refusal::<Count>(json!(10_000_001)).contains("from 1 to 10000000"));
        assert!(refusal::<Range>(json!([3, 2])).contains("[low, high]"));
        assert!(Amount::try_from(f64::NAN).is_err());
        assert!(Positive::try_from(f64::INFINITY).is_err());
    }

    #[test]
    fn the_ends_of_the_ranges_are_accepted() {
        assert_eq!(Count::try_from(10_000_000), Ok(Count::MAX));
        assert_eq!(Amount::try_from(0.0), Ok(Amount(0.0)));
        assert!(Positive::try_from(1e9).is_ok());
        let range: Range = serde_json::from_value(json!([2, 2])).unwrap();
        assert_eq!((range.low(), range.high()), (2.0, 2.0));
    }

    #[test]
    fn a_list_without_entries_is_refused() {
        assert!(refusal::<NonEmpty<u8>>(json!([])).contains("at least one"));
        let list: NonEmpty<u8> = serde_json::from_value(json!([1, 2])).unwrap();
        assert_eq!(list.iter().copied().collect::<Vec<_>>(), [1, 2]);
    }
}
