//! Reads the pieces of one response body as they pass.

use pointsman_domain::observation::Usage;

use crate::usage;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    /// Server-sent events.
    EventStream,
    /// One JSON text.
    Json,
    /// Anything else, and anything compressed: not read.
    Other,
}

impl ContentKind {
    /// The kind that a content-type header names.
    pub fn of(content_type: &[u8]) -> Self {
        let essence = content_type
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::EventStream
        } else if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else {
            Self::Other
        }
    }
}

/// Finds the usage in one response body. Never fails: what it cannot read is no usage.
#[derive(Debug)]
pub struct Reader {
    body: Body,
    usage: Option<Usage>,
}

impl Reader {
    /// A reader for a body of that kind.
    pub fn new(kind: ContentKind) -> Self {
        let body = match kind {
            ContentKind::EventStream => Body::Events(Lines::default()),
            ContentKind::Json => Body::Json(Vec::new()),
            ContentKind::Other => Body::Unread,
        };
        Self { body, usage: None }
    }

    /// Takes the next piece of the body.
    pub fn chunk(&mut self, bytes: &[u8]) {
        match &mut self.body {
            Body::Events(lines) => lines.push(bytes, |line| keep(&mut self.usage, line)),
            Body::Json(text) if text.len() + bytes.len() <= JSON_BYTES_MAX => {
                text.extend_from_slice(bytes);
            }
            Body::Json(_) => self.body = Body::Unread,
            Body::Unread => {}
        }
    }

    /// Takes the end of the body: what was not read yet is read now, and memory is given back.
    pub fn finish(&mut self) {
        match core::mem::replace(&mut self.body, Body::Unread) {
            Body::Events(lines) => lines.finish(|line| keep(&mut self.usage, line)),
            Body::Json(text) => self.usage = usage::of_json(&text),
            Body::Unread => {}
        }
    }

    /// The usage as last reported; engines that report it all along mean the last one.
    pub const fn usage(&self) -> Option<Usage> {
        self.usage
    }
}

/// Longest line of an event stream that is read. The last event of some APIs repeats the whole
/// answer, which seldom reaches this; a longer line is dropped up to its end.
pub const CARRY_BYTES_MAX: usize = 256 * 1024;

/// Longest JSON body that is read; the usage of a longer one is not known.
pub const JSON_BYTES_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug)]
enum Body {
    Events(Lines),
    Json(Vec<u8>),
    Unread,
}

/// Cuts pieces into lines. A line is seen where it lies; only one that a border of pieces cuts is
/// carried over, in a buffer that is used again for the next.
///
/// Each of the three endings of the standard ends a line here: the empty line that this makes of a
/// CR before a LF means nothing to us, so nothing need be remembered between the two.
#[derive(Debug, Default)]
struct Lines {
    carry: Vec<u8>,
    /// The line in progress is too long: skip to its end.
    skipping: bool,
}

impl Lines {
    fn push(&mut self, mut bytes: &[u8], mut seen: impl FnMut(&[u8])) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, rest) = bytes.split_at(end);
            if self.carry.is_empty() && !self.skipping {
                if line.len() <= CARRY_BYTES_MAX {
                    seen(line);
                }
            } else {
                self.carry(line);
                seen(&self.carry);
                self.carry.clear();
                self.skipping = false;
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.carry(bytes);
    }

    /// A last line may lack its ending.
    fn finish(self, mut seen: impl FnMut(&[u8])) {
        seen(&self.carry);
    }

    fn carry(&mut self, bytes: &[u8]) {
        if self.skipping || self.carry.len() + bytes.len() > CARRY_BYTES_MAX {
            self.skipping = true;
            self.carry.clear();
        } else {
            self.carry.extend_from_slice(bytes);
        }
    }
}

/// Takes over the usage of a line, if it has one.
fn keep(usage: &mut Option<Usage>, line: &[u8]) {
    if let Some(data) = line.strip_prefix(b"data:")
        && names_usage(data)
        && let Some(found) = usage::of_json(data)
    {
        *usage = Some(found);
    }
}

/// Whether parsing is worth it. Most lines are tokens of the answer, and some engines write
/// `"usage":null` in each of them.
fn names_usage(data: &[u8]) -> bool {
    data.windows(MEMBER.len())
        .enumerate()
        .filter(|(_, window)| *window == MEMBER)
        .filter_map(|(at, _)| data.get(at + MEMBER.len()..))
        .filter_map(|rest| rest.trim_ascii_start().strip_prefix(b":"))
        .any(|value| value.trim_ascii_start().starts_with(b"{"))
}

const MEMBER: &[u8] = b"\"usage\"";

#[cfg(test)]
mod tests;
