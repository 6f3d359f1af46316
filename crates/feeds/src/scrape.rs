//! Reading endpoints' metrics pages.

use std::sync::Arc;

use http::HeaderValue;
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::LoadSample;
use pointsman_telemetry::mapping;
use tokio_util::sync::CancellationToken;

use crate::page::{PageClient, PageFailure, PageReader, PageSettings, Target, Visit};

/// Reads metrics pages. One for all endpoints.
#[derive(Debug)]
pub struct Scraper {
    pages: PageReader,
}

/// Where results go. Called from the loops, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    /// A scrape is about to be sent.
    fn begun(&self, endpoint: EndpointId);
    /// The page was read.
    fn done(&self, endpoint: EndpointId, sample: LoadSample);
    /// The page could not be read.
    fn failed(&self, endpoint: EndpointId, failure: PageFailure);
}

impl Scraper {
    /// A scraper that uses the connections of `client`.
    pub const fn new(client: PageClient, settings: PageSettings) -> Self {
        Self {
            pages: PageReader::new(client, settings, FORMATS),
        }
    }

    /// Scrapes the target until cancelled. A scrape that is under way then ends without a report.
    pub async fn run(&self, target: Target, sink: Arc<dyn Sink>, cancel: CancellationToken) {
        let endpoint = target.endpoint;
        self.pages
            .run(target, &Scrapes { endpoint, sink }, cancel)
            .await;
    }
}

struct Scrapes {
    endpoint: EndpointId,
    sink: Arc<dyn Sink>,
}

impl Visit for Scrapes {
    fn begun(&self) {
        self.sink.begun(self.endpoint);
    }

    fn read(&self, page: &mut Vec<u8>) -> Result<(), PageFailure> {
        self.sink.done(self.endpoint, mapping::VLLM.read(page));
        Ok(())
    }

    fn failed(&self, failure: PageFailure) {
        self.sink.failed(self.endpoint, failure);
    }
}

/// The text format first; whatever the engine has otherwise.
const FORMATS: HeaderValue = HeaderValue::from_static("text/plain;version=0.0.4, */*;q=0.1");

#[cfg(test)]
mod tests;
