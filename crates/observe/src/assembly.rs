//! Puts the data of each event together.
//!
//! An event that lies in one piece is seen where it lies. One that a border of pieces or of lines
//! cuts is carried over, in a buffer that is used again for the next. One that is longer than the
//! buffer may be is read as it comes, and is not kept at all.

use core::ops::Range;

use crate::sight::{Reading, Scope};
use crate::split::{Framing, Part, Splitter};

/// The data of an event.
#[derive(Debug)]
pub(crate) enum Data<'a> {
    /// As it was sent; several lines are joined by LF, without those that are empty.
    Text(&'a [u8]),
    /// Too long to be kept, so that it was read up to its end.
    Read(Box<Reading>),
}

/// The event in progress.
#[derive(Debug)]
pub(crate) struct Assembly {
    splitter: Splitter,
    kept: Kept,
}

impl Assembly {
    pub(crate) const fn new(framing: Framing) -> Self {
        Self {
            splitter: Splitter::new(framing),
            kept: Kept {
                carry: Vec::new(),
                long: None,
                line_ended: false,
            },
        }
    }

    /// Takes the next piece, and shows the events that end in it.
    pub(crate) fn push(&mut self, piece: &[u8], mut seen: impl FnMut(Data<'_>)) {
        let kept = &mut self.kept;
        // The data of an event that lies in this piece alone, in one line.
        let mut lying: Option<Range<usize>> = None;
        self.splitter.push(piece, |part| match part {
            Part::Data(range) => {
                if kept.is_empty() && lying.is_none() {
                    lying = Some(range);
                    return;
                }
                if let Some(first) = lying.take() {
                    let line_ended = core::mem::take(&mut kept.line_ended);
                    kept.append(piece.get(first).unwrap_or_default());
                    kept.line_ended = line_ended;
                }
                kept.append(piece.get(range).unwrap_or_default());
            }
            // The line end of an event that has no data yet says nothing either.
            Part::LineEnd => kept.line_ended = lying.is_some() || !kept.is_empty(),
            Part::EventEnd => {
                match lying.take() {
                    Some(range) => seen(Data::Text(piece.get(range).unwrap_or_default())),
                    None => kept.show(&mut seen),
                }
                kept.line_ended = false;
            }
        });
        if let Some(range) = lying {
            let line_ended = core::mem::take(&mut kept.line_ended);
            kept.append(piece.get(range).unwrap_or_default());
            kept.line_ended = line_ended;
        }
    }

    /// Takes the end of the stream. The last event may lack its ending.
    pub(crate) fn finish(mut self, mut seen: impl FnMut(Data<'_>)) {
        self.kept.show(&mut seen);
    }

    /// Whether the data of an event is short enough to be carried over a border.
    pub(crate) const fn may_carry(data: &[u8]) -> bool {
        data.len() <= CARRY_BYTES_MAX
    }

    /// Bytes that are carried over now.
    #[cfg(test)]
    pub(crate) const fn carried_bytes(&self) -> usize {
        self.kept.carry.len()
    }
}

/// What had to be kept of an event.
#[derive(Debug)]
struct Kept {
    carry: Vec<u8>,
    long: Option<Box<Reading>>,
    /// A line of the event has ended: should another come, a LF joins them.
    line_ended: bool,
}

impl Kept {
    fn is_empty(&self) -> bool {
        self.carry.is_empty() && self.long.is_none()
    }

    fn append(&mut self, data: &[u8]) {
        let joint: &[u8] = if core::mem::take(&mut self.line_ended) {
            b"\n"
        } else {
            b""
        };
        if self.long.is_none() && self.carry.len() + joint.len() + data.len() > CARRY_BYTES_MAX {
            let mut reading = Box::new(Reading::new(Scope::Event));
            reading.push(&self.carry);
            self.carry.clear();
            self.long = Some(reading);
        }
        match &mut self.long {
            Some(reading) => {
                reading.push(joint);
                reading.push(data);
            }
            None => {
                self.carry.extend_from_slice(joint);
                self.carry.extend_from_slice(data);
            }
        }
    }

    fn show(&mut self, seen: &mut impl FnMut(Data<'_>)) {
        if let Some(reading) = self.long.take() {
            seen(Data::Read(reading));
        } else if !self.carry.is_empty() {
            seen(Data::Text(&self.carry));
            self.carry.clear();
        }
    }
}

/// Longest event that is carried over. Almost all have less; the one that repeats a whole answer at
/// its end may have any length.
pub(crate) const CARRY_BYTES_MAX: usize = 16 * 1024;

#[cfg(test)]
mod tests;
