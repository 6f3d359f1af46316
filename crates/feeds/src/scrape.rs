//! Reading one endpoint's metrics page, again and again.

use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ACCEPT, HeaderValue};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::body::Body;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::LoadSample;
use pointsman_telemetry::mapping;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

/// Reads metrics pages. One for all endpoints: their loops share its connections.
#[derive(Debug)]
pub struct Scraper {
    client: Client<HttpConnector, Empty<Bytes>>,
    settings: ScrapeSettings,
}

/// How pages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeSettings {
    /// Time from one scrape to the next.
    pub interval: Duration,
    /// How long a scrape may take, connecting included.
    pub timeout: Duration,
    /// Path of the page, from its slash on.
    pub path: String,
    /// The longest page that is read.
    pub body_bytes_max: usize,
}

/// Where results go. Called from the loops, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    /// A scrape is about to be sent.
    fn begun(&self, endpoint: EndpointId);
    /// The page was read.
    fn done(&self, endpoint: EndpointId, sample: LoadSample);
    /// The page could not be read.
    fn failed(&self, endpoint: EndpointId, failure: ScrapeFailure);
}

/// Why a page could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrapeFailure {
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
}

impl Scraper {
    /// A scraper without connections.
    pub fn new(settings: ScrapeSettings) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        // A connection that nobody waits for any more is still finished in the background.
        connector.set_connect_timeout(Some(settings.timeout));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(1)
            .build(connector);
        Self { client, settings }
    }

    /// Scrapes `endpoint` at `address` until cancelled, first after `phase`.
    ///
    /// A scrape that takes longer than the interval leaves out the ticks that it missed. An endpoint
    /// that fails again and again is asked less and less often, down to once a second. A scrape
    /// that is under way when the loop is cancelled ends without a report.
    pub async fn run(
        &self,
        endpoint: EndpointId,
        address: SocketAddr,
        phase: Duration,
        sink: Arc<dyn Sink>,
        cancel: CancellationToken,
    ) {
        let uri = page_uri(address, &self.settings.path);
        let interval = self.settings.interval.max(INTERVAL_MIN);
        let mut ticks = interval_at(Instant::now() + phase, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut page = Vec::new();
        let mut failures: u32 = 0;
        while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
            sink.begun(endpoint);
            let scrape = timeout(self.settings.timeout, self.fetch(uri.as_ref(), &mut page));
            let Some(scraped) = cancel.run_until_cancelled(scrape).await else {
                return;
            };
            match scraped.unwrap_or(Err(ScrapeFailure::TimedOut)) {
                Ok(()) => {
                    failures = 0;
                    sink.done(endpoint, mapping::VLLM.read(&page));
                }
                Err(failure) => {
                    failures = failures.saturating_add(1);
                    ticks.reset_after(back_off(failures, interval, endpoint.slot));
                    sink.failed(endpoint, failure);
                }
            }
        }
    }

    /// Reads the page into `page`, whose earlier content goes and whose memory stays.
    async fn fetch(&self, uri: Option<&Uri>, page: &mut Vec<u8>) -> Result<(), ScrapeFailure> {
        let uri = uri.ok_or(ScrapeFailure::Broken)?;
        let mut request = Request::new(Empty::new());
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(ACCEPT, FORMATS);
        let response = self.client.request(request).await.map_err(failure_of)?;
        if response.status() != StatusCode::OK {
            return Err(ScrapeFailure::Status(response.status().as_u16()));
        }
        let mut body = response.into_body();
        let bytes_max = self.settings.body_bytes_max;
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(ScrapeFailure::TooLarge);
        }
        page.clear();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ScrapeFailure::Broken)?;
            let Some(piece) = frame.data_ref() else {
                continue;
            };
            if piece.len() > bytes_max - page.len() {
                return Err(ScrapeFailure::TooLarge);
            }
            page.extend_from_slice(piece);
        }
        Ok(())
    }
}

impl ScrapeFailure {
    /// The value of metric labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::TimedOut => "timed_out",
            Self::Status(_) => "status",
            Self::TooLarge => "too_large",
            Self::Broken => "broken",
        }
    }
}

impl fmt::Display for ScrapeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("no connection"),
            Self::TimedOut => f.write_str("no answer in time"),
            Self::Status(status) => write!(f, "answered with status {status}"),
            Self::TooLarge => f.write_str("the page is too long"),
            Self::Broken => f.write_str("the answer is broken"),
        }
    }
}

impl core::error::Error for ScrapeFailure {}

/// When the endpoint of a slot is first scraped, so that the scrapes of any number of endpoints
/// spread evenly over the interval: steps of the golden ratio.
pub const fn phase(slot: u32, interval: Duration) -> Duration {
    let share = slot.wrapping_mul(GOLDEN_RATIO) as u128;
    Duration::from_nanos_u128((interval.as_nanos() * share) >> u32::BITS)
}

/// Where the page is; `None` if the path is no path. A socket address brings the brackets that IPv6
/// needs here.
fn page_uri(address: SocketAddr, path: &str) -> Option<Uri> {
    let path = path.strip_prefix('/')?;
    format!("http://{address}/{path}").parse().ok()
}

/// The wait after the latest of `failures` failures in a row: it doubles up to a limit. Up to a
/// tenth is taken off, differently from slot to slot, so that endpoints which failed together are
/// not asked together.
fn back_off(failures: u32, interval: Duration, slot: u32) -> Duration {
    let doubled = interval.saturating_mul(1 << failures.saturating_sub(1).min(DOUBLINGS_MAX));
    let wait = doubled.min(BACK_OFF_MAX.max(interval));
    wait - phase(slot, wait / 10)
}

fn failure_of(error: ClientError) -> ScrapeFailure {
    let mut sources = core::iter::successors(core::error::Error::source(&error), |error| {
        core::error::Error::source(*error)
    });
    let timed_out = sources.any(|source| {
        source
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut)
    });
    if timed_out {
        ScrapeFailure::TimedOut
    } else if error.is_connect() {
        ScrapeFailure::Refused
    } else {
        ScrapeFailure::Broken
    }
}

/// The text format first; whatever the engine has otherwise.
const FORMATS: HeaderValue = HeaderValue::from_static("text/plain;version=0.0.4, */*;q=0.1");

/// A loop without any rest would take a whole core.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// How rarely an endpoint that fails is asked, unless the interval is longer.
const BACK_OFF_MAX: Duration = Duration::from_secs(1);

/// Doublings after which any interval is beyond [`BACK_OFF_MAX`].
const DOUBLINGS_MAX: u32 = 10;

/// The golden ratio's fraction of the range of `u32`.
const GOLDEN_RATIO: u32 = 0x9e37_79b9;

#[cfg(test)]
mod tests;
