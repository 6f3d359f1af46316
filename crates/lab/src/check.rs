//! What must hold of a scenario's measures, and whether it does.

pub mod kinds;

use serde::Deserialize;

use self::kinds::{Band, Falling, LowerInShare, Ratio};
use crate::measure::{Measures, quantile};

/// One statement about measures over all seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// A measure is within a band.
    Band(Band),
    /// A measure falls from policy to policy.
    Falling(Falling),
    /// A measure, divided by the same measure of another case or policy, is within a band.
    Ratio(Ratio),
    /// A measure is lower under one policy than under another for a share of the seeds.
    LowerInShare(LowerInShare),
}

/// How the measures of all seeds become one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverSeeds {
    /// The arithmetic mean.
    Mean,
    /// The median.
    Median,
    /// The smallest.
    Least,
    /// The largest.
    Most,
}

/// How a check came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What was demanded, for people.
    pub demand: String,
    /// What was found, for people.
    pub found: String,
    /// Whether it holds.
    pub holds: bool,
}

/// The measures of all seeds of a case and a policy, in the order of the seeds.
pub trait Measured {
    /// Empty if that was not run.
    fn of(&self, case: &str, policy: &str) -> &[Measures];
}

impl Check {
    /// The pairs of case and policy that it looks at.
    pub fn subjects(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Band(check) => check.subjects(),
            Self::Falling(check) => check.subjects(),
            Self::Ratio(check) => check.subjects(),
            Self::LowerInShare(check) => check.subjects(),
        }
    }

    /// Says why it would hold or fail whatever comes out.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Band(Band { from, to, .. }) | Self::Ratio(Ratio { from, to, .. })
                if from.is_none() && to.is_none() =>
            {
                Err("a band needs `from` or `to`".to_owned())
            }
            Self::Falling(Falling { policies, .. }) if policies.len() < 2 => {
                Err("an order needs two policies".to_owned())
            }
            Self::Ratio(_) | Self::LowerInShare(_) => match self.subjects().as_slice() {
                [one, other] if one == other => Err("it compares a run with itself".to_owned()),
                _ => Ok(()),
            },
            Self::Band(_) | Self::Falling(_) => Ok(()),
        }
    }

    /// Whether it holds. `None` if not all that it looks at was run and measured.
    pub fn judge(&self, measured: &impl Measured) -> Option<Verdict> {
        match self {
            Self::Band(check) => check.judge(measured),
            Self::Falling(check) => check.judge(measured),
            Self::Ratio(check) => check.judge(measured),
            Self::LowerInShare(check) => check.judge(measured),
        }
    }
}

impl OverSeeds {
    /// One number of all seeds, not a number if that of one is not. `None` without seeds or if one
    /// lacks the measure.
    pub fn of(self, seeds: &[Measures], measure: &str) -> Option<f64> {
        let mut values = seeds
            .iter()
            .map(|measures| measures.get(measure))
            .collect::<Option<Vec<f64>>>()?;
        if values.iter().any(|value| value.is_nan()) {
            return Some(f64::NAN);
        }
        values.sort_by(f64::total_cmp);
        match self {
            Self::Mean if values.is_empty() => None,
            Self::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Self::Median => quantile(&values, 0.5),
            Self::Least => values.first().copied(),
            Self::Most => values.last().copied(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Least => "least",
            Self::Most => "most",
        }
    }
}

#[cfg(test)]
mod tests;
