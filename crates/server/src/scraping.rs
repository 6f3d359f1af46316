//! A scrape loop for each life of each endpoint.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::LoadSample;
use pointsman_feeds::scrape::{ScrapeFailure, ScrapeSettings, Scraper, Sink, phase};
use pointsman_pipeline::pool::{Input, ScrapeFault};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::pool::{Lives, PoolDoor};
use crate::task::Tasks;

/// Starts a scrape loop when a life begins and ends it with the life, for ever.
pub(crate) async fn follow(
    door: Arc<PoolDoor>,
    mut lives: mpsc::UnboundedReceiver<Lives>,
    settings: ScrapeSettings,
    tasks: Tasks,
) {
    let interval = settings.interval;
    let scraper = Arc::new(Scraper::new(settings));
    let sink: Arc<dyn Sink> = Arc::new(PoolSink { door });
    let mut loops: BTreeMap<EndpointId, CancellationToken> = BTreeMap::new();
    while let Some(Lives { added, removed }) = lives.recv().await {
        for id in removed {
            if let Some(cancel) = loops.remove(&id) {
                cancel.cancel();
            }
        }
        for (id, spec) in added {
            let cancel = CancellationToken::new();
            loops.insert(id, cancel.clone());
            let address = spec.metrics_address;
            let target = Target {
                id,
                address,
                phase: phase(id.slot, interval),
                cancel,
            };
            let (scraper, sink) = (Arc::clone(&scraper), Arc::clone(&sink));
            tasks.spawn("scrape", async move { target.scrape(&scraper, sink).await });
        }
    }
}

struct Target {
    id: EndpointId,
    address: SocketAddr,
    phase: Duration,
    cancel: CancellationToken,
}

impl Target {
    async fn scrape(self, scraper: &Scraper, sink: Arc<dyn Sink>) {
        scraper
            .run(self.id, self.address, self.phase, sink, self.cancel)
            .await;
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

    fn done(&self, endpoint: EndpointId, sample: LoadSample) {
        self.door.input(Input::ScrapeDone(endpoint, sample));
    }

    fn failed(&self, endpoint: EndpointId, failure: ScrapeFailure) {
        debug!(%endpoint, %failure, "scrape failed");
        let fault = match failure {
            ScrapeFailure::Refused => ScrapeFault::Unreachable,
            _ => ScrapeFault::Unusable,
        };
        self.door.input(Input::ScrapeFailed(endpoint, fault));
    }
}
