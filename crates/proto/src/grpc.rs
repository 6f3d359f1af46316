//! The frames of gRPC: each message comes after a byte of flags and four bytes of length.
//!
//! [`Frames`] cuts them out of a body that comes in pieces. It copies no message that lies in one
//! piece, and keeps at most one message, and that only up to a limit.

use bytes::{Bytes, BytesMut};

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
    /// A message of so many bytes, more than the limit: it was passed over.
    TooLong(u32),
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
    /// Of the message `missing` bytes are still to come. The others are in `kept`, unless it is too
    /// long.
    Message {
        header: FrameHeader,
        missing: u32,
        kept: BytesMut,
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

    /// The next frame that ends in `rest`, of which it takes what it has read.
    fn next(&mut self, rest: &mut Bytes) -> Option<Frame> {
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
                        kept: BytesMut::new(),
                    };
                }
                Part::Message {
                    header,
                    missing,
                    kept,
                } => {
                    let is_kept = header.message_bytes <= self.message_bytes_max;
                    let taken = rest.split_to(rest.len().min(*missing as usize));
                    *missing =
                        missing.saturating_sub(u32::try_from(taken.len()).unwrap_or(*missing));
                    if *missing > 0 {
                        if is_kept {
                            kept.extend_from_slice(&taken);
                        }
                        return None;
                    }
                    let message = if !is_kept {
                        FrameBody::TooLong(header.message_bytes)
                    } else if kept.is_empty() {
                        FrameBody::Whole(taken)
                    } else {
                        kept.extend_from_slice(&taken);
                        FrameBody::Whole(kept.split().freeze())
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
}

impl Part {
    const BEGINNING: Self = Self::Header {
        bytes: [0; FrameHeader::BYTES],
        len: 0,
    };
}

#[cfg(test)]
mod tests;
