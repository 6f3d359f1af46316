//! The kinds of checks.

use serde::Deserialize;

use super::{Measured, OverSeeds, Verdict};
use crate::scenario::ONLY_CASE;

/// A measure is within a band.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// Which case.
    #[serde(default = "only_case")]
    pub case: String,
    /// Which policy.
    pub policy: String,
    /// Which measure.
    pub measure: String,
    /// How the seeds are put together.
    pub over_seeds: OverSeeds,
    /// The lower end.
    #[serde(default)]
    pub from: Option<f64>,
    /// The upper end.
    #[serde(default)]
    pub to: Option<f64>,
}

/// A measure falls from policy to policy.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Falling {
    /// Which case.
    #[serde(default = "only_case")]
    pub case: String,
    /// The policies, the largest measure first.
    pub policies: Vec<String>,
    /// Which measure.
    pub measure: String,
    /// How the seeds are put together.
    pub over_seeds: OverSeeds,
}

/// A measure, divided by the same measure of another case or policy, is within a band.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Which case.
    #[serde(default = "only_case")]
    pub case: String,
    /// Which policy.
    pub policy: String,
    /// The other case; the same if left out.
    #[serde(default)]
    pub to_case: Option<String>,
    /// The other policy; the same if left out.
    #[serde(default)]
    pub to_policy: Option<String>,
    /// Which measure.
    pub measure: String,
    /// How the seeds are put together, before the division.
    pub over_seeds: OverSeeds,
    /// The lower end.
    #[serde(default)]
    pub from: Option<f64>,
    /// The upper end.
    #[serde(default)]
    pub to: Option<f64>,
}

/// A measure is lower under one policy than under another for a share of the seeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LowerInShare {
    /// Which case.
    #[serde(default = "only_case")]
    pub case: String,
    /// Which policy.
    pub policy: String,
    /// The other policy.
    pub than: String,
    /// Which measure.
    pub measure: String,
    /// The least share of seeds.
    pub from: f64,
}

impl Band {
    pub(super) fn subjects(&self) -> Vec<(&str, &str)> {
        vec![(&self.case, &self.policy)]
    }

    pub(super) fn judge(&self, measured: &impl Measured) -> Option<Verdict> {
        let seeds = measured.of(&self.case, &self.policy);
        let value = self.over_seeds.of(seeds, &self.measure)?;
        let (over, case) = (self.over_seeds.name(), within(&self.case));
        let what = format!("{over} {} of {}{case}", self.measure, self.policy);
        Some(Verdict::band(&what, value, self.from, self.to))
    }
}

impl Falling {
    pub(super) fn subjects(&self) -> Vec<(&str, &str)> {
        let policies = self.policies.iter();
        policies.map(|policy| (&*self.case, &**policy)).collect()
    }

    pub(super) fn judge(&self, measured: &impl Measured) -> Option<Verdict> {
        let of = |policy: &String| {
            let seeds = measured.of(&self.case, policy);
            self.over_seeds.of(seeds, &self.measure)
        };
        let values = self.policies.iter().map(of).collect::<Option<Vec<f64>>>()?;
        let found = self.policies.iter().zip(&values);
        let found: Vec<_> = found
            .map(|(policy, value)| format!("{policy} {value:.4}"))
            .collect();
        let (over, case) = (self.over_seeds.name(), within(&self.case));
        let policies = self.policies.join(" > ");
        Some(Verdict {
            demand: format!("{over} {}{case}: {policies}", self.measure),
            found: found.join(", "),
            holds: values.is_sorted_by(|a, b| a > b) && !values.iter().any(|v| v.is_nan()),
        })
    }
}

impl Ratio {
    pub(super) fn subjects(&self) -> Vec<(&str, &str)> {
        vec![(&self.case, &self.policy), self.other()]
    }

    pub(super) fn judge(&self, measured: &impl Measured) -> Option<Verdict> {
        let (other_case, other_policy) = self.other();
        let of = |case: &str, policy: &str| {
            let seeds = measured.of(case, policy);
            self.over_seeds.of(seeds, &self.measure)
        };
        let value = of(&self.case, &self.policy)? / of(other_case, other_policy)?;
        let over = self.over_seeds.name();
        let (case, to_case) = (within(&self.case), within(other_case));
        let (measure, policy) = (&self.measure, &self.policy);
        let what = format!("{over} {measure} of {policy}{case} / of {other_policy}{to_case}");
        Some(Verdict::band(&what, value, self.from, self.to))
    }

    fn other(&self) -> (&str, &str) {
        (
            self.to_case.as_ref().unwrap_or(&self.case),
            self.to_policy.as_ref().unwrap_or(&self.policy),
        )
    }
}

impl LowerInShare {
    pub(super) fn subjects(&self) -> Vec<(&str, &str)> {
        vec![(&self.case, &self.policy), (&self.case, &self.than)]
    }

    pub(super) fn judge(&self, measured: &impl Measured) -> Option<Verdict> {
        let ours = measured.of(&self.case, &self.policy);
        let theirs = measured.of(&self.case, &self.than);
        let value = |measures: &crate::measure::Measures| measures.get(&self.measure);
        let mut pairs = ours.iter().map(value).zip(theirs.iter().map(value));
        let seeds = pairs.len();
        let lower = pairs.try_fold(0_usize, |lower, pair| match pair {
            (Some(ours), Some(theirs)) if !ours.is_nan() && !theirs.is_nan() => {
                Some(lower + usize::from(ours < theirs))
            }
            _ => None,
        })?;
        if seeds == 0 {
            return None;
        }
        let case = within(&self.case);
        let (measure, policy, than) = (&self.measure, &self.policy, &self.than);
        let what = format!("share of seeds with {measure} of {policy} below {than}{case}");
        let share = lower as f64 / seeds as f64;
        Some(Verdict::band(&what, share, Some(self.from), None))
    }
}

impl Verdict {
    pub(super) fn band(what: &str, value: f64, from: Option<f64>, to: Option<f64>) -> Self {
        let band = match (from, to) {
            (Some(from), Some(to)) => format!("within {from} to {to}"),
            (Some(from), None) => format!("at least {from}"),
            (None, Some(to)) => format!("at most {to}"),
            (None, None) => "a number".to_owned(),
        };
        Self {
            demand: format!("{what} {band}"),
            found: format!("{value:.4}"),
            holds: !value.is_nan()
                && from.is_none_or(|from| value >= from)
                && to.is_none_or(|to| value <= to),
        }
    }
}

/// Nothing for the only case of a scenario, which needs no name.
fn within(case: &str) -> String {
    if case == ONLY_CASE {
        String::new()
    } else {
        format!(" in {case}")
    }
}

fn only_case() -> String {
    ONLY_CASE.to_owned()
}
