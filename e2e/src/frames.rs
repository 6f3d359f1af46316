//! HTTP/2 frame by frame, for what a library would put in order, answer or hide.

use core::net::SocketAddr;
use std::io::ErrorKind;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::TcpStream;

use crate::wait;

/// A client's connection, of which whole frames are read. Nothing is answered by itself. Dropping it
/// closes it.
#[derive(Debug)]
pub struct Frames {
    stream: TcpStream,
    /// What has come and was not read yet.
    ahead: BytesMut,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its type.
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// The stream that it belongs to; 0 is the connection.
    pub stream: u32,
    /// What it carries.
    pub payload: Vec<u8>,
}

impl Frames {
    /// Connects, with the settings that nobody asks for.
    pub async fn connect(address: SocketAddr) -> Result<Self> {
        let connecting = TcpStream::connect(address);
        let mut frames = Self {
            stream: wait::answer("a connection", connecting).await??,
            ahead: BytesMut::new(),
        };
        let mut opening = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        opening.extend(Frame::new(SETTINGS, 0, 0, []).bytes()?);
        frames.send_bytes(&opening).await?;
        Ok(frames)
    }

    /// Sends these frames.
    pub async fn send(&mut self, frames: &[Frame]) -> Result<()> {
        let mut bytes = Vec::new();
        for frame in frames {
            bytes.extend(frame.bytes()?);
        }
        self.send_bytes(&bytes).await
    }

    /// Waits for the next frame.
    pub async fn next(&mut self) -> Result<Frame> {
        loop {
            if let Some(frame) = Frame::split_from(&mut self.ahead) {
                return Ok(frame);
            }
            let reading = self.stream.read_buf(&mut self.ahead);
            if wait::answer("a frame", reading).await?? == 0 {
                bail!("the connection ended where a frame was awaited");
            }
        }
    }

    /// Reads all frames up to the clean end of the connection, sending `noise` all the while. As in
    /// Envoy each reading comes after a writing, and a writing that fails is the end, even if more
    /// could be read.
    pub async fn rest_among(mut self, noise: &Frame) -> Result<Vec<Frame>> {
        let noise = noise.bytes()?;
        let reading = async {
            let mut frames = Vec::new();
            let mut unsent = &noise[..];
            loop {
                match self.stream.try_write(unsent) {
                    Ok(written) => unsent.advance(written),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error).context("writing failed"),
                }
                if unsent.is_empty() {
                    unsent = &noise;
                }
                match self.stream.try_read_buf(&mut self.ahead) {
                    Ok(0) => break,
                    Ok(_) => {
                        frames.extend(core::iter::from_fn(|| Frame::split_from(&mut self.ahead)))
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        let either = Interest::READABLE | Interest::WRITABLE;
                        self.stream.ready(either).await?;
                    }
                    Err(error) => return Err(error).context("reading failed"),
                }
            }
            ensure!(self.ahead.is_empty(), "the connection ended within a frame");
            Ok(frames)
        };
        wait::answer("the end of the connection", reading).await?
    }

    async fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(wait::answer("sending", self.stream.write_all(bytes)).await??)
    }
}

impl Frame {
    /// A frame.
    pub fn new(kind: u8, flags: u8, stream: u32, payload: impl Into<Vec<u8>>) -> Self {
        Self {
            kind,
            flags,
            stream,
            payload: payload.into(),
        }
    }

    /// The head of a call to the picker's one gRPC method, without any compression.
    pub fn call(stream: u32) -> Result<Self> {
        // Indexed: `:method: POST` and `:scheme: http`.
        let mut block = vec![0x83, 0x86];
        for (name, value) in [
            (
                ":path",
                "/envoy.service.ext_proc.v3.ExternalProcessor/Process",
            ),
            (":authority", "picker"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        ] {
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len())?);
                block.extend(text.as_bytes());
            }
        }
        Ok(Self::new(HEADERS, END_HEADERS, stream, block))
    }

    /// A message of a call.
    pub fn message(stream: u32, message: &[u8]) -> Result<Self> {
        let mut payload = vec![0];
        payload.extend(u32::try_from(message.len())?.to_be_bytes());
        payload.extend(message);
        Ok(Self::new(DATA, 0, stream, payload))
    }

    fn bytes(&self) -> Result<Vec<u8>> {
        let [high, length @ ..] = u32::try_from(self.payload.len())?.to_be_bytes();
        ensure!(high == 0, "a frame of {} bytes", self.payload.len());
        let mut bytes = length.to_vec();
        bytes.extend([self.kind, self.flags]);
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend(&self.payload);
        Ok(bytes)
    }

    /// Takes the first frame of `bytes`, if all of it is there.
    fn split_from(bytes: &mut BytesMut) -> Option<Self> {
        let mut head = bytes.get(..HEAD_BYTES)?;
        let (length, kind, flags) = (head.get_uint(3), head.get_u8(), head.get_u8());
        let stream = head.get_u32();
        let length = usize::try_from(length).ok()?;
        if bytes.len() < HEAD_BYTES + length {
            return None;
        }
        bytes.advance(HEAD_BYTES);
        Some(Self::new(kind, flags, stream, bytes.split_to(length)))
    }
}

const HEAD_BYTES: usize = 9;

// RFC 9113, sections 6 and 7.

/// The type of frames with a part of a body.
pub const DATA: u8 = 0;
/// The type of frames with a head, or with trailers.
pub const HEADERS: u8 = 1;
/// The type of frames that end a stream at once.
pub const RST_STREAM: u8 = 3;
/// The type of frames with settings.
pub const SETTINGS: u8 = 4;
/// The type of frames that ask for an answer.
pub const PING: u8 = 6;
/// The type of frames that announce the end of the connection.
pub const GOAWAY: u8 = 7;
/// A type that nobody knows, which is to be ignored.
pub const UNKNOWN: u8 = 0xfe;
/// The flag of the last frame of a stream.
pub const END_STREAM: u8 = 1;
/// The flag of a head that is complete.
pub const END_HEADERS: u8 = 4;
/// The reason of a client that does not want the answer any more.
pub const CANCEL: u32 = 8;
