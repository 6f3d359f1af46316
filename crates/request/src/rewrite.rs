//! Puts another model's name in the place of the one that the client wrote.
//!
//! Only that name changes: order of members, white space, numbers of any size and everything else stay
//! as they came. The reader of a body tells where the name stands, so nothing is read a second time.

use core::fmt::Write as _;

use bytes::Bytes;

use crate::head::Coding;
use crate::read::decode;

/// Where a body names its model, or where a name can be added. Offsets are those of the decoded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelPlace {
    start: u64,
    end: u64,
    form: Form,
    coding: Option<Coding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// The value of a JSON member, quotes included.
    Member,
    /// A JSON member is to be added, followed by a comma unless it is the only one.
    NewMember { is_only: bool },
    /// The text of a part.
    PartText,
}

impl ModelPlace {
    /// The value of a JSON member lies in these bytes.
    pub(crate) const fn member(start: u64, end: u64) -> Self {
        Self::new(start, end, Form::Member)
    }

    /// A JSON member can be added before the byte at `at`, right after the opening brace; `is_only`
    /// where the object has no other.
    pub(crate) const fn new_member(at: u64, is_only: bool) -> Self {
        Self::new(at, at, Form::NewMember { is_only })
    }

    /// The text of a part of a multipart body lies in these bytes.
    pub(crate) const fn part_text(start: u64, end: u64) -> Self {
        Self::new(start, end, Form::PartText)
    }

    /// The same place in a body that came compressed.
    pub(crate) const fn coded(self, coding: Coding) -> Self {
        Self {
            coding: Some(coding),
            ..self
        }
    }

    const fn new(start: u64, end: u64, form: Form) -> Self {
        Self {
            start,
            end,
            form,
            coding: None,
        }
    }
}

/// A body in which another model is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The body, without empty pieces. What did not change shares memory with the pieces that came,
    /// unless it was compressed.
    pub body: Vec<Bytes>,
    /// Whether the body was compressed and is not any more, so that `content-encoding` must go.
    pub is_decoded: bool,
}

/// `body`, as it came, with `model` at `place`.
///
/// `None` if the place is not in this body, if it cannot be decoded, or if the model's name cannot
/// stand there.
pub fn rewrite(body: Vec<Bytes>, place: &ModelPlace, model: &str) -> Option<Rewritten> {
    let name = place.form.written(model)?;
    let (body, is_decoded) = match place.coding {
        None => (body, false),
        Some(coding) => (decoded(&body, coding)?, true),
    };
    Some(Rewritten {
        body: spliced(&body, place.start, place.end, name.into())?,
        is_decoded,
    })
}

impl Form {
    fn written(self, model: &str) -> Option<String> {
        match self {
            Self::Member => Some(quoted(model)),
            Self::NewMember { is_only: true } => Some(format!("\"model\":{}", quoted(model))),
            Self::NewMember { is_only: false } => Some(format!("\"model\":{},", quoted(model))),
            // A line break could begin a boundary, and nothing escapes it in a part.
            Self::PartText => (!model.contains(['\r', '\n'])).then(|| model.to_owned()),
        }
    }
}

/// The text as JSON writes it.
fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            // Writing to a string cannot fail.
            '\0'..='\x1f' => drop(write!(json, "\\u{:04x}", u32::from(character))),
            _ => json.push(character),
        }
    }
    json.push('"');
    json
}

fn decoded(body: &[Bytes], coding: Coding) -> Option<Vec<Bytes>> {
    let mut pieces = Vec::new();
    decode::each(body, coding, &mut |chunk| {
        pieces.push(Bytes::copy_from_slice(chunk));
    })
    .ok()?;
    Some(pieces)
}

/// The body with `name` in place of the bytes from `start` to before `end`.
fn spliced(body: &[Bytes], start: u64, end: u64, name: Bytes) -> Option<Vec<Bytes>> {
    let length = body.iter().map(|piece| piece.len() as u64).sum();
    if start > end || end > length {
        return None;
    }
    let mut spliced = Vec::with_capacity(body.len() + 2);
    copy(body, 0, start, &mut spliced);
    if !name.is_empty() {
        spliced.push(name);
    }
    copy(body, end, length, &mut spliced);
    Some(spliced)
}

/// Adds the bytes from `start` to before `end`, by reference.
fn copy(body: &[Bytes], start: u64, end: u64, to: &mut Vec<Bytes>) {
    let mut at = 0_u64;
    for piece in body {
        let within = |offset: u64| {
            let offset = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
            offset.min(piece.len())
        };
        let range = within(start)..within(end);
        if !range.is_empty() {
            to.push(piece.slice(range));
        }
        at = at.saturating_add(piece.len() as u64);
    }
}

#[cfg(test)]
mod tests;
