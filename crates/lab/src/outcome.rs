//! What came out of one run.

use pointsman_domain::event::Picked;
use pointsman_domain::time::Timestamp;
use pointsman_engine::stats::EngineTotals;

use crate::workload::Workload;

/// Everything that is known when a run is over.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was asked.
    pub workload: Workload,
    /// What became of it, in the order of the plans.
    pub records: Vec<Record>,
    /// The endpoints.
    pub endpoints: Vec<EndpointOutcome>,
    /// When the last thing happened.
    pub end: Timestamp,
    /// How evenly load was spread; empty unless the scenario asks for it.
    pub spread: Spread,
    /// What the pools have told of responses.
    pub seen: Seen,
    /// The same for two runs in which the same happened at the same times.
    pub digest: u64,
    /// Moments at which something happened.
    pub moments: u64,
    /// Why the request that was asked about went where it went.
    pub reasons: Option<Picked>,
}

/// What became of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// When it came to a picker.
    pub arrived: Option<Timestamp>,
    /// When it was picked for.
    pub picked: Option<Timestamp>,
    /// Where it went.
    pub endpoint: Option<usize>,
    /// When the engine began with it.
    pub admitted: Option<Timestamp>,
    /// Tokens of its prompt that the engine had.
    pub cached_tokens: u32,
    /// When its first token came.
    pub first_token: Option<Timestamp>,
    /// When it was over.
    pub ended: Option<Timestamp>,
    /// How it was over.
    pub ending: Ending,
    /// Decisions that the pools gave for it.
    pub decisions: u32,
    /// How often the gateway went on to the next endpoint of its list.
    pub retries: u32,
}

/// How a request was over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// It was not when the run ended.
    #[default]
    Open,
    /// The whole answer came.
    Complete,
    /// The picker refused it.
    Refused,
    /// The endpoint failed it.
    Failed,
    /// The client left.
    Left,
    /// The request before it in its session had no answer, so it was never asked.
    Unasked,
}

/// One endpoint.
#[derive(Clone, Copy, Debug)]
pub struct EndpointOutcome {
    /// Its group in the fleet.
    pub group: usize,
    /// Requests that were sent there.
    pub assigned: u32,
    /// What the engine counted.
    pub totals: EngineTotals,
}

/// How evenly load was spread over the endpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// For each millisecond, requests in flight at the busiest less those at the least busy endpoint.
    pub by_tick: Vec<u32>,
    /// Milliseconds with a pick.
    pub ticks_with_picks: u32,
    /// Of these, those in which all picks were the same endpoint.
    pub ticks_piled_up: u32,
}

/// What the pools have told of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Requests whose first output a pool has seen.
    pub first_outputs: u64,
    /// Requests whose first output that is no thought a pool has seen.
    pub visible_outputs: u64,
    /// Requests the end of whose output a pool has seen before the end of the response.
    pub ends_of_output: u64,
    /// Requests whose token counts a pool has seen.
    pub usages: u64,
}

/// Something that must never be. A bug of the simulator or of the pool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {moment} moments, at {} ns: {what}", at.as_nanos())]
pub struct Violation {
    /// When.
    pub at: Timestamp,
    /// After how many moments.
    pub moment: u64,
    /// What.
    pub what: String,
}
