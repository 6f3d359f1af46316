//! Rows of comma-separated values under a header. No format here quotes its values.

use core::str::FromStr;

use super::{BadLine, Request, TOKENS_MAX};

/// How to read the rows under `header`: finds the `columns` there, and gives their values in each row
/// to `request`.
pub(super) fn row<const N: usize>(
    header: Option<(usize, &str)>,
    columns: [&'static str; N],
    request: fn([&str; N]) -> Result<Request, String>,
) -> Result<impl Fn(&str) -> Result<Request, String>, BadLine> {
    let (line, header) = header.unwrap_or((1, ""));
    let places = places(header, columns).map_err(|what| BadLine { line, what })?;
    Ok(move |row: &str| request(values(row, columns, places)?))
}

fn places<const N: usize>(header: &str, columns: [&str; N]) -> Result<[usize; N], String> {
    let mut places = [0; N];
    for (place, column) in places.iter_mut().zip(columns) {
        *place = header
            .split(',')
            .position(|name| name.trim() == column)
            .ok_or_else(|| format!("expected a header with the column `{column}`"))?;
    }
    Ok(places)
}

fn values<'a, const N: usize>(
    row: &'a str,
    columns: [&str; N],
    places: [usize; N],
) -> Result<[&'a str; N], String> {
    let all: Vec<&str> = row.split(',').map(str::trim).collect();
    let mut values = [""; N];
    for ((value, column), place) in values.iter_mut().zip(columns).zip(places) {
        *value = all
            .get(place)
            .ok_or_else(|| format!("expected {} values, `{column}` is missing", place + 1))?;
    }
    Ok(values)
}

/// Reads a number of tokens.
pub(super) fn tokens(column: &str, value: &str) -> Result<u32, String> {
    number(column, value, "a whole number of tokens")
        .and_then(|tokens| tokens_within_limit(column, tokens))
}

pub(super) fn tokens_within_limit(column: &str, tokens: u32) -> Result<u32, String> {
    if tokens <= TOKENS_MAX {
        Ok(tokens)
    } else {
        Err(format!(
            "{column}: expected at most {TOKENS_MAX} tokens, got {tokens}"
        ))
    }
}

/// Reads a number. `expected` says of which kind.
pub(super) fn number<T: FromStr>(column: &str, value: &str, expected: &str) -> Result<T, String> {
    value
        .parse()
        .map_err(|_| format!("{column}: expected {expected}, got `{}`", excerpt(value)))
}

/// The beginning of a value, for a message.
pub(super) fn excerpt(value: &str) -> &str {
    let end = value.char_indices().nth(EXCERPT_CHARS).map(|(end, _)| end);
    end.and_then(|end| value.get(..end)).unwrap_or(value)
}

const EXCERPT_CHARS: usize = 40;
