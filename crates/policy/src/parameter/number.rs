//! Parameters that are numbers.

use serde_json::Value;

use super::{Kind, outside};
use crate::fields::{Readable, kind};

/// A number.
pub(crate) struct Number {
    pub(crate) default: f64,
    pub(crate) range: NumberRange,
}

/// The range of a [`Number`].
#[derive(Clone, Copy)]
pub(crate) enum NumberRange {
    /// Above this, and finite.
    Above(f64),
    /// From the first to the second, both included.
    Within(f64, f64),
}

impl Kind for Number {
    type Value = f64;

    fn absent(&self) -> f64 {
        self.default
    }

    fn read(&self, value: &Value) -> Result<f64, String> {
        let number = f64::read(value)?;
        let inside = match self.range {
            NumberRange::Above(least) => number > least,
            NumberRange::Within(least, most) => (least..=most).contains(&number),
        };
        if inside {
            Ok(number)
        } else {
            Err(outside(&number, &self.range_text()))
        }
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn range_text(&self) -> String {
        match self.range {
            NumberRange::Above(least) => format!("above {least}"),
            NumberRange::Within(least, most) => format!("{least} to {most}"),
        }
    }
}

/// A whole number.
pub(crate) struct Count {
    pub(crate) default: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Kind for Count {
    type Value = u64;

    fn absent(&self) -> u64 {
        self.default
    }

    fn read(&self, value: &Value) -> Result<u64, String> {
        count(value, self.least, self.most)
    }

    fn default_text(&self) -> String {
        self.default.to_string()
    }

    fn range_text(&self) -> String {
        counts(self.least, self.most)
    }
}

/// A whole number whose default depends on something else.
pub(crate) struct OptionalCount {
    /// The default, in words.
    pub(crate) default: &'static str,
    pub(crate) least: u64,
    pub(crate) most: u64,
}

impl Kind for OptionalCount {
    type Value = Option<u64>;

    fn absent(&self) -> Option<u64> {
        None
    }

    fn read(&self, value: &Value) -> Result<Option<u64>, String> {
        count(value, self.least, self.most).map(Some)
    }

    fn default_text(&self) -> String {
        self.default.to_owned()
    }

    fn range_text(&self) -> String {
        counts(self.least, self.most)
    }
}

fn count(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    let whole = || format!("must be a whole number, not {}", kind(value));
    let Some(number) = value.as_u64() else {
        return Err(value
            .as_i64()
            .map_or_else(whole, |low| outside(&low, &counts(least, most))));
    };
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(outside(&number, &counts(least, most)))
    }
}

fn counts(least: u64, most: u64) -> String {
    if most == u64::MAX {
        format!("{least} or more")
    } else {
        format!("{least} to {most}")
    }
}
