//! What the pool learns of its endpoints and of its traffic.

use core::time::Duration;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::PrefillRate;
use pointsman_domain::observation::Usage;
use pointsman_domain::time::Timestamp;
use pointsman_telemetry::rates::{shrunk, typical};
use pointsman_telemetry::variability::{Arrivals, Variability, knee};

use crate::pool::Pool;
use crate::pool::requests::Sent;

/// What is learned of the pool as a whole.
#[derive(Debug, Default)]
pub(super) struct Learning {
    arrivals: Arrivals,
    service: Variability,
    /// When the endpoints' rates were handed on last.
    rates_at: Option<Timestamp>,
}

/// How the pool's traffic is, and how near the pool is to its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Mean time between two requests.
    pub arrival_gap: Duration,
    /// Squared coefficient of variation of that; `None` until it is known.
    pub arrival_variability: Option<f64>,
    /// Mean time of service, from the pick to the end.
    pub service_time: Duration,
    /// Squared coefficient of variation of that; `None` until it is known.
    pub service_variability: Option<f64>,
    /// Requests that the engines were ever seen to run at once, added up.
    pub slots: u32,
    /// Share of those that are taken now; `None` while there are none.
    pub utilization: Option<f64>,
    /// How far the utilization is below the knee, at which the wait is three times the service; below 0
    /// beyond it. `None` until it is known.
    pub knee_distance: Option<f64>,
}

impl Learning {
    pub(super) fn arrived(&mut self, now: Timestamp) {
        self.arrivals.arrived(now);
    }

    pub(super) fn served(&mut self, time: Duration) {
        self.service.add(time);
    }
}

impl Pool {
    /// How the pool's traffic is.
    pub fn statistics(&self) -> Statistics {
        let Learning {
            arrivals, service, ..
        } = &self.learning;
        let (mut slots, mut running) = (0_u32, 0_u32);
        for member in self.endpoints.iter() {
            slots = slots.saturating_add(member.load.running_most());
            running = running.saturating_add(member.load.load().running);
        }
        let utilization = (slots > 0).then(|| f64::from(running) / f64::from(slots));
        let service_variability = service.squared();
        Statistics {
            arrival_gap: arrivals.gaps().mean(),
            arrival_variability: arrivals.gaps().squared(),
            service_time: service.mean(),
            service_variability,
            slots,
            utilization,
            knee_distance: utilization
                .zip(service_variability)
                .map(|(utilization, squared)| knee(squared) - utilization),
        }
    }

    /// Hands the rates that were learned on to the ledger, now and then: each endpoint's own as far as it
    /// is known, the pool's typical one for the rest.
    pub(super) fn hand_on_rates(&mut self, now: Timestamp) {
        let handed_on = self.learning.rates_at;
        if handed_on.is_some_and(|at| now.since(at) < RATES_INTERVAL) {
            return;
        }
        self.learning.rates_at = Some(now);
        let rates = self.endpoints.iter();
        let rates = rates.filter_map(|member| member.load.rates().prefill());
        let Some(typical) = typical(rates) else {
            return;
        };
        for member in self.endpoints.iter() {
            let rate = shrunk(member.load.rates().prefill(), typical);
            let rate = PrefillRate::of_tokens_per_ms(rate);
            self.ledger.set_endpoint_rate(now, member.id, rate);
        }
    }

    /// The first output of a request came. Where nothing was before it, the time is that of its prompt.
    pub(super) fn learn_prefill(&mut self, now: Timestamp, sent: Sent) {
        if sent.is_alone
            && let Some(member) = self.endpoints.get_mut(sent.endpoint)
        {
            let rates = member.load.rates_mut();
            rates.first_output(now, sent.uncached_tokens, now.since(sent.at));
        }
    }

    /// The engine told how much of a prompt it had in its cache.
    pub(super) fn learn_cache(&mut self, endpoint: EndpointId, sent: Sent, usage: Usage) {
        if let Some(held) = usage.cached
            && let Some(member) = self.endpoints.get_mut(endpoint)
        {
            member.cache_trust.compared(sent.believed_tokens, held);
        }
    }
}

/// Rates change slowly, and handing one on costs a step for each endpoint.
const RATES_INTERVAL: Duration = Duration::from_secs(1);
