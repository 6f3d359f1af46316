//! Reading endpoints' metrics pages.

use std::sync::Arc;

use http::HeaderValue;
use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::EngineSample;
use pointsman_telemetry::mapping::Mapping;
use tokio_util::sync::CancellationToken;

use crate::page::{PageClient, PageFailure, PageReader, PageSettings, Target, Visit};

/// Reads metrics pages. One for all endpoints.
#[derive(Debug)]
pub struct Scraper {
    pages: PageReader,
}

/// What is read of a page.
#[derive(Clone, Debug)]
pub struct Engine {
    /// The names that this kind of engine uses.
    pub mapping: Arc<Mapping>,
    /// The rank that is meant, where several have one page.
    pub rank: Option<u32>,
}

/// Where results go. Called from the loops, so it must not wait.
pub trait Sink: Send + Sync + 'static {
    /// A scrape is about to be sent.
    fn begun(&self, endpoint: EndpointId);
    /// The page was read.
    fn done(&self, endpoint: EndpointId, sample: EngineSample);
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
    pub async fn run(
        &self,
        target: Target,
        engine: Engine,
        sink: Arc<dyn Sink>,
        cancel: CancellationToken,
    ) {
        let scrapes = Scrapes {
            endpoint: target.endpoint,
            engine,
            sink,
        };
        self.pages.run(target, &scrapes, cancel).await;
    }
}

struct Scrapes {
    endpoint: EndpointId,
    engine: Engine,
    sink: Arc<dyn Sink>,
}

impl Visit for Scrapes {
    fn begun(&self) {
        self.sink.begun(self.endpoint);
    }

    fn read(&self, page: &mut Vec<u8>) -> Result<(), PageFailure> {
        let Engine { mapping, rank } = &self.engine;
        self.sink.done(self.endpoint, mapping.read(page, *rank));
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
