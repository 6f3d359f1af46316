//! CSV of Azure's LLM inference traces of 2023 and 2024.

use super::table::{excerpt, tokens};
use super::{Request, moment};

pub(super) const COLUMNS: [&str; 3] = ["TIMESTAMP", "ContextTokens", "GeneratedTokens"];

pub(super) fn request([timestamp, context, generated]: [&str; 3]) -> Result<Request, String> {
    let at_nanos = moment::nanos(timestamp).ok_or_else(|| {
        format!(
            "TIMESTAMP: expected a time like `2023-11-16 18:17:03.9799600`, got `{}`",
            excerpt(timestamp)
        )
    })?;
    Ok(Request::alone(
        at_nanos,
        tokens("ContextTokens", context)?,
        tokens("GeneratedTokens", generated)?,
    ))
}
