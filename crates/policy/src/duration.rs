//! Durations in Go's form: `1m30s`, `200ms`, `1.5h`, `0`.

use core::time::Duration;

use crate::problem::quoted;

/// Reads a duration.
pub fn parse(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    nanos(text).map(Duration::from_nanos).ok_or_else(|| {
        format!(
            "{} is not a duration: write it like `200ms`, `5s` or `1m30s`",
            quoted(text)
        )
    })
}

/// The text that [`parse`] reads as `duration`, in its largest whole unit.
pub(crate) fn text(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    UNITS
        .iter()
        .rev()
        .find(|(_, unit)| nanos > 0 && nanos.is_multiple_of(u128::from(*unit)))
        .map_or_else(
            || "0s".to_owned(),
            |(name, unit)| format!("{}{name}", nanos / u128::from(*unit)),
        )
}

/// The sum of all parts, within what Go's signed 64 bits can hold.
fn nanos(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(after.len());
        let (name, next) = after.split_at(unit_end);
        let &(_, unit) = UNITS.iter().find(|(known, _)| *known == name)?;
        total = total.checked_add(part(number, unit)?)?;
        rest = next;
    }
    (!text.is_empty() && total <= i64::MAX.unsigned_abs()).then_some(total)
}

/// `number` units; what is less than a nanosecond is dropped.
fn part(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let mut nanos = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?.checked_mul(unit)?
    };
    let mut place = unit;
    for digit in fraction.chars() {
        place /= 10;
        nanos = nanos.checked_add(u64::from(digit.to_digit(10)?) * place)?;
    }
    Some(nanos)
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("1ns", 1),
            ("3us", 3_000),
            ("3\u{b5}s", 3_000),
            ("200ms", 200_000_000),
            ("5s", 5_000_000_000),
            ("1m30s", 90_000_000_000),
            ("1.5h", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("0.0000000001s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_told_with_an_example() {
        for text in [
            "", "5", "s", "-1s", "+1s", "5 s", "5sec", "1h-", "..s", "1.2.3s", ".s", "3000000h",
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains("write it like"), "{text}: {message}");
        }
    }

    #[test]
    fn a_duration_is_written_in_its_largest_whole_unit() {
        for written in ["0s", "1ns", "3us", "200ms", "90s", "1m", "1h"] {
            assert_eq!(
                text(parse(written).unwrap()).replace('\u{3bc}', "u"),
                written
            );
        }
    }
}
