//! Date and time of day, as in `2023-11-16 18:17:03.9799600` or `2024-05-10 00:00:00.009930+00:00`.

use core::str::FromStr;

/// Nanoseconds since 1970. `None` if the text is not a time, or one before 1970 or after 2200.
pub(super) fn nanos(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once([' ', 'T'])?;
    let zone_begin = rest.find(['+', '-', 'Z']).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(zone_begin);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let [hour, minute, second] = numbers(clock, ':')?;
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(numbers(date, '-')?)? * 86_400 + hour * 3600 + minute * 60 + second;
    let since_1970 = u64::try_from(seconds - offset_seconds(zone)?).ok()?;
    Some(since_1970 * 1_000_000_000 + fraction_nanos(fraction)?)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that the
/// leap day comes last (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn days([year, month, day]: [i64; 3]) -> Option<i64> {
    if !(1970..=2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month > 2 { year } else { year - 1 };
    let months_since_march = (month + 9) % 12;
    let day_of_year = (153 * months_since_march + 2) / 5 + day - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    Some(year * 365 + leap_days + day_of_year - DAYS_BEFORE_1970)
}

/// What a time zone's clocks are ahead of UTC.
fn offset_seconds(zone: &str) -> Option<i64> {
    let (sign, clock) = match zone.split_at_checked(1) {
        None | Some(("Z", "")) => return Some(0),
        Some(("+", clock)) => (1, clock),
        Some(("-", clock)) => (-1, clock),
        Some(_) => return None,
    };
    let [hours, minutes] = numbers(clock, ':')?;
    (hours <= 24 && minutes <= 59).then_some(sign * (hours * 3600 + minutes * 60))
}

fn fraction_nanos(digits: &str) -> Option<u64> {
    let missing = 9_usize.checked_sub(digits.len())?;
    let value: u64 = digit_value(digits)?;
    Some(value * 10_u64.pow(u32::try_from(missing).ok()?))
}

/// Exactly `N` numbers with `separator` between them.
fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for number in &mut numbers {
        *number = parts
            .next()
            .filter(|part| part.len() <= 4)
            .and_then(digit_value)?;
    }
    parts.next().is_none().then_some(numbers)
}

/// Unlike the standard library's, this takes no sign.
fn digit_value<T: FromStr>(digits: &str) -> Option<T> {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())
        .flatten()
}

/// From the 1st of March of the year 0, where the count begins.
const DAYS_BEFORE_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_nanoseconds_since_1970() {
        for (text, seconds, nanos_part) in [
            ("1970-01-01 00:00:00", 0, 0),
            ("2000-02-29 12:00:00.5", 951_825_600, 500_000_000),
            ("2023-11-16 18:17:03.9799600", 1_700_158_623, 979_960_000),
            ("2024-05-10 00:00:00.009930+00:00", 1_715_299_200, 9_930_000),
            ("2024-12-31T23:59:59.123456789Z", 1_735_689_599, 123_456_789),
            ("2024-05-10 02:00:00+02:00", 1_715_299_200, 0),
            ("2024-05-09 19:30:00-04:30", 1_715_299_200, 0),
        ] {
            assert_eq!(
                nanos(text),
                Some(seconds * 1_000_000_000 + nanos_part),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_not_a_time() {
        for text in [
            "",
            "1700158623",
            "2023-11-16",
            "2023-11-16 18:17",
            "2023-13-16 18:17:03",
            "2023-11-16 24:17:03",
            "2023-11-16 18:17:03.",
            "2023-11-16 18:17:03.1234567890",
            "2023-11-16 18:17:03.-12",
            "2023-11-16 18:17:03+0",
            "2023-11-16 18:+7:03",
            "12023-11-16 18:17:03",
            "1969-12-31 23:59:59",
            "2023-11-16 18:17:03é",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
