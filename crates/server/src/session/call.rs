//! How a gateway calls the service: gRPC over HTTP/2.
//!
//! The library's own server is not used, as it keeps a buffer of the size of the largest message in
//! each direction for as long as the stream is open.

use core::convert::Infallible;
use core::future::{Ready, ready};
use core::pin::Pin;
use core::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request, Response, header};
use http_body::Frame;
use pointsman_proto::ext_proc::ProcessingResponse;
use pointsman_proto::ext_proc::external_processor_server::SERVICE_NAME;
use pointsman_proto::grpc::FrameHeader;
use prost::Message as _;
use tokio_stream::Stream as _;
use tonic::Status;
use tonic::body::Body;
use tonic::metadata::{GRPC_CONTENT_TYPE, MetadataValue};
use tonic::server::NamedService;

use super::{Service, Session};

impl NamedService for Service {
    const NAME: &'static str = SERVICE_NAME;
}

impl tonic::codegen::Service<Request<Body>> for Service {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let response = match refusal(&request) {
            Some(status) => status.into_http(),
            None => {
                let replies = Replies {
                    session: self.open(request.into_body()),
                    buffer: BytesMut::with_capacity(ROOM_BYTES),
                    end: End::Awaited,
                };
                let mut response = Response::new(Body::new(replies));
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, GRPC_CONTENT_TYPE);
                response
            }
        };
        ready(Ok(response))
    }
}

/// Why a call is not understood at all.
fn refusal(request: &Request<Body>) -> Option<Status> {
    let path = request.uri().path().strip_prefix('/');
    if path.and_then(|path| path.strip_prefix(SERVICE_NAME)) != Some(METHOD) {
        return Some(Status::unimplemented("the service has no such method"));
    }
    match request.headers().get(ENCODING_HEADER) {
        Some(encoding) if encoding != IDENTITY => {
            let mut status = Status::unimplemented("messages must not be compressed");
            status
                .metadata_mut()
                .insert(ACCEPT_ENCODING_HEADER, MetadataValue::from_static(IDENTITY));
            Some(status)
        }
        _ => None,
    }
}

/// The replies of a session as the body of a response.
struct Replies {
    session: Session,
    /// Replies that were not passed on yet.
    buffer: BytesMut,
    end: End,
}

/// The end of the replies, which trailers tell.
enum End {
    Awaited,
    Due(Status),
    Told,
}

impl http_body::Body for Replies {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let replies = &mut *self;
        // Replies that are ready together go together.
        while matches!(replies.end, End::Awaited) && replies.buffer.len() < TOGETHER_BYTES {
            match Pin::new(&mut replies.session).poll_next(cx) {
                Poll::Ready(Some(Ok(reply))) => replies.push(&reply),
                Poll::Ready(Some(Err(status))) => replies.end = End::Due(status),
                Poll::Ready(None) => replies.end = End::Due(Status::ok("")),
                Poll::Pending if replies.buffer.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
        }
        let frame = if replies.buffer.is_empty() {
            replies.trailers().map(Frame::trailers)
        } else {
            Some(Frame::data(replies.take()))
        };
        Poll::Ready(frame.map(Ok))
    }
}

impl Replies {
    fn push(&mut self, reply: &ProcessingResponse) {
        let bytes = reply.encoded_len();
        self.buffer.reserve(FrameHeader::BYTES + bytes);
        self.buffer.put_u8(0);
        // A reply has little more than what came in one message, so its length fits into the field, and
        // there is room for it.
        self.buffer
            .put_u32(u32::try_from(bytes).unwrap_or(u32::MAX));
        let _fits = reply.encode(&mut self.buffer);
    }

    /// Gives the replies away that were not passed on yet.
    fn take(&mut self) -> Bytes {
        let replies = self.buffer.split().freeze();
        if replies.len() > ROOM_BYTES {
            // The buffer would keep the memory of these large ones.
            self.buffer = BytesMut::with_capacity(ROOM_BYTES);
        }
        replies
    }

    /// The trailers, once.
    fn trailers(&mut self) -> Option<HeaderMap> {
        let End::Due(status) = core::mem::replace(&mut self.end, End::Told) else {
            return None;
        };
        let mut trailers = HeaderMap::new();
        // Every status is one of ours, with a text that fits into a header.
        let _fits = status.add_header(&mut trailers);
        Some(trailers)
    }
}

/// The service's only method.
const METHOD: &str = "/Process";
const ENCODING_HEADER: &str = "grpc-encoding";
const ACCEPT_ENCODING_HEADER: &str = "grpc-accept-encoding";
const IDENTITY: &str = "identity";
/// Room for the replies of a response's pieces, which change nothing: a few bytes each.
const ROOM_BYTES: usize = 1024;
/// With so many bytes of replies, the next ones go in a frame of their own.
const TOGETHER_BYTES: usize = 32 << 10;
