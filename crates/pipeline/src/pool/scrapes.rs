//! Reports of engines: what they say, that they restarted, that they are away.

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::event::{Event, Late};
use pointsman_domain::load::EngineSample;
use pointsman_domain::time::Timestamp;
use pointsman_telemetry::load::Applied;

use crate::ejection::Health;
use crate::pool::{Output, Pool, ScrapeFault};

impl Pool {
    pub(super) fn scrape_begun(&mut self, now: Timestamp, endpoint: EndpointId) {
        if let Some(member) = self.endpoints.get_mut(endpoint) {
            member.load.scrape_begun(now);
            self.ledger.scrape_begun(endpoint);
        }
    }

    pub(super) fn scrape_done(
        &mut self,
        now: Timestamp,
        endpoint: EndpointId,
        sample: &EngineSample,
        outputs: &mut Vec<Output>,
    ) {
        let Some(member) = self.endpoints.get_mut(endpoint) else {
            outputs.push(Output::Event(Event::Dropped { what: Late::Scrape }));
            return;
        };
        let told = sample.load;
        match member.load.apply(now, sample) {
            Applied::Same => {
                let load = member.load.load();
                if told.waiting == Some(0) && told.running == Some(0) {
                    self.ledger.scrape_shows_idle(now, endpoint);
                }
                if told.waiting.or(told.running).is_some() {
                    let requests = load.waiting.saturating_add(load.running);
                    self.ledger.scrape_done(endpoint, requests);
                } else {
                    // A page without counts leaves the last report of them in force.
                    self.ledger.scrape_failed(endpoint);
                }
                self.note(now, endpoint, outputs, |health| health.scraped());
                self.hand_on_rates(now);
            }
            Applied::Restarted => {
                let renewed = self.endpoints.renew(endpoint);
                self.lives_changed(renewed.into_iter().collect(), vec![endpoint], outputs);
            }
        }
    }

    pub(super) fn scrape_failed(
        &mut self,
        now: Timestamp,
        endpoint: EndpointId,
        fault: ScrapeFault,
        outputs: &mut Vec<Output>,
    ) {
        let Some(member) = self.endpoints.get(endpoint) else {
            return;
        };
        let is_telling = member.spec.metrics_address == member.spec.address;
        self.ledger.scrape_failed(endpoint);
        // Metrics at a port of their own say nothing about the port that serves.
        if fault == ScrapeFault::Unreachable && is_telling {
            self.note(now, endpoint, outputs, |health| health.unreachable());
        }
    }

    /// Notes something about an endpoint's health, and says so if that takes it out or puts it back.
    pub(super) fn note(
        &mut self,
        now: Timestamp,
        endpoint: EndpointId,
        outputs: &mut Vec<Output>,
        note: impl FnOnce(&mut Health),
    ) {
        if let Some(out) = self.endpoints.note(endpoint, now, note) {
            outputs.push(Output::Event(Event::Ejected { endpoint, out }));
        }
    }
}
