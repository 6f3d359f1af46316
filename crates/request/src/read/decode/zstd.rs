//! zstd (RFC 8878), by a library that decodes block by block: no more than a window and a block of it
//! is in memory. Checksums it leaves to us.

use std::io::Read as _;

use bytes::Bytes;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use xxhash_rust::xxh64::Xxh64;

use super::{CHUNK_BYTES, Output, Undecodable};
use crate::read::pieces::Pieces;

/// Decodes a body of at least one frame.
pub(super) fn decode(body: &[Bytes], output: &mut Output<'_>) -> Result<(), Undecodable> {
    let mut source = Pieces::new(body);
    let mut decoder = FrameDecoder::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        frame(&mut source, &mut decoder, &mut chunk, output)?;
        if source.next().is_empty() {
            return Ok(());
        }
    }
}

fn frame(
    source: &mut Pieces<'_>,
    decoder: &mut FrameDecoder,
    chunk: &mut [u8],
    output: &mut Output<'_>,
) -> Result<(), Undecodable> {
    output.begin_block()?;
    // The library gives nothing before a window is full.
    let window_bytes_max = output.bytes_left.max(WINDOW_BYTES_COMMON);
    decoder.set_max_window_size(window_bytes_max.min(WINDOW_BYTES_MAX));
    match decoder.reset(&mut *source) {
        Ok(()) => {}
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length,
            ..
        })) => return source.skip(length.into()).ok_or(Undecodable),
        Err(_) => return Err(Undecodable),
    }
    if decoder.content_size() > output.bytes_left {
        return Err(Undecodable);
    }
    let mut hash = Xxh64::new(0);
    while !decoder.is_finished() {
        output.begin_block()?;
        decoder
            .decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(|_| Undecodable)?;
        loop {
            let length = decoder.read(chunk).map_err(|_| Undecodable)?;
            let decoded = chunk.get(..length).unwrap_or_default();
            if decoded.is_empty() {
                break;
            }
            hash.update(decoded);
            output.put(decoded)?;
        }
    }
    // The checksum is the lower half of the hash.
    let is_intact = decoder
        .get_checksum_from_data()
        .is_none_or(|checksum| u64::from(checksum) == hash.digest() & u64::from(u32::MAX));
    if is_intact { Ok(()) } else { Err(Undecodable) }
}

/// Largest window. Decoders need not support a larger one (RFC 8878, 3.1.1.1.2).
const WINDOW_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The window of the reference encoder at its default level, whatever the length of the text. A larger
/// one is for bodies of which as much may come out.
const WINDOW_BYTES_COMMON: u64 = 2 * 1024 * 1024;
