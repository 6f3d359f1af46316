//! The distributions that others are made of.

use core::f64::consts::TAU;

use rand::{Rng, RngExt as _};

/// Exponential, with mean 1.
pub(super) fn exponential(rng: &mut impl Rng) -> f64 {
    -above_zero(rng).ln()
}

/// Normal, with mean 0 and standard deviation 1 (Box and Muller, 1958).
pub(super) fn normal(rng: &mut impl Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    let turn: f64 = rng.random();
    radius * (TAU * turn).cos()
}

/// Gamma, with mean and variance `shape`, which is above 0 (Marsaglia and Tsang, 2000).
pub(super) fn gamma(shape: f64, rng: &mut impl Rng) -> f64 {
    if shape < 1.0 {
        let boost = above_zero(rng).powf(1.0 / shape);
        return boost * gamma(shape + 1.0, rng);
    }
    let base = shape - 1.0 / 3.0;
    let scale = 1.0 / (9.0 * base).sqrt();
    loop {
        let normal = normal(rng);
        let cubed = (1.0 + scale * normal).powi(3);
        // More than 95 % of the draws are accepted.
        if cubed > 0.0
            && above_zero(rng).ln() < normal * normal / 2.0 + base * (1.0 - cubed + cubed.ln())
        {
            return base * cubed;
        }
    }
}

/// Evenly from 0 to 1 without 0, whose logarithm is not a number.
fn above_zero(rng: &mut impl Rng) -> f64 {
    let below_one: f64 = rng.random();
    1.0 - below_one
}
