//! What has changed between two sets of counts, and whether that passes.

use std::collections::BTreeSet;
use std::fmt;

use super::values::Values;

/// The stored counts beside the present ones.
#[derive(Debug)]
pub(super) struct Comparison<'a>(Vec<Row<'a>>);

#[derive(Debug)]
struct Row<'a> {
    name: &'a str,
    change: Change,
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Both { stored: u64, now: u64 },
    NotStored { now: u64 },
    NotCounted { stored: u64 },
}

impl<'a> Comparison<'a> {
    pub(super) fn of(stored: &'a Values, now: &'a Values) -> Self {
        let names: BTreeSet<&str> = [stored, now]
            .into_iter()
            .flat_map(|values| values.0.keys().map(String::as_str))
            .collect();
        let row = |name| {
            let change = match (stored.0.get(name).copied(), now.0.get(name).copied()) {
                (Some(stored), Some(now)) => Change::Both { stored, now },
                (Some(stored), None) => Change::NotCounted { stored },
                (None, now) => Change::NotStored {
                    now: now.unwrap_or_default(),
                },
            };
            Row { name, change }
        };
        Self(names.into_iter().map(row).collect())
    }

    /// Why the counts do not pass; nothing if they do.
    pub(super) fn faults(&self) -> Vec<String> {
        self.0.iter().filter_map(Row::fault).collect()
    }

    /// What passes and should be stored nevertheless.
    pub(super) fn hints(&self) -> Vec<String> {
        self.0.iter().filter_map(Row::hint).collect()
    }
}

impl Row<'_> {
    fn fault(&self) -> Option<String> {
        let name = self.name;
        match self.change {
            Change::Both { stored, now } if exceeds(now, stored) => Some(format!(
                "{name} takes {now} instructions, which is {} and so more than {LIMIT_PERCENT} % \
                 above the stored {stored}",
                Percent { stored, now }
            )),
            Change::Both { .. } => None,
            Change::NotStored { .. } => Some(format!("{name} has no stored count")),
            Change::NotCounted { .. } => Some(format!("{name} is stored and was not counted")),
        }
    }

    fn hint(&self) -> Option<String> {
        match self.change {
            Change::Both { stored, now } if falls_below(now, stored) => Some(format!(
                "{} takes {now} instructions, which is {}, and could rise again unseen",
                self.name,
                Percent { stored, now }
            )),
            _ => None,
        }
    }
}

/// Whether `now` is more than the limit above `stored`.
fn exceeds(now: u64, stored: u64) -> bool {
    u128::from(now) * 100 > u128::from(stored) * (100 + LIMIT_PERCENT)
}

/// Whether `now` is more than the limit below `stored`.
fn falls_below(now: u64, stored: u64) -> bool {
    u128::from(now) * 100 < u128::from(stored) * (100 - LIMIT_PERCENT)
}

struct Percent {
    stored: u64,
    now: u64,
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let risen_by = self.now as f64 - self.stored as f64;
        write!(f, "{:+.2} %", risen_by / self.stored.max(1) as f64 * 100.0)
    }
}

/// The table of all counts.
impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, stored: &str, now: &str, change: &str| {
            writeln!(f, "{name:<30} {stored:>12} {now:>12} {change:>12}")
        };
        line("instructions of", "stored", "now", "change")?;
        for Row { name, change } in &self.0 {
            match *change {
                Change::Both { stored, now } => line(
                    name,
                    &stored.to_string(),
                    &now.to_string(),
                    &Percent { stored, now }.to_string(),
                ),
                Change::NotStored { now } => line(name, "none", &now.to_string(), ""),
                Change::NotCounted { stored } => line(name, &stored.to_string(), "none", ""),
            }?;
        }
        Ok(())
    }
}

/// How far a count may be from the stored one.
const LIMIT_PERCENT: u128 = 5;

#[cfg(test)]
mod tests;
