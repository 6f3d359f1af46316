//! The metrics pages of endpoints, read for the pool.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use pointsman_domain::endpoint::{EndpointId, EndpointSpec};
use pointsman_domain::load::EngineSample;
use pointsman_feeds::page::{PageClient, PageFailure, PageSettings, Target, phase};
use pointsman_feeds::scrape::{Engine, Scraper, Sink};
use pointsman_pipeline::pool::{Input, ScrapeFault};
use pointsman_policy::config::MetricNames;
use pointsman_telemetry::mapping::{EngineNames, Mapping};
use tracing::debug;

use crate::feeding::{Feed, Life};
use crate::pool::PoolDoor;
use crate::task::Tasks;

/// A scrape loop for each life of each endpoint.
pub(crate) struct Scraping {
    scraper: Arc<Scraper>,
    interval: Duration,
    engines: Engines,
    sink: Arc<dyn Sink>,
}

/// Which names the metrics of an endpoint have.
struct Engines {
    label: String,
    default: Arc<Mapping>,
    mappings: BTreeMap<String, Arc<Mapping>>,
}

impl Scraping {
    /// Scrapes for the pool behind `door`.
    pub(crate) fn new(
        door: Arc<PoolDoor>,
        client: PageClient,
        settings: PageSettings,
        names: &MetricNames,
    ) -> Self {
        Self {
            interval: settings.interval,
            scraper: Arc::new(Scraper::new(client, settings)),
            engines: Engines::new(names),
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
        let engine = Engine {
            mapping: self.engines.of(life.spec),
            rank: None,
        };
        let (scraper, sink) = (Arc::clone(&self.scraper), Arc::clone(&self.sink));
        let scrape = async move { scraper.run(target, engine, sink, life.over).await };
        tasks.spawn("scrape", scrape);
    }
}

impl Engines {
    fn new(names: &MetricNames) -> Self {
        let mapping =
            |(name, names): (&String, &EngineNames)| (name.clone(), Arc::new(Mapping::new(names)));
        let mappings: BTreeMap<_, _> = names.engines.iter().map(mapping).collect();
        let default = mappings.get(&names.default).map(Arc::clone);
        Self {
            label: names.label.clone(),
            default: default.unwrap_or_else(|| Arc::new(Mapping::new(&EngineNames::default()))),
            mappings,
        }
    }

    fn of(&self, spec: &EndpointSpec) -> Arc<Mapping> {
        let named = spec.labels.get(&self.label);
        let mapping = named.and_then(|name| self.mappings.get(name));
        Arc::clone(mapping.unwrap_or(&self.default))
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
