//! Faults that the stand-in plays on demand.

use core::fmt;
use core::str::FromStr;

use http::StatusCode;

/// One fault. It is written as `KIND` or `KIND:VALUE`, on the command line and in `POST /fault`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// `refuse`: every connection is closed on its first request, without an answer.
    Refuse,
    /// `stall`: requests are read and never answered.
    Stall,
    /// `error:STATUS`: every request is answered with this status.
    Error(StatusCode),
    /// `slow:FACTOR`: the engine takes this many times as long.
    Slow(f64),
    /// `cut:TOKENS`: a stream breaks off after this many tokens.
    Cut(u32),
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, value) = match text.split_once(':') {
            Some((kind, value)) => (kind, Some(value)),
            None => (text, None),
        };
        let fault = match (kind, value) {
            ("refuse", None) => Some(Self::Refuse),
            ("stall", None) => Some(Self::Stall),
            ("error", Some(value)) => value
                .parse()
                .ok()
                .filter(|status: &StatusCode| status.as_u16() >= 400)
                .map(Self::Error),
            ("slow", Some(value)) => value
                .parse()
                .ok()
                .filter(|factor: &f64| factor.is_finite() && *factor > 0.0)
                .map(Self::Slow),
            ("cut", Some(value)) => value.parse().ok().map(Self::Cut),
            _ => None,
        };
        fault.ok_or_else(|| {
            format!(
                "`{text}` is none of refuse, stall, error:STATUS (400 to 999), slow:FACTOR (above \
                 0), cut:TOKENS"
            )
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refuse => f.write_str("refuse"),
            Self::Stall => f.write_str("stall"),
            Self::Error(status) => write!(f, "error:{}", status.as_u16()),
            Self::Slow(factor) => write!(f, "slow:{factor}"),
            Self::Cut(tokens) => write!(f, "cut:{tokens}"),
        }
    }
}

/// The faults that are in force; of two of one kind the later one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults(pub(crate) Vec<Fault>);

impl Faults {
    /// What a request is to be met with in place of an answer, if anything.
    pub(crate) fn instead_of_answer(&self) -> Option<Fault> {
        let is_instead = |fault: &&Fault| !matches!(fault, Fault::Slow(_) | Fault::Cut(_));
        self.0.iter().rev().find(is_instead).copied()
    }

    /// How many times as long the engine takes.
    pub(crate) fn slowdown(&self) -> f64 {
        let slow = |fault: &Fault| match fault {
            Fault::Slow(factor) => Some(*factor),
            _ => None,
        };
        self.0.iter().rev().find_map(slow).unwrap_or(1.0)
    }

    /// After how many tokens a stream breaks off.
    pub(crate) fn cut_after(&self) -> Option<u32> {
        self.0.iter().rev().find_map(|fault| match fault {
            Fault::Cut(tokens) => Some(*tokens),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_reads_back_as_it_is_written() {
        for text in ["refuse", "stall", "error:503", "slow:2.5", "cut:0"] {
            let fault: Fault = text.parse().unwrap();
            assert_eq!(fault.to_string(), text);
        }
    }

    #[test]
    fn a_fault_with_a_wrong_value_is_refused_by_name() {
        for text in [
            "",
            "drop",
            "refuse:1",
            "error",
            "error:200",
            "error:x",
            "slow:0",
            "slow:NaN",
            "cut:-1",
            "cut",
        ] {
            let problem = text.parse::<Fault>().unwrap_err();
            assert!(problem.contains(&format!("`{text}`")), "{problem}");
        }
    }

    #[test]
    fn the_later_fault_of_a_kind_counts() {
        let faults = Faults(vec![Fault::Slow(2.0), Fault::Cut(1), Fault::Slow(3.0)]);
        assert_eq!(faults.slowdown().to_string(), "3");
        assert_eq!(faults.cut_after(), Some(1));
        assert_eq!(faults.instead_of_answer(), None);
    }
}
