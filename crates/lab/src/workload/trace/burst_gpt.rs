//! CSV of BurstGPT, with and without the columns that its later releases have added.

use super::table::{number, tokens};
use super::{Request, nanos};

pub(super) const COLUMNS: [&str; 3] = ["Timestamp", "Request tokens", "Response tokens"];

pub(super) fn request([timestamp, asked, answered]: [&str; 3]) -> Result<Request, String> {
    let expected = "seconds that are not negative";
    let seconds: f64 = number("Timestamp", timestamp, expected)?;
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(format!("Timestamp: expected {expected}, got `{seconds}`"));
    }
    Ok(Request::alone(
        nanos(seconds),
        tokens("Request tokens", asked)?,
        tokens("Response tokens", answered)?,
    ))
}

/// A hundred years.
const SECONDS_MAX: f64 = 3.2e9;
