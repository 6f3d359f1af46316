//! Compressed bodies, read within limits.
//!
//! What is decoded is looked at and dropped, unless the body is to be rewritten. So there are limits to
//! what comes out, as a whole and for each byte that goes in, to the memory that decoding takes, and to
//! the number of blocks. The last is why gzip is read by our own [`inflate`]: the usual libraries set
//! up a table for each block and tell nobody of blocks, so that a body of nothing but empty ones, ten
//! bits each, keeps them busy for a second per mebibyte. A body beyond a limit is passed on as it came,
//! unread.

mod gzip;
mod inflate;
mod zstd;

use bytes::Bytes;
use thiserror::Error;

use crate::head::Coding;

/// The body is not coded as its headers say, was cut, or is beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the body cannot be decoded")]
pub(crate) struct Undecodable;

/// Gives the decoded body to `sink`, in chunks of 1 to [`CHUNK_BYTES`].
///
/// What came to `sink` before a failure is no body.
pub(crate) fn each(
    body: &[Bytes],
    coding: Coding,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Undecodable> {
    let mut output = Output::new(body, sink);
    match coding {
        Coding::Gzip => gzip::decode(body, &mut output),
        Coding::Zstd => zstd::decode(body, &mut output),
    }
}

/// Where decoded bytes go, and what is still allowed.
struct Output<'s> {
    bytes_left: u64,
    blocks_left: u32,
    sink: &'s mut dyn FnMut(&[u8]),
}

impl<'s> Output<'s> {
    fn new(body: &[Bytes], sink: &'s mut dyn FnMut(&[u8])) -> Self {
        let coded_bytes: u64 = body.iter().map(|piece| piece.len() as u64).sum();
        let by_ratio = coded_bytes.saturating_mul(DECODED_RATIO_MAX);
        Self {
            bytes_left: by_ratio.clamp(UNSUSPICIOUS_BYTES, DECODED_BYTES_MAX),
            blocks_left: BLOCKS_MAX,
            sink,
        }
    }

    /// Counts a block, or whatever else costs as much to begin with.
    fn begin_block(&mut self) -> Result<(), Undecodable> {
        self.blocks_left = self.blocks_left.checked_sub(1).ok_or(Undecodable)?;
        Ok(())
    }

    /// Passes on what was decoded.
    fn put(&mut self, chunk: &[u8]) -> Result<(), Undecodable> {
        debug_assert!(chunk.len() <= CHUNK_BYTES, "chunks are bounded");
        let left = self.bytes_left.checked_sub(chunk.len() as u64);
        self.bytes_left = left.ok_or(Undecodable)?;
        if !chunk.is_empty() {
            (self.sink)(chunk);
        }
        Ok(())
    }
}

/// The most that comes out at once.
const CHUNK_BYTES: usize = 64 * 1024;

/// Longest decoded body. It is that of a plain one: 32 MiB.
const DECODED_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Bytes that may come out for each that goes in. Conversations compress to a fifth or a tenth; what
/// compresses to less than a hundredth was made to hurt, or repeats one word over and over.
const DECODED_RATIO_MAX: u64 = 100;

/// What may come out of any body, however short: decoding it takes a few milliseconds.
const UNSUSPICIOUS_BYTES: u64 = 1024 * 1024;

/// Blocks of one body, each member of gzip and each frame of zstd counted as one too. Each can ask for
/// tables that take some microseconds to make. Compressors put 128 KiB in a block, and 5 KiB at least.
const BLOCKS_MAX: u32 = 8192;

#[cfg(test)]
mod tests;
