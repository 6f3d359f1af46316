//! Bodies of requests and responses.

use core::convert::Infallible;
use core::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use tokio_stream::StreamExt as _;

/// A body, in any number of pieces and with trailers or without.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// A body that is sent as a whole, with its length.
pub fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).boxed_unsync()
}

/// A body that is sent in pieces, without a length.
pub fn in_pieces(body: &[u8], piece_bytes: usize) -> Body {
    let pieces = body.chunks(piece_bytes.max(1)).map(Bytes::copy_from_slice);
    let frames: Vec<_> = pieces.map(data).collect();
    StreamBody::new(tokio_stream::iter(frames)).boxed_unsync()
}

/// A body that ends in trailers.
pub fn with_trailers(body: impl Into<Bytes>, trailers: HeaderMap) -> Body {
    Full::new(body.into())
        .with_trailers(core::future::ready(Some(Ok(trailers))))
        .boxed_unsync()
}

/// A body that comes piece by piece, as an engine sends what it generates, with so much time after
/// each of them.
pub fn paced(pieces: impl IntoIterator<Item = Bytes>, pause: Duration) -> Body {
    let frames: Vec<_> = pieces.into_iter().map(data).collect();
    StreamBody::new(tokio_stream::iter(frames).throttle(pause)).boxed_unsync()
}

/// A body that begins and never ends.
pub fn unfinished(beginning: impl Into<Bytes>) -> Body {
    let frames = tokio_stream::once(data(beginning.into())).chain(tokio_stream::pending());
    StreamBody::new(frames).boxed_unsync()
}

fn data(bytes: Bytes) -> Result<Frame<Bytes>, Infallible> {
    Ok(Frame::data(bytes))
}
