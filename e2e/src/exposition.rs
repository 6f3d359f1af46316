//! Reads values out of a metrics page.

use core::time::Duration;

use anyhow::{Result, ensure};
use pointsman_cli::harness::stack::Stack;

use crate::wait;

/// The sum of the samples of `name` that have all these labels. Where there is none it is 0, as a
/// family with labels has no sample before its first event.
pub fn sum(page: &str, name: &str, labels: &[(&str, &str)]) -> f64 {
    page.lines()
        .filter_map(|line| sample(line, name, labels))
        // Not `sum`, whose empty value is a negative zero, which looks odd in messages.
        .fold(0.0, |sum, value| sum + value)
}

/// Checks that the sum is `expected`, for waits.
pub fn expect(page: &str, name: &str, labels: &[(&str, &str)], expected: f64) -> Result<()> {
    let found = sum(page, name, labels);
    ensure!(
        (found - expected).abs() < f64::EPSILON,
        "{name}{labels:?} is {found} and should be {expected}"
    );
    Ok(())
}

/// Waits until exactly `requests` have ended for this cause since the picker started, and none is in
/// flight or holds any bytes.
pub async fn expect_ends(stack: &Stack, cause: &str, requests: f64) -> Result<()> {
    wait::until("every request has ended", END_MAX, async || {
        let page = stack.picker.metrics().await?;
        let completed = "pointsman_requests_completed_total";
        expect(&page, completed, &[("cause", cause)], requests)?;
        expect(&page, "pointsman_requests_in_flight", &[], 0.0)?;
        expect(&page, "pointsman_held_body_bytes", &[], 0.0)
    })
    .await
}

fn sample(line: &str, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let rest = line.strip_prefix(name)?;
    let (own, value) = match rest.strip_prefix('{') {
        Some(rest) => rest.split_once('}')?,
        None => ("", rest.strip_prefix(' ')?),
    };
    let has = |(label, value): &(&str, &str)| own.contains(&format!("{label}=\"{value}\""));
    if labels.iter().all(has) {
        value.trim().parse().ok()
    } else {
        None
    }
}

/// Requests end at once; this is for a machine that is busy with other things.
const END_MAX: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# TYPE picks counter\n\
        picks{endpoint=\"a\",pool=\"x\"} 3\n\
        picks{endpoint=\"b\",pool=\"x\"} 4\n\
        picks_total 9\n";

    #[test]
    fn samples_are_chosen_by_their_whole_name_and_their_labels() {
        assert_eq!(sum(PAGE, "picks", &[]).to_string(), "7");
        assert_eq!(sum(PAGE, "picks", &[("endpoint", "b")]).to_string(), "4");
        assert_eq!(sum(PAGE, "picks_total", &[]).to_string(), "9");
        assert_eq!(sum(PAGE, "pick", &[]).to_string(), "0");
        assert!(expect(PAGE, "picks", &[("pool", "y")], 7.0).is_err());
    }
}
