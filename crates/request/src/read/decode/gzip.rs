//! gzip (RFC 1952): members of deflated data, each with a header and a checksum.

use bytes::Bytes;
use crc32fast::Hasher;

use super::inflate::{Bits, Window, inflate};
use super::{Output, Undecodable};
use crate::read::pieces::Pieces;

/// Decodes a body of at least one member.
pub(super) fn decode(body: &[Bytes], output: &mut Output<'_>) -> Result<(), Undecodable> {
    let mut bits = Bits::new(Pieces::new(body));
    let mut window = Window::new();
    loop {
        output.begin_block()?;
        header(&mut bits)?;
        let mut hash = Hasher::new();
        let mut length = 0_u32;
        window.clear();
        inflate(&mut bits, &mut window, output, &mut |chunk| {
            hash.update(chunk);
            // The length counts modulo 2^32.
            length = length.wrapping_add(u32::try_from(chunk.len()).unwrap_or(u32::MAX));
        })?;
        bits.align();
        if bits.take(32)? != hash.finalize() || bits.take(32)? != length {
            return Err(Undecodable);
        }
        if bits.is_at_end() {
            return Ok(());
        }
    }
}

/// Reads a member's header, of which nothing is of use. Its own checksum is passed over: what it would
/// protect is passed over too.
fn header(bits: &mut Bits<'_>) -> Result<(), Undecodable> {
    let magic = bits.take(24)?;
    let flags = bits.take(8)?;
    if magic != MAGIC || flags & RESERVED != 0 {
        return Err(Undecodable);
    }
    // When the file was changed, how hard it was compressed, and where.
    bits.take(32)?;
    bits.take(16)?;
    if flags & HAS_EXTRA != 0 {
        for _ in 0..bits.take(16)? {
            bits.take(8)?;
        }
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        while flags & text != 0 && bits.take(8)? != 0 {}
    }
    if flags & HAS_CHECKSUM != 0 {
        bits.take(16)?;
    }
    Ok(())
}

/// 0x1f, 0x8b, and 8 for deflate.
const MAGIC: u32 = 0x08_8b1f;

const HAS_CHECKSUM: u32 = 1 << 1;
const HAS_EXTRA: u32 = 1 << 2;
const HAS_NAME: u32 = 1 << 3;
const HAS_COMMENT: u32 = 1 << 4;
const RESERVED: u32 = 0b1110_0000;
