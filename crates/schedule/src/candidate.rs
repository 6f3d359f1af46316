//! An endpoint as scorers see it.

use core::net::SocketAddr;

use pointsman_domain::endpoint::EndpointId;
use pointsman_domain::load::{EndpointLoad, OwnLoad};
use pointsman_domain::units::Tokens;

/// One endpoint that may serve the request, with its load at this moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Who it is.
    pub id: EndpointId,
    /// Where it is.
    pub address: SocketAddr,
    /// Load that the engine reported; the pool's median where the report is stale or missing.
    pub load: EndpointLoad,
    /// Our own requests there, exact.
    pub own: OwnLoad,
    /// Requests there, of all pickers, by the last report. The three numbers below belong to the same
    /// report; what an engine tells of itself beside an answer comes later, and is in `load` only.
    pub reported_requests: u32,
    /// Requests there that are not ours, by the last report.
    pub foreign_requests: u32,
    /// Our own requests there when the last report's scrape began.
    pub own_at_report: u32,
    /// Requests that we sent there since the last report's scrape began, ended ones included.
    pub dispatched_since_report: u32,
    /// Tokens of this request's prompt, in full blocks, that it is expected to have in cache.
    pub cached_tokens: Tokens,
}

impl Candidate {
    /// Requests at the endpoint now: our own, and those of others by the last report.
    pub const fn requests(&self) -> u32 {
        self.own.requests.saturating_add(self.foreign_requests)
    }
}
