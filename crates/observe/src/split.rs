//! Cuts a stream into events, piece by piece and without keeping any of it.
//!
//! Server-sent events are as the [standard] has them: a line ends with LF, CR or both, a byte order
//! mark may stand before the first, the value of a field begins after a colon and perhaps a blank,
//! and an event ends with an empty line. Of its fields only `data` matters here: the dialects that
//! name their events repeat the name inside.
//!
//! [standard]: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation

use core::ops::Range;

use memchr::memchr2;

/// Where the events of a stream end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// Server-sent events.
    Events,
    /// Each line is an event.
    Lines,
}

/// What a piece of a stream holds, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// These bytes of the piece are the next ones of a line of data.
    Data(Range<usize>),
    /// The line of data has ended.
    LineEnd,
    /// The event has ended, if there was one.
    EventEnd,
}

/// The place in a stream.
#[derive(Clone, Debug)]
pub(crate) struct Splitter {
    framing: Framing,
    place: Place,
    /// The last byte was a CR: a LF now belongs to it.
    after_return: bool,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// In what may be the byte order mark: so many bytes of it came.
    Mark(usize),
    /// In what may be the name of a data field: so many bytes of it came.
    Name(usize),
    /// Behind the colon, where a blank does not count.
    Colon,
    /// In a line of data.
    Data,
    /// In any other line.
    Other,
}

impl Splitter {
    pub(crate) const fn new(framing: Framing) -> Self {
        Self {
            framing,
            place: match framing {
                Framing::Events => Place::Mark(0),
                Framing::Lines => Place::Data,
            },
            after_return: false,
        }
    }

    /// Takes the next piece.
    pub(crate) fn push(&mut self, piece: &[u8], mut seen: impl FnMut(Part)) {
        let mut at = 0;
        while let Some(byte) = piece.get(at).copied() {
            if core::mem::take(&mut self.after_return) && byte == b'\n' {
                at += 1;
                continue;
            }
            match self.place {
                Place::Data | Place::Other => at = self.line(piece, at, &mut seen),
                Place::Colon => {
                    self.place = Place::Data;
                    at += usize::from(byte == b' ');
                }
                Place::Name(0) if rest(piece, at).starts_with(NAME) => {
                    self.place = Place::Colon;
                    at += NAME.len();
                }
                Place::Name(matched) => {
                    if is_end(byte) {
                        match matched {
                            0 => seen(Part::EventEnd),
                            WORD_BYTES => seen(Part::LineEnd),
                            _ => {}
                        }
                        self.end(byte);
                        at += 1;
                    } else if NAME.get(matched) == Some(&byte) {
                        self.place = match matched {
                            WORD_BYTES => Place::Colon,
                            _ => Place::Name(matched + 1),
                        };
                        at += 1;
                    } else {
                        self.place = Place::Other;
                    }
                }
                Place::Mark(matched) => {
                    if MARK.get(matched) == Some(&byte) {
                        self.place = match matched + 1 {
                            MARK_BYTES => Place::Name(0),
                            matched => Place::Mark(matched),
                        };
                        at += 1;
                    } else {
                        self.place = match matched {
                            0 => Place::Name(0),
                            _ => Place::Other,
                        };
                    }
                }
            }
        }
    }

    /// Takes a line, or what the piece has of it, and returns where it left off.
    fn line(&mut self, piece: &[u8], at: usize, seen: &mut impl FnMut(Part)) -> usize {
        let length = memchr2(b'\n', b'\r', rest(piece, at));
        let end = length.map_or(piece.len(), |length| at + length);
        let is_data = matches!(self.place, Place::Data);
        if is_data && end > at {
            seen(Part::Data(at..end));
        }
        let Some(byte) = piece.get(end).copied() else {
            return end;
        };
        if is_data {
            seen(Part::LineEnd);
        }
        self.end(byte);
        if self.framing == Framing::Lines {
            seen(Part::EventEnd);
        }
        end + 1
    }

    const fn end(&mut self, byte: u8) {
        self.after_return = byte == b'\r';
        self.place = match self.framing {
            Framing::Events => Place::Name(0),
            Framing::Lines => Place::Data,
        };
    }
}

/// Whether a piece that goes on with `rest`, right behind a line, ends that line's event for certain.
pub(crate) fn ends_event(framing: Framing, rest: &[u8]) -> bool {
    let ([b'\r', b'\n', after_line @ ..] | [b'\r' | b'\n', after_line @ ..]) = rest else {
        return false;
    };
    framing == Framing::Lines || after_line.first().copied().is_some_and(is_end)
}

const fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

fn rest(piece: &[u8], at: usize) -> &[u8] {
    piece.get(at..).unwrap_or_default()
}

const NAME: &[u8] = b"data:";
/// Of that the bytes before the colon: a line may end there, and then has an empty value.
const WORD_BYTES: usize = NAME.len() - 1;
const MARK: &[u8] = "\u{feff}".as_bytes();
const MARK_BYTES: usize = MARK.len();

#[cfg(test)]
mod tests;
