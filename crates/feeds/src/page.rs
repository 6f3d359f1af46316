//! Reading one page of an endpoint, again and again.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Body;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pointsman_domain::endpoint::EndpointId;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

/// Connections to endpoints. Clones are the same client: one serves all who read pages.
#[derive(Clone, Debug)]
pub struct PageClient {
    connections: Client<HttpConnector, Empty<Bytes>>,
}

/// How pages of one kind are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSettings {
    /// Path of the page, from its slash on.
    pub path: String,
    /// Time from one reading to the next.
    pub interval: Duration,
    /// How long a reading may take, connecting included.
    pub timeout: Duration,
    /// How rarely an endpoint that fails is asked, unless the interval is longer.
    pub back_off_max: Duration,
    /// The longest page that is read.
    pub body_bytes_max: usize,
}

/// Whose page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Where its page is.
    pub address: SocketAddr,
    /// How long its first reading waits.
    pub phase: Duration,
}

/// Why a page could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFailure {
    /// There was no connection.
    Refused,
    /// It took too long.
    TimedOut,
    /// The endpoint answered with this status.
    Status(u16),
    /// The page was longer than it may be.
    TooLarge,
    /// The answer was no HTTP, or ended too early.
    Broken,
    /// The page is something else than what was asked for.
    Foreign,
}

/// What becomes of the pages of one endpoint. Called from its loop, so it must not wait.
pub(crate) trait Visit: Sync {
    /// The page is about to be asked for.
    fn begun(&self) {}
    /// A page has come. What is left of it is overwritten by the next; taking it away is fine.
    fn read(&self, page: &mut Vec<u8>) -> Result<(), PageFailure>;
    /// No page has come, or not one of use.
    fn failed(&self, failure: PageFailure);
}

/// Reads the pages of one kind.
#[derive(Debug)]
pub(crate) struct PageReader {
    client: PageClient,
    settings: PageSettings,
    /// Which formats of the page are wanted.
    formats: HeaderValue,
}

impl PageClient {
    /// A client without connections, that waits so long for one.
    pub fn new(connect_timeout: Duration) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // A connection that nobody waits for any more is still finished in the background.
        connector.set_connect_timeout(Some(connect_timeout));
        let connections = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(1)
            .build(connector);
        Self { connections }
    }
}

impl PageReader {
    /// A reader that asks for these formats.
    pub(crate) const fn new(
        client: PageClient,
        settings: PageSettings,
        formats: HeaderValue,
    ) -> Self {
        Self {
            client,
            settings,
            formats,
        }
    }

    /// Reads the target's page until cancelled.
    ///
    /// A reading that takes longer than the interval leaves out the ticks that it missed. An endpoint
    /// that fails again and again is asked less and less often. A reading that is under way when the
    /// loop is cancelled ends without a report.
    pub(crate) async fn run(
        &self,
        target: Target,
        visitor: &impl Visit,
        cancel: CancellationToken,
    ) {
        let settings = &self.settings;
        let uri = page_uri(target.address, &settings.path);
        let interval = settings.interval.max(INTERVAL_MIN);
        let mut ticks = interval_at(Instant::now() + target.phase, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut page = Vec::new();
        let mut failures: u32 = 0;
        while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
            visitor.begun();
            let fetch = timeout(settings.timeout, self.fetch(uri.as_ref(), &mut page));
            let Some(fetched) = cancel.run_until_cancelled(fetch).await else {
                return;
            };
            let fetched = fetched.unwrap_or(Err(PageFailure::TimedOut));
            match fetched.and_then(|()| visitor.read(&mut page)) {
                Ok(()) => failures = 0,
                Err(failure) => {
                    failures = failures.saturating_add(1);
                    let (wait_max, slot) = (settings.back_off_max, target.endpoint.slot);
                    ticks.reset_after(back_off(failures, interval, wait_max, slot));
                    visitor.failed(failure);
                }
            }
        }
    }

    /// Reads the page into `page`, whose earlier content goes and whose memory stays.
    async fn fetch(&self, uri: Option<&Uri>, page: &mut Vec<u8>) -> Result<(), PageFailure> {
        let uri = uri.ok_or(PageFailure::Broken)?;
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = uri.clone();
        let headers = request.headers_mut();
        headers.insert(ACCEPT, self.formats.clone());
        let response = self.client.connections.request(request);
        let response = response.await.map_err(failure_of)?;
        if response.status() != StatusCode::OK {
            return Err(PageFailure::Status(response.status().as_u16()));
        }
        let mut body = response.into_body();
        let bytes_max = self.settings.body_bytes_max;
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(PageFailure::TooLarge);
        }
        page.clear();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| PageFailure::Broken)?;
            let Some(piece) = frame.data_ref() else {
                continue;
            };
            if piece.len() > bytes_max - page.len() {
                return Err(PageFailure::TooLarge);
            }
            page.extend_from_slice(piece);
        }
        Ok(())
    }
}

impl fmt::Display for PageFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("no connection"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Status(status) => write!(f, "answered with status {status}"),
            Self::TooLarge => f.write_str("the page is too long"),
            Self::Broken => f.write_str("the answer is broken"),
            Self::Foreign => f.write_str("the page is not what was asked for"),
        }
    }
}

impl core::error::Error for PageFailure {}

/// When the endpoint of a slot is first asked, so that any number of endpoints spread evenly over
/// `span`: steps of the golden ratio.
pub const fn phase(slot: u32, span: Duration) -> Duration {
    let share = slot.wrapping_mul(GOLDEN_RATIO) as u128;
    Duration::from_nanos_u128((span.as_nanos() * share) >> u32::BITS)
}

/// Where the page is; `None` if the path is no path. A socket address brings the brackets that IPv6
/// needs here.
fn page_uri(address: SocketAddr, path: &str) -> Option<Uri> {
    let path = path.strip_prefix('/')?;
    format!("http://{address}/{path}").parse().ok()
}

/// The wait after the latest of `failures` failures in a row: it doubles up to `wait_max`, or up
/// to the interval if that is longer. Up to a tenth is taken off, differently from slot to slot, so
/// that endpoints which failed together are not asked together.
fn back_off(failures: u32, interval: Duration, wait_max: Duration, slot: u32) -> Duration {
    let factor = 1_u32.checked_shl(failures.saturating_sub(1));
    let wait = interval
        .saturating_mul(factor.unwrap_or(u32::MAX))
        .min(wait_max.max(interval));
    wait - phase(slot, wait / 10)
}

fn failure_of(error: ClientError) -> PageFailure {
    let mut sources = core::iter::successors(core::error::Error::source(&error), |error| {
        core::error::Error::source(*error)
    });
    let timed_out = sources.any(|source| {
        source
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    });
    if timed_out {
        PageFailure::TimedOut
    } else if error.is_connect() {
        PageFailure::Refused
    } else {
        PageFailure::Broken
    }
}

/// A loop without any rest would take a whole core.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// The golden ratio's fraction of the range of `u32`.
const GOLDEN_RATIO: u32 = 0x9e37_79b9;

#[cfg(test)]
pub(crate) mod tests;
