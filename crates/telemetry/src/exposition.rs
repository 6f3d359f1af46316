//! The text form of metrics, as Prometheus and OpenMetrics write it.
//!
//! One pass over the page, without an allocation. Lines of families that nobody wants cost a look
//! at their name, as an engine's page has hundreds of them.
//! See <https://prometheus.io/docs/instrumenting/exposition_formats/> and
//! <https://prometheus.io/docs/specs/om/open_metrics_spec/>.

use crate::families::Families;

/// One sample of a wanted family. Its value is finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'page> {
    /// The labels.
    pub labels: Labels<'page>,
    /// The value.
    pub value: f64,
}

/// The labels of one sample, as they stand in the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Labels<'page>(&'page [u8]);

impl<'page> Labels<'page> {
    /// The value of a label with its escapes left as they are.
    pub fn value(self, name: &[u8]) -> Option<&'page [u8]> {
        self.items()
            .find(|item| item.name == name)
            .and_then(|item| item.value)
    }

    /// The name of the metric, where it stands between the braces.
    fn metric_name(self) -> Option<&'page [u8]> {
        let first = self.items().next()?;
        first.value.is_none().then_some(first.name)
    }

    fn items(self) -> impl Iterator<Item = LabelItem<'page>> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let (item, after) = label_item(rest)?;
            rest = after;
            Some(item)
        })
    }
}

/// Calls `visit` for each sample of these families.
///
/// Lines that cannot be understood are passed over, and so are values that are not finite: one
/// senseless sample says nothing about the others.
pub fn visit_samples<'page, Meaning>(
    page: &'page [u8],
    families: &Families<Meaning>,
    mut visit: impl FnMut(&Meaning, Sample<'page>),
) {
    let mut rest = page;
    while let Some(&first) = rest.first() {
        let is_wanted = match first {
            b'#' => false,
            b'{' => true,
            blank if is_blank(blank) => true,
            _ => families.may_begin(rest),
        };
        // No label can hold a line feed: there it is escaped.
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at_checked(end).unwrap_or((rest, &[]));
        rest = after;
        if is_wanted && let Some((meaning, sample)) = sample(line, families) {
            visit(meaning, sample);
        }
    }
}

/// A label, or the name of a metric between the braces, which has no value.
struct LabelItem<'page> {
    name: &'page [u8],
    value: Option<&'page [u8]>,
}

fn sample<'page, 'names, Meaning>(
    line: &'page [u8],
    families: &'names Families<Meaning>,
) -> Option<(&'names Meaning, Sample<'page>)> {
    let line = line.trim_ascii_start();
    let end = line
        .iter()
        .position(|&byte| byte == b'{' || is_blank(byte) || byte == b'#')?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return sample_named_between_braces(line, families);
    }
    let meaning = families.get(name)?;
    let rest = rest.trim_ascii_start();
    let (labels, rest) = match rest.strip_prefix(b"{") {
        Some(inside) => split_labels(inside)?,
        None => (Labels::default(), rest),
    };
    let value = value(rest)?;
    Some((meaning, Sample { labels, value }))
}

/// Reads `{"name", label="value"} 1`, the form for names that are no identifiers.
fn sample_named_between_braces<'page, 'names, Meaning>(
    line: &'page [u8],
    families: &'names Families<Meaning>,
) -> Option<(&'names Meaning, Sample<'page>)> {
    let (labels, rest) = split_labels(line.strip_prefix(b"{")?)?;
    let meaning = families.get(labels.metric_name()?)?;
    let value = value(rest)?;
    Some((meaning, Sample { labels, value }))
}

/// Reads what follows name and labels: a value, then perhaps a timestamp, then perhaps an exemplar.
fn value(rest: &[u8]) -> Option<f64> {
    let rest = rest.trim_ascii();
    let mut fields = rest
        .split(|&byte| is_blank(byte))
        .filter(|field| !field.is_empty());
    let value = number(fields.next()?)?;
    let mut next = fields.next();
    if let Some(timestamp) = next.filter(|field| !field.starts_with(b"#")) {
        number(timestamp)?;
        next = fields.next();
    }
    let well_formed = next.is_none_or(|field| field.starts_with(b"#"));
    (well_formed && value.is_finite()).then_some(value)
}

fn number(field: &[u8]) -> Option<f64> {
    core::str::from_utf8(field).ok()?.parse().ok()
}

/// Splits after the brace that closes the labels.
fn split_labels(inside: &[u8]) -> Option<(Labels<'_>, &[u8])> {
    let mut quoted = false;
    let mut escaped = false;
    for (at, &byte) in inside.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => {
                let (labels, rest) = inside.split_at_checked(at)?;
                return Some((Labels(labels), rest.get(1..)?));
            }
            _ => {}
        }
    }
    None
}

/// Takes the first `name="value"`, `"name"="value"` or `"metric name"`, with its comma.
fn label_item(rest: &[u8]) -> Option<(LabelItem<'_>, &[u8])> {
    let rest = rest.trim_ascii_start();
    let (name, rest) = match rest.strip_prefix(b"\"") {
        Some(inside) => split_quoted(inside)?,
        None => rest.split_at(rest.iter().position(|&byte| byte == b'=')?),
    };
    let rest = rest.trim_ascii_start();
    let (value, rest) = match rest.strip_prefix(b"=") {
        Some(after) => {
            let (value, rest) = split_quoted(after.trim_ascii_start().strip_prefix(b"\"")?)?;
            (Some(value), rest.trim_ascii_start())
        }
        None => (None, rest),
    };
    let item = LabelItem {
        name: name.trim_ascii_end(),
        value,
    };
    match rest.strip_prefix(b",") {
        Some(rest) => Some((item, rest)),
        None => rest.is_empty().then_some((item, rest)),
    }
}

/// Splits after the quote that closes a text.
fn split_quoted(inside: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut escaped = false;
    let end = inside.iter().position(|&byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    let (text, rest) = inside.split_at_checked(end)?;
    Some((text, rest.get(1..)?))
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

#[cfg(test)]
mod tests;
