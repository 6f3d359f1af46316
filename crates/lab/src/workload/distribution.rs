//! Random lengths and times.

mod draw;

use core::fmt;

use rand::{Rng, RngExt as _};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use self::draw::{exponential, gamma, normal};
use super::number::{Amount, Positive, Range, Unevenness, VariationSquared};

/// A random amount: of tokens, of milliseconds, or of steps. A file has a number in its place, which
/// is always drawn, or one of the [`Shape`]s, such as `{uniform: [36, 260]}`.
///
/// Where a whole number is needed, what was drawn is rounded down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution(Shape);

/// The kinds of distributions.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Shape {
    /// Always the same.
    Constant(Amount),
    /// Evenly from the low end up to, but not including, the high end.
    Uniform(Range),
    /// Evenly from half of this mean to one and a half of it.
    Around(Positive),
    /// Exponential.
    Exponential {
        /// The mean.
        mean: Positive,
    },
    /// The exponential of a normal distribution.
    Lognormal {
        /// The mean of what is drawn, not of its logarithm.
        mean: Positive,
        /// The standard deviation of the logarithm.
        sigma: Unevenness,
    },
    /// Gamma.
    Gamma {
        /// The mean.
        mean: Positive,
        /// The coefficient of variation: standard deviation divided by mean.
        variation: Unevenness,
    },
    /// One of two exponential distributions, of which the rarer one has the larger mean and which
    /// contribute equally to the whole: more varied than the exponential distribution.
    TwoPhase {
        /// The mean.
        mean: Positive,
        /// The square of the coefficient of variation.
        variation_squared: VariationSquared,
    },
}

impl Distribution {
    /// The mean.
    pub const fn mean(&self) -> f64 {
        match self.0 {
            Shape::Constant(amount) => amount.value(),
            Shape::Uniform(range) => f64::midpoint(range.low(), range.high()),
            Shape::Around(mean)
            | Shape::Exponential { mean }
            | Shape::Lognormal { mean, .. }
            | Shape::Gamma { mean, .. }
            | Shape::TwoPhase { mean, .. } => mean.value(),
        }
    }

    /// Draws an amount.
    pub fn draw(&self, rng: &mut impl Rng) -> f64 {
        self.0.draw(rng)
    }

    /// Draws a whole number up to [`WHOLE_MAX`].
    pub fn draw_whole(&self, rng: &mut impl Rng) -> u32 {
        self.draw(rng).min(f64::from(WHOLE_MAX)) as u32
    }
}

impl Shape {
    /// Draws an amount.
    pub fn draw(self, rng: &mut impl Rng) -> f64 {
        match self {
            Self::Constant(amount) => amount.value(),
            Self::Uniform(range) => {
                let share: f64 = rng.random();
                range.low() + share * (range.high() - range.low())
            }
            Self::Around(mean) => {
                let share: f64 = rng.random();
                mean.value() * (0.5 + share)
            }
            Self::Exponential { mean } => mean.value() * exponential(rng),
            Self::Lognormal { mean, sigma } => {
                let sigma = sigma.value();
                mean.value() * (sigma * normal(rng) - sigma * sigma / 2.0).exp()
            }
            Self::Gamma { mean, variation } => {
                let squared = variation.value() * variation.value();
                if squared > 0.0 {
                    mean.value() * squared * gamma(1.0 / squared, rng)
                } else {
                    mean.value()
                }
            }
            Self::TwoPhase {
                mean,
                variation_squared,
            } => {
                let squared = variation_squared.value();
                let often = f64::midpoint(1.0, ((squared - 1.0) / (squared + 1.0)).sqrt());
                let phase: f64 = rng.random();
                let share = if phase < often { often } else { 1.0 - often };
                mean.value() / (2.0 * share) * exponential(rng)
            }
        }
    }
}

impl From<Shape> for Distribution {
    fn from(shape: Shape) -> Self {
        Self(shape)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(NumberOrShape)
    }
}

struct NumberOrShape;

impl<'de> Visitor<'de> for NumberOrShape {
    type Value = Distribution;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or a distribution such as `{uniform: [36, 260]}`")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Distribution, E> {
        let amount = Amount::try_from(value).map_err(E::custom)?;
        Ok(Distribution(Shape::Constant(amount)))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Distribution, E> {
        self.visit_f64(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Distribution, E> {
        self.visit_f64(value as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Distribution, A::Error> {
        Shape::deserialize(MapAccessDeserializer::new(map)).map(Distribution)
    }
}

/// The largest whole number that is drawn; larger ones become it. No prompt is as long, and sums of
/// a few hundred fit 32 bits.
pub const WHOLE_MAX: u32 = 10_000_000;

#[cfg(test)]
mod tests;
