//! A cell of the comparison: one kind of request under one load.

use core::fmt;
use core::time::Duration;

use clap::ValueEnum;
use pointsman_proto::ext_proc::{BodySendMode, ProtocolConfiguration};

use super::arguments::Comparison;

/// What the gateway sends of bodies, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum BodyMode {
    /// `FULL_DUPLEX_STREAMED` both ways.
    Duplex,
    /// The request in duplex, nothing of the response's body.
    HeadersOnly,
    /// `STREAMED` both ways: pieces, after the answer to the headers.
    Streamed,
    /// `BUFFERED` both ways: each body in one message, after the answer to the headers.
    Buffered,
}

impl BodyMode {
    /// Whether the request is sent without waiting for any answer.
    pub(super) const fn is_duplex(self) -> bool {
        matches!(self, Self::Duplex | Self::HeadersOnly)
    }

    /// As the gateway declares it in the first message.
    pub(super) fn protocol_config(self) -> ProtocolConfiguration {
        let (request, response) = match self {
            Self::Duplex => (
                BodySendMode::FullDuplexStreamed,
                BodySendMode::FullDuplexStreamed,
            ),
            Self::HeadersOnly => (BodySendMode::FullDuplexStreamed, BodySendMode::None),
            Self::Streamed => (BodySendMode::Streamed, BodySendMode::Streamed),
            Self::Buffered => (BodySendMode::Buffered, BodySendMode::Buffered),
        };
        ProtocolConfiguration {
            request_body_mode: request.into(),
            response_body_mode: response.into(),
            send_body_without_waiting_for_header_response: false,
        }
    }

    /// As on the command line.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Duplex => "duplex",
            Self::HeadersOnly => "headers-only",
            Self::Streamed => "streamed",
            Self::Buffered => "buffered",
        }
    }
}

/// When requests start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Load {
    /// So many at once; the end of one starts the next.
    Closed {
        /// Streams at once.
        streams: u32,
    },
    /// At times of a Poisson process, whatever is still under way.
    Open {
        /// Starts in a second.
        rate: f64,
    },
}

/// One kind of request under one load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) mode: BodyMode,
    pub(super) prompt_bytes: usize,
    pub(super) events: usize,
    pub(super) gap: Duration,
    pub(super) load: Load,
}

/// Every combination of the listed values.
pub(super) fn cells(comparison: &Comparison) -> Vec<Cell> {
    let loads: Vec<Load> = if comparison.rate.is_empty() {
        let closed = |&streams| Load::Closed { streams };
        comparison.streams.iter().map(closed).collect()
    } else {
        let open = |&rate| Load::Open { rate };
        comparison.rate.iter().map(open).collect()
    };
    let mut cells = Vec::new();
    for &mode in &comparison.body_mode {
        for &events in &comparison.events {
            for &prompt_bytes in &comparison.prompt_bytes {
                cells.extend(loads.iter().map(|&load| Cell {
                    mode,
                    prompt_bytes,
                    events,
                    gap: Duration::from_millis(comparison.gap_ms),
                    load,
                }));
            }
        }
    }
    cells
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode.name();
        write!(f, "{mode}, {}", Size(self.prompt_bytes))?;
        write!(f, ", {} events", self.events)?;
        if !self.gap.is_zero() {
            write!(f, " {} ms apart", self.gap.as_millis())?;
        }
        match self.load {
            Load::Closed { streams } => write!(f, ", {streams} streams"),
            Load::Open { rate } => write!(f, ", {rate} per s"),
        }
    }
}

/// A number of bytes as it is written on the command line.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        if bytes.is_multiple_of(1 << 20) {
            write!(f, "{}M", bytes >> 20)
        } else if bytes.is_multiple_of(1 << 10) {
            write!(f, "{}k", bytes >> 10)
        } else {
            write!(f, "{bytes}")
        }
    }
}
