//! Bodies in parts (RFC 7578), as uploads of audio are.
//!
//! The body is scanned once, as it lies in pieces. A delimiter is a line break, two dashes and the
//! boundary, and only its first byte is a carriage return. So a byte that does not go on with it is
//! part of the content or begins another, and of the content nothing must be kept but how many of its
//! last bytes match.

mod part;

use bytes::Bytes;
use memchr::memchr;
use pointsman_domain::facts::{ModelName, RequestFacts};

use self::part::{Found, Part};
use crate::rewrite::ModelPlace;

/// Completes `facts` by what the parts say, and says where the model stands.
///
/// A body that is not what its headers say, or is beyond a limit, says nothing: the engine gets to
/// answer.
pub(crate) fn read(facts: &mut RequestFacts, body: &[Bytes], boundary: &str) -> Option<ModelPlace> {
    facts.model = ModelName::Absent;
    let mut scanner = Scanner::new(boundary);
    for piece in body {
        scanner.push(piece)?;
    }
    scanner.finish()?.give(facts)
}

/// Cuts a body into parts.
struct Scanner {
    delimiter: Vec<u8>,
    state: State,
    /// Bytes before the one that comes next.
    at: u64,
    /// The part that comes.
    part: Part,
    parts: u32,
    found: Found,
}

enum State {
    /// Content, of which the last bytes match this many of the delimiter's.
    Content { matched: usize },
    /// After the whole delimiter, these bytes. With what comes they show whether it is one; then the
    /// content ends here.
    Delimiter { tail: Vec<u8>, content_end: u64 },
    /// Headers of a part, so far.
    Headers(Vec<u8>),
    /// What follows the last delimiter.
    Epilogue,
}

impl Scanner {
    fn new(boundary: &str) -> Self {
        Self {
            delimiter: [LINE_BREAK, b"--", boundary.as_bytes()].concat(),
            // The first delimiter needs no line break before it.
            state: State::Content {
                matched: LINE_BREAK.len(),
            },
            at: 0,
            part: Part::other(),
            parts: 0,
            found: Found::default(),
        }
    }

    fn push(&mut self, mut piece: &[u8]) -> Option<()> {
        while let Some(&next) = piece.first() {
            let taken = match &mut self.state {
                State::Content { .. } => self.content(piece),
                State::Delimiter { .. } => self.after_delimiter(next)?,
                State::Headers(_) => self.headers(piece)?,
                State::Epilogue => piece.len(),
            };
            self.at = self.at.saturating_add(taken as u64);
            piece = piece.get(taken..)?;
        }
        Some(())
    }

    /// What the parts say, if the last has ended.
    fn finish(self) -> Option<Found> {
        matches!(self.state, State::Epilogue).then_some(self.found)
    }

    /// Takes content up to where it may end, and says how many bytes that is.
    fn content(&mut self, piece: &[u8]) -> usize {
        let State::Content { matched } = &mut self.state else {
            return 0;
        };
        if *matched == 0 {
            let end = memchr(b'\r', piece);
            let content = piece.get(..end.unwrap_or(piece.len()));
            self.part.content(content.unwrap_or_default());
            *matched = end.map_or(0, |_| 1);
            return end.map_or(piece.len(), |end| end + 1);
        }
        let missing = self.delimiter.get(*matched..).unwrap_or_default();
        let equal = missing.iter().zip(piece).take_while(|(a, b)| a == b);
        let equal = equal.count();
        if equal == missing.len() {
            let delimiter = (self.delimiter.len() - equal) as u64;
            self.state = State::Delimiter {
                tail: Vec::new(),
                // The first delimiter may lack its line break.
                content_end: self.at.saturating_sub(delimiter),
            };
        } else if equal < piece.len() {
            let matched = core::mem::replace(matched, 0);
            self.part
                .content(self.delimiter.get(..matched + equal).unwrap_or_default());
        } else {
            *matched += equal;
        }
        equal
    }

    /// Takes the byte after what may be a delimiter, unless that shows that it was none.
    fn after_delimiter(&mut self, next: u8) -> Option<usize> {
        let State::Delimiter { tail, content_end } = &mut self.state else {
            return None;
        };
        match (tail.as_slice(), next) {
            ([], b'-') => tail.push(next),
            ([b'-'], b'-') => {
                self.part.end(*content_end, &mut self.found);
                self.state = State::Epilogue;
            }
            ([.., b'\r'], b'\n') => {
                self.part.end(*content_end, &mut self.found);
                self.parts = self.parts.checked_add(1).filter(|it| *it <= PARTS_MAX)?;
                self.state = State::Headers(Vec::new());
            }
            // Blanks may follow a delimiter.
            ([] | [.., b' ' | b'\t'], b' ' | b'\t' | b'\r') if tail.len() < TAIL_BYTES_MAX => {
                tail.push(next);
            }
            _ => {
                self.part.content(&self.delimiter);
                self.part.content(tail);
                self.state = State::Content { matched: 0 };
                return Some(0);
            }
        }
        Some(1)
    }

    /// Takes headers up to a line break, and says how many bytes that is; `None` if they are too long.
    fn headers(&mut self, piece: &[u8]) -> Option<usize> {
        let State::Headers(headers) = &mut self.state else {
            return None;
        };
        let taken = memchr(b'\n', piece).map_or(piece.len(), |end| end + 1);
        if headers.len() + taken > HEADER_BYTES_MAX {
            return None;
        }
        headers.extend_from_slice(piece.get(..taken)?);
        if headers == LINE_BREAK || headers.ends_with(b"\r\n\r\n") {
            self.part.begin(headers);
            self.state = State::Content { matched: 0 };
        }
        Some(taken)
    }
}

const LINE_BREAK: &[u8] = b"\r\n";

/// Parts of one body. Transcriptions have some ten; one that asks for every option has thirty.
const PARTS_MAX: u32 = 128;

/// Bytes of one part's headers. They hold the name of the part and that of a file.
const HEADER_BYTES_MAX: usize = 4096;

/// Blanks after a delimiter, where nobody puts any.
const TAIL_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests;
