//! The table of a case: its measures under each policy.

use super::estimate::Estimate;
use crate::table;

/// What one policy measured in one case.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) policy: String,
    pub(super) cells: Vec<Cell>,
}

/// One measure over all seeds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// `None` if not every seed has it.
    pub(super) value: Option<Estimate>,
    /// Its difference to the first policy's, seed by seed.
    pub(super) difference: Option<Estimate>,
}

/// The rows under the names of the measures.
pub(super) fn measures(names: &[String], rows: &[Row]) -> String {
    let names: Vec<String> = names.iter().map(|name| table::broken(name)).collect();
    let mut header = vec!["policy"];
    header.extend(names.iter().map(String::as_str));
    let rows = rows.iter().map(|row| row.texts(names.len()));
    table::figures(&header, rows.collect())
}

impl Row {
    fn texts(&self, measures: usize) -> Vec<String> {
        let has_difference = self.cells.iter().any(|cell| cell.difference.is_some());
        let name = if has_difference {
            format!("{}\n  difference", self.policy)
        } else {
            self.policy.clone()
        };
        let cells = (0..measures).map(|index| {
            let cell = self.cells.get(index).copied().unwrap_or_default();
            if has_difference {
                format!("{}\n{}", cell.value(), cell.difference())
            } else {
                cell.value()
            }
        });
        core::iter::once(name).chain(cells).collect()
    }
}

impl Cell {
    fn value(&self) -> String {
        let Some(Estimate { mean, margin }) = self.value else {
            return NOTHING.to_owned();
        };
        let digits = decimals(mean, margin);
        match margin {
            Some(margin) => format!("{mean:.digits$}±{margin:.digits$}"),
            None => format!("{mean:.digits$}"),
        }
    }

    /// With the digits of the larger of the two numbers.
    fn difference(&self) -> String {
        let (Some(value), Some(difference)) = (self.value, self.difference) else {
            return NOTHING.to_owned();
        };
        let larger = value.mean.abs().max(difference.mean.abs());
        let digits = decimals(larger, difference.margin);
        let margin = difference.margin.unwrap_or(0.0);
        format!("{:+.digits$}±{margin:.digits$}", difference.mean)
    }
}

/// Those of the mean; a whole mean with a margin has some too.
fn decimals(mean: f64, margin: Option<f64>) -> usize {
    match margin {
        Some(margin) if margin >= f64::EPSILON => table::decimals_of_fraction(mean),
        _ => table::decimals(mean),
    }
}

const NOTHING: &str = "–";

#[cfg(test)]
mod tests;
