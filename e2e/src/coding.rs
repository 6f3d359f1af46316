//! Content codings of bodies.

use std::io::Read as _;

use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// `body` in `gzip`.
pub fn gzip(body: &[u8]) -> Bytes {
    let mut encoded = Vec::new();
    // Reading from and writing to memory cannot fail; if it did, the body would not be found again.
    let _read = GzEncoder::new(body, Compression::default()).read_to_end(&mut encoded);
    encoded.into()
}

/// `body` in `zstd`.
pub fn zstd(body: &[u8]) -> Bytes {
    compress_to_vec(body, CompressionLevel::Fastest).into()
}
