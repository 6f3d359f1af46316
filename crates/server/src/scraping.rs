//! The metrics pages of endpoints, read for the pool.

use core::time::Duration;
use std::sync::Arc;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::EngineSample;
use pointsman_feeds::page::{PageClient, PageFailure, PageSettings, Target, phase};
use pointsman_feeds::scrape::{Scraper, Sink};
use pointsman_pipeline::pool::{Input, ScrapeFault};
use tracing::debug;

use crate::feeding::{Feed, Life};
use crate::pool::PoolDoor;
use crate::task::Tasks;

/// A scrape loop for each life of each endpoint.
pub(crate) struct Scraping {
    scraper: Arc<Scraper>,
    interval: Duration,
    sink: Arc<dyn Sink>,
}

impl Scraping {
    /// Scrapes for the pool behind `door`.
    pub(crate) fn new(door: Arc<PoolDoor>, client: PageClient, settings: PageSettings) -> Self {
        Self {
            interval: settings.interval,
            scraper: Arc::new(Scraper::new(client, settings)),
            sink: Arc::new(PoolSink { door }),
        }
    }
}

impl Feed for Scraping {
    fn begin(&self, life: Life<'_>, tasks: &Tasks) {
        let target = Target {
            endpoint: life.id,
            address: life.spec.metrics_address,
            phase: phase(life.id.slot, self.interval),
        };
        let (scraper, sink) = (Arc::clone(&self.scraper), Arc::clone(&self.sink));
        let scrape = async move { scraper.run(target, sink, life.over).await };
        tasks.spawn("scrape", scrape);
    }
}

/// Hands scrapes to the pool.
struct PoolSink {
    door: Arc<PoolDoor>,
}

impl Sink for PoolSink {
    fn begun(&self, endpoint: EndpointId) {
        self.door.input(Input::ScrapeBegun(endpoint));
    }

    fn done(&self, endpoint: EndpointId, sample: EngineSample) {
        self.door
            .input(Input::ScrapeDone(endpoint, Box::new(sample)));
    }

    fn failed(&self, endpoint: EndpointId, failure: PageFailure) {
        debug!(%endpoint, %failure, "scrape failed");
        let fault = match failure {
            PageFailure::Refused => ScrapeFault::Unreachable,
            _ => ScrapeFault::Unusable,
        };
        self.door.input(Input::ScrapeFailed(endpoint, fault));
    }
}
