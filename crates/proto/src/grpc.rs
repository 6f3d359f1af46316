//! The frames of gRPC: each message comes after a byte of flags and four bytes of length.
//!
//! [`Frames`] cuts them out of a body that comes in pieces. It copies no message that lies in one
//! piece, and keeps at most one message, and that only up to a limit.

use bytes::Bytes;

/// The beginning of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// Whether the message is compressed, or has any other flag that a plain message has not.
    pub compressed: bool,
    /// Bytes of the message.
    pub message_bytes: u32,
}

impl FrameHeader {
    /// Bytes that every frame begins with.
    pub const BYTES: usize = 5;

    /// What those bytes say.
    pub const fn read([flags, a, b, c, d]: [u8; Self::BYTES]) -> Self {
        Self {
            compressed: flags != 0,
            message_bytes: u32::from_be_bytes([a, b, c, d]),
        }
    }
}

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Whether the message is compressed, or has any other flag that a plain message has not.
    pub compressed: bool,
    /// What it carries.
    pub message: FrameBody,
}

/// What a frame carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameBody {
    /// The message as it came. It shares memory with the piece that it lies in.
    Whole(Bytes),
    /// A message of so many bytes that was passed over, as they are more than the limit, or as nobody
    /// [wanted](Frames::pass_over) them.
    PassedOver(u32),
}

/// Cuts a body into frames, piece by piece.
///
/// A frame is told of when its last byte has come, whatever it carries. What is left when the body
/// ends is a frame that was cut, and is nobody's.
#[derive(Debug)]
pub struct Frames {
    message_bytes_max: u32,
    part: Part,
}

/// The part of a frame that comes next.
#[derive(Debug)]
enum Part {
    /// Of the header these bytes have come.
    Header {
        bytes: [u8; FrameHeader::BYTES],
        len: usize,
    },
    /// Of the message `missing` bytes are still to come. The others are in `kept`, unless it is passed
    /// over.
    Message {
        header: FrameHeader,
        missing: u32,
        kept: Vec<u8>,
        is_passed_over: bool,
    },
}

impl Frames {
    /// Frames from the beginning of a body, of whose messages none is kept that is longer than
    /// `message_bytes_max`.
    pub const fn new(message_bytes_max: u32) -> Self {
        Self {
            message_bytes_max,
            part: Part::BEGINNING,
        }
    }

    /// Takes the next piece, and gives each frame that ends in it to `frame`.
    pub fn push(&mut self, piece: &Bytes, mut frame: impl FnMut(Frame)) {
        let mut rest = piece.clone();
        while let Some(found) = self.next(&mut rest) {
            frame(found);
        }
    }

    /// The next frame that ends in `rest`, of which it takes what it has read. Without one, nothing of
    /// `rest` is left.
    pub fn next(&mut self, rest: &mut Bytes) -> Option<Frame> {
        loop {
            match &mut self.part {
                Part::Header { bytes, len } => {
                    let wanted = bytes.get_mut(*len..).unwrap_or_default();
                    let taken = rest.split_to(wanted.len().min(rest.len()));
                    for (to, from) in wanted.iter_mut().zip(&taken) {
                        *to = *from;
                    }
                    *len += taken.len();
                    if *len < FrameHeader::BYTES {
                        return None;
                    }
                    let header = FrameHeader::read(*bytes);
                    self.part = Part::Message {
                        header,
                        missing: header.message_bytes,
                        kept: Vec::new(),
                        is_passed_over: header.message_bytes > self.message_bytes_max,
                    };
                }
                Part::Message {
                    header,
                    missing,
                    kept,
                    is_passed_over,
                } => {
                    let taken = rest.split_to(rest.len().min(*missing as usize));
                    *missing =
                        missing.saturating_sub(u32::try_from(taken.len()).unwrap_or(*missing));
                    let is_whole = *missing == 0;
                    let is_in_one_piece = is_whole && kept.is_empty();
                    if !*is_passed_over && !is_in_one_piece {
                        keep(kept, &taken, header.message_bytes as usize);
                    }
                    if !is_whole {
                        return None;
                    }
                    let message = if *is_passed_over {
                        FrameBody::PassedOver(header.message_bytes)
                    } else if is_in_one_piece {
                        FrameBody::Whole(taken)
                    } else {
                        FrameBody::Whole(Bytes::from(core::mem::take(kept)))
                    };
                    let compressed = header.compressed;
                    self.part = Part::BEGINNING;
                    return Some(Frame {
                        compressed,
                        message,
                    });
                }
            }
        }
    }

    /// The header of the message of which a part is still to come, once all of the header has come.
    pub const fn begun(&self) -> Option<FrameHeader> {
        match &self.part {
            Part::Header { .. } => None,
            Part::Message { header, .. } => Some(*header),
        }
    }

    /// Whether the last frame has ended and no other has begun.
    pub const fn is_between(&self) -> bool {
        matches!(self.part, Part::Header { len: 0, .. })
    }

    /// Bytes of memory that the message takes of which a part is still to come.
    pub const fn kept_bytes(&self) -> usize {
        match &self.part {
            Part::Header { .. } => 0,
            Part::Message { kept, .. } => kept.capacity(),
        }
    }

    /// Passes over the message of which a part is still to come, if there is one, and frees what is
    /// kept of it.
    pub fn pass_over(&mut self) {
        if let Part::Message {
            kept,
            is_passed_over,
            ..
        } = &mut self.part
        {
            *kept = Vec::new();
            *is_passed_over = true;
        }
    }
}

/// Appends a piece of a message of `message_bytes`.
///
/// Room is made for twice what has come, so that a length that is only claimed costs nothing and no
/// byte is copied often, but never for more than the message, so that a whole one has no room to spare.
fn keep(kept: &mut Vec<u8>, piece: &[u8], message_bytes: usize) {
    let needed = kept.len().saturating_add(piece.len());
    if needed > kept.capacity() {
        let room = needed.saturating_mul(2).min(message_bytes);
        kept.reserve_exact(room.saturating_sub(kept.len()));
    }
    kept.extend_from_slice(piece);
}

impl Part {
    const BEGINNING: Self = Self::Header {
        bytes: [0; FrameHeader::BYTES],
        len: 0,
    };
}

#[cfg(test)]
mod tests;
